// See fleet_metrics.hpp.
#include "cli/exporter/core/fleet_metrics.hpp"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace dogged::cli::exporter {
namespace {

std::uint64_t unsigned_of(std::int64_t number) { return static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0)); }

void lower(std::optional<double>& kept, std::optional<double> other) {
  if (other) kept = std::min(kept.value_or(*other), *other);
}

// How rows of one name become one: a row alone stays as it is, and the rows of `other` are summed, or the worst counts.

void merge(Queue& sum, const Queue& row) {
  sum.ready += row.ready;
  sum.waiting += row.waiting;
  sum.running += row.running;
  sum.oldest_due_seconds = std::max(sum.oldest_due_seconds, row.oldest_due_seconds);
  sum.retries_1m += row.retries_1m;
  sum.retries_5m += row.retries_5m;
  sum.retries_15m += row.retries_15m;
  sum.paused += row.paused;
  lower(sum.retry_budget, row.retry_budget);
  lower(sum.min_retries_per_second, row.min_retries_per_second);
}

void merge(Circuit& worst, const Circuit& row) {
  if (worst.state == CircuitState::closed) worst.state = row.state;
  worst.is_forced = worst.is_forced || row.is_forced;
  worst.seconds = std::max(worst.seconds, row.seconds);
}

void merge(FleetWorker& worst, const FleetWorker& row) {
  worst.age_seconds = std::max(worst.age_seconds, row.age_seconds);
  lower(worst.left_seconds, row.left_seconds);
}

void merge(Schedule& worst, const Schedule& row) {
  worst.overdue_seconds = std::max(worst.overdue_seconds, row.overdue_seconds);
}

/// By their names, in order.
template <class Row>
std::map<std::string, Row> by_name(const std::vector<Row>& rows) {
  MetricSeries<1, Row> series;
  for (const Row& row : rows) merge(series.at({row.name}), row);
  std::map<std::string, Row> sorted;
  series.for_each([&](const auto& key, const Row& row) { sorted[key[0]] = row; });
  return sorted;
}

template <std::size_t LabelCount, class Cell, std::size_t MostOfLast>
std::map<std::array<std::string, LabelCount>, Cell> sorted(const MetricSeries<LabelCount, Cell, MostOfLast>& series) {
  std::map<std::array<std::string, LabelCount>, Cell> cells;
  series.for_each([&](const auto& key, const Cell& cell) { cells[key] = cell; });
  return cells;
}

void write_asked(MetricsWriter& writer, const std::vector<Asked>& asked) {
  writer.family("dogged_exporter_query_success", "gauge",
                "1 if PostgreSQL answered the query; else its metrics are left out, and the log says why.");
  for (const Asked& query : asked) {
    writer.sample({{"query", to_text(query.query)}}, std::uint64_t{query.why_not.empty() ? 1U : 0U});
  }
  writer.family("dogged_exporter_query_seconds", "gauge", "How long the query took when it was last asked.");
  for (const Asked& query : asked) writer.sample({{"query", to_text(query.query)}}, query.seconds);
  writer.family(
      "dogged_exporter_query_age_seconds", "gauge",
      "How old the answer of the query is; 0 if this reading has asked for all of it. Left out without an answer.");
  for (const Asked& query : asked) {
    if (query.age_seconds) writer.sample({{"query", to_text(query.query)}}, *query.age_seconds);
  }
}

/// A gauge of all queues.
template <class ValueOf>
void write_of_queues(MetricsWriter& writer, const std::map<std::string, Queue>& queues, std::string_view name,
                     std::string_view help, ValueOf value_of) {
  writer.family(name, "gauge", help);
  for (const auto& [queue, figures] : queues) writer.sample({{"queue_name", queue}}, value_of(figures));
}

void write_settings(MetricsWriter& writer, const std::map<std::string, Queue>& queues) {
  writer.family(
      "dogged_queue_retry_budget_ratio", "gauge",
      "The largest share of retries among the attempts that a worker begins; queues without a budget have none.");
  for (const auto& [queue, figures] : queues) {
    if (figures.retry_budget) writer.sample({{"queue_name", queue}}, *figures.retry_budget);
  }
  writer.family(
      "dogged_queue_min_retries_per_second", "gauge",
      "The retries a second that each worker may begin whatever the budget says; queues without a budget have none.");
  for (const auto& [queue, figures] : queues) {
    if (!figures.retry_budget || !figures.min_retries_per_second) continue;
    writer.sample({{"queue_name", queue}}, *figures.min_retries_per_second);
  }
}

void write_queues(MetricsWriter& writer, const std::map<std::string, Queue>& queues) {
  write_of_queues(writer, queues, "dogged_queue_ready_tasks", "Pending tasks that are due.",
                  [](const Queue& queue) { return unsigned_of(queue.ready); });
  write_of_queues(writer, queues, "dogged_queue_waiting_tasks",
                  "Pending tasks that wait for their time or for a retry.",
                  [](const Queue& queue) { return unsigned_of(queue.waiting); });
  write_of_queues(writer, queues, "dogged_queue_running_tasks", "Tasks that a worker holds.",
                  [](const Queue& queue) { return unsigned_of(queue.running); });
  write_of_queues(writer, queues, "dogged_queue_oldest_due_seconds",
                  "For how long the ready task that waits longest has been due; 0 if no task is ready.",
                  [](const Queue& queue) { return queue.oldest_due_seconds; });
  writer.family("dogged_queue_retries_due", "gauge", "Retries that fall due within so many seconds from now.");
  for (const auto& [queue, figures] : queues) {
    for (const auto& [within, retries] : std::initializer_list<std::pair<std::string_view, std::int64_t>>{
             {"60", figures.retries_1m}, {"300", figures.retries_5m}, {"900", figures.retries_15m}}) {
      writer.sample({{"queue_name", queue}, {"within_seconds", within}}, unsigned_of(retries));
    }
  }
  write_of_queues(writer, queues, "dogged_queue_paused", "1 while the queue is paused.",
                  [](const Queue& queue) { return unsigned_of(queue.paused); });
  write_settings(writer, queues);
}

void write_dead_letters(MetricsWriter& writer, const std::vector<DeadLetters>& rows) {
  writer.family("dogged_dead_letters", "gauge", "Dead letters that are there, counted at most every five minutes.");
  for (const DeadLetters& row : rows) writer.sample({{"task", row.task}, {"error_type", row.error_type}}, row.count);
}

/// As in the circuit breakers that operators know from other systems, and in queue_circuit_breaker_state of workers.
std::uint64_t gauge_of(CircuitState state) {
  return state == CircuitState::closed ? 0U : state == CircuitState::open ? 1U : 2U;
}

void write_circuits(MetricsWriter& writer, const std::map<std::string, Circuit>& circuits) {
  writer.family("dogged_circuit_state", "gauge", "State of the circuit breakers: 0 closed, 1 open, 2 half-open.");
  for (const auto& [name, circuit] : circuits) writer.sample({{"circuit", name}}, gauge_of(circuit.state));
  writer.family("dogged_circuit_state_seconds", "gauge", "For how long the circuit breaker has been in its state.");
  for (const auto& [name, circuit] : circuits) writer.sample({{"circuit", name}}, circuit.seconds);
  writer.family("dogged_circuit_forced", "gauge", "1 if the circuit breaker was opened by hand.");
  for (const auto& [name, circuit] : circuits) {
    writer.sample({{"circuit", name}}, std::uint64_t{circuit.is_forced ? 1U : 0U});
  }
}

void write_workers(MetricsWriter& writer, const std::vector<FleetWorker>& rows) {
  std::map<std::string, std::uint64_t> by_state{{"lapsed", 0}, {"live", 0}, {"lost", 0}, {"stopping", 0}};
  std::vector<FleetWorker> holders;
  for (const FleetWorker& row : rows) {
    ++by_state[row.state];
    if (row.state != "lost") holders.push_back(row);
  }
  writer.family(
      "dogged_workers", "gauge",
      "Workers by state. stopping: it claims nothing more; lapsed: the lease ran out, and no worker has ended it; "
      "lost: its tasks are not all rescued.");
  for (const auto& [state, count] : by_state) writer.sample({{"state", state}}, count);
  const auto workers = by_name(holders);
  writer.family("dogged_lease_age_seconds", "gauge", "How long ago the worker renewed its lease.");
  for (const auto& [name, worker] : workers) writer.sample({{"worker", name}}, worker.age_seconds);
  writer.family("dogged_lease_left_seconds", "gauge", "How long the worker's lease lasts; negative: it ran out.");
  for (const auto& [name, worker] : workers) writer.sample({{"worker", name}}, worker.left_seconds.value_or(0));
}

/// Also of queues that no live worker serves, if PostgreSQL told their names.
void write_served(MetricsWriter& writer, const std::vector<FleetWorker>& rows,
                  const std::optional<std::vector<Queue>>& queues) {
  MetricSeries<1, std::uint64_t> workers;
  for (const Queue& queue : queues.value_or(std::vector<Queue>{})) static_cast<void>(workers.at({queue.name}));
  for (const FleetWorker& worker : rows) {
    if (worker.state != "live") continue;
    for (const std::string& queue : worker.queues) ++workers.at({queue});
  }
  writer.family("dogged_queue_workers", "gauge", "Live workers that serve the queue.");
  for (const auto& [queue, count] : sorted(workers)) writer.sample({{"queue_name", queue[0]}}, count);
}

void write_tables(MetricsWriter& writer, const std::vector<Table>& tables) {
  writer.family("dogged_table_live_rows", "gauge", "Rows of a table that sees updates, by PostgreSQL's statistics.");
  for (const Table& table : tables) writer.sample({{"table", table.name}}, unsigned_of(table.live_rows));
  writer.family("dogged_table_dead_rows", "gauge", "Row versions that vacuum has not removed, by the statistics.");
  for (const Table& table : tables) writer.sample({{"table", table.name}}, unsigned_of(table.dead_rows));
  writer.family("dogged_table_size_bytes", "gauge", "The size of the table without its indexes.");
  for (const Table& table : tables) writer.sample({{"table", table.name}}, unsigned_of(table.bytes));
}

void write_snapshots(MetricsWriter& writer, const Snapshots& snapshots) {
  writer.family("dogged_oldest_snapshot_transactions", "gauge",
                "How many transactions the oldest snapshot is behind: vacuum removes nothing that is younger.");
  writer.sample({}, unsigned_of(snapshots.oldest_transactions));
  writer.family("dogged_longest_transaction_seconds", "gauge", "How long the longest transaction has been open.");
  writer.sample({}, snapshots.longest_seconds);
}

void write_partitions(MetricsWriter& writer, const std::vector<Partitions>& tables) {
  writer.family("dogged_partitions_ahead", "gauge",
                "For how many coming days, without a gap, the table has partitions.");
  for (const Partitions& table : tables) writer.sample({{"table", table.table}}, unsigned_of(table.days_ahead));
  writer.family("dogged_partition_next_drop_timestamp_seconds", "gauge",
                "When the oldest day of the table is old enough to be dropped.");
  for (const Partitions& table : tables) {
    if (table.next_drop_at) writer.sample({{"table", table.table}}, *table.next_drop_at);
  }
}

void write_schedules(MetricsWriter& writer, const std::vector<Schedule>& rows) {
  std::map<std::string, std::uint64_t> by_state{
      {"active", 0}, {"ended", 0}, {"orphaned", 0}, {"paused", 0}, {"unknown task", 0}};
  for (const Schedule& row : rows) ++by_state[row.state];
  writer.family(
      "dogged_schedules", "gauge",
      "Schedules by state. orphaned: no live worker declares it any more; unknown task: none ever declared it.");
  for (const auto& [state, count] : by_state) writer.sample({{"state", state}}, count);
  writer.family("dogged_schedule_overdue_seconds", "gauge",
                "For how long the schedule has been due and was not fired; 0: it is not due.");
  for (const auto& [name, schedule] : by_name(rows)) writer.sample({{"schedule", name}}, schedule.overdue_seconds);
}

}  // namespace

void FleetMetrics::add(Reading reading) {
  why_down_.clear();
  for (const Attempts& row : reading.new_attempts.value_or(std::vector<Attempts>{})) {
    attempts_.at({row.queue, row.task, row.outcome, row.will_retry ? "true" : "false"}) += row.count;
    auto& ran = ran_.at({row.queue, row.task});
    ran.counts.at(row.bucket) += row.count;
    ran.seconds += row.seconds;
  }
  for (const Waits& row : reading.new_waits.value_or(std::vector<Waits>{})) {
    auto& waited = waited_.at({row.queue});
    waited.counts.at(row.bucket) += row.count;
    waited.seconds += row.seconds;
  }
  for (const DeadLetters& row : reading.new_dead_letters.value_or(std::vector<DeadLetters>{})) {
    dead_letters_.at({row.task, row.error_type}) += row.count;
  }
  for (const Ticks& row : reading.new_ticks.value_or(std::vector<Ticks>{})) {
    ticks_.at({row.schedule, row.outcome}) += row.count;
    if (!row.bucket) continue;
    late_.counts.at(*row.bucket) += row.count;
    late_.seconds += row.late_seconds;
  }
  last_ = std::move(reading);
}

void FleetMetrics::lose(std::string why) {
  why_down_ = std::move(why);
  last_ = {};
}

void FleetMetrics::write_counters(MetricsWriter& writer) const {
  if (last_.new_attempts) {
    writer.family("dogged_attempts_total", "counter",
                  "Attempts that ended. will_retry: whether another attempt was scheduled; else the task ended.");
    for (const auto& [key, count] : sorted(attempts_)) {
      writer.sample({{"queue_name", key[0]}, {"task", key[1]}, {"outcome", key[2]}, {"will_retry", key[3]}}, count);
    }
    writer.family("dogged_attempt_run_seconds", "histogram", "How long handlers ran.");
    for (const auto& [key, ran] : sorted(ran_)) {
      writer.histogram({{"queue_name", key[0]}, {"task", key[1]}}, in_seconds(retry_duration_buckets), ran.counts,
                       ran.seconds);
    }
  }
  if (last_.new_waits) {
    writer.family("dogged_attempt_wait_seconds", "histogram", "How long attempts waited after they were due.");
    for (const auto& [key, waited] : sorted(waited_)) {
      writer.histogram({{"queue_name", key[0]}}, in_seconds(retry_delay_buckets), waited.counts, waited.seconds);
    }
  }
  if (last_.new_dead_letters) {
    writer.family("dogged_new_dead_letters_total", "counter", "Tasks that became dead letters.");
    for (const auto& [key, count] : sorted(dead_letters_)) {
      writer.sample({{"task", key[0]}, {"error_type", key[1]}}, count);
    }
  }
  if (last_.new_ticks) {
    writer.family("dogged_schedule_ticks_total", "counter",
                  "Ticks of schedules by outcome: fired; or why they were skipped.");
    for (const auto& [key, count] : sorted(ticks_)) {
      writer.sample({{"schedule", key[0]}, {"outcome", key[1]}}, count);
    }
    writer.family("dogged_schedule_late_seconds", "histogram",
                  "How late ticks fired, after their time with its jitter.");
    writer.histogram({}, in_seconds(retry_delay_buckets), late_.counts, late_.seconds);
  }
}

std::string FleetMetrics::text(MetricsFormat format) const {
  MetricsWriter writer{format};
  writer.family("dogged_up", "gauge", "Whether PostgreSQL answers the exporter: 1, else 0.");
  writer.sample({}, std::uint64_t{why_down_.empty() ? 1U : 0U});
  writer.family("dogged_exporter_info", "gauge", "The version of the exporter.");
  writer.sample({{"version", DOGGED_VERSION}}, std::uint64_t{1});
  write_asked(writer, last_.asked);
  if (last_.queues) write_queues(writer, by_name(*last_.queues));
  write_counters(writer);
  if (last_.dead_letters) write_dead_letters(writer, *last_.dead_letters);
  if (last_.circuits) write_circuits(writer, by_name(*last_.circuits));
  if (last_.workers) {
    write_workers(writer, *last_.workers);
    write_served(writer, *last_.workers, last_.queues);
  }
  if (last_.tables) write_tables(writer, *last_.tables);
  if (last_.snapshots) write_snapshots(writer, *last_.snapshots);
  if (last_.partitions) write_partitions(writer, *last_.partitions);
  if (last_.schedules) write_schedules(writer, *last_.schedules);
  return writer.take();
}

}  // namespace dogged::cli::exporter
