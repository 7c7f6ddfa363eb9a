// See reader.hpp.
#include "cli/exporter/reader.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <dogged/retry_metrics.hpp>

#include "circuit/shared_circuit.hpp"
#include "db/errors.hpp"
#include "sql/circuit.hpp"
#include "sql/client.hpp"
#include "sql/commands.hpp"
#include "sql/doctor.hpp"
#include "sql/exporter.hpp"

namespace dogged::cli::exporter {
namespace {

constexpr std::string_view query_canceled = "57014";  // for example by statement_timeout

using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::steady_clock;

/// An attempt may become visible so long after it ended. Four leases of the usual length: a worker that reports later
/// has most likely lost the task.
constexpr microseconds latest_report = minutes{2};
/// What ended before that is not counted: the exporter, or its connection, was away for longer.
constexpr microseconds longest_gap = minutes{15};
constexpr std::int64_t most_waits = 500;

double seconds_of_us(std::int64_t us) { return static_cast<double>(us) / 1e6; }
double seconds_since(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

template <std::size_t Size>
std::vector<std::int64_t> in_us(const std::array<milliseconds, Size>& bounds) {
  std::vector<std::int64_t> us;
  for (const microseconds bound : bounds) us.push_back(bound.count());
  return us;
}

/// Runs `work` in a transaction. PostgreSQL plans each of its statements for the values that it is given.
template <class Work>
void planned_by_values(db::Connection& connection, Work work) {
  connection.transaction([&] {
    connection.run(sql::ExporterPlans{});
    work();
  });
}

template <class Statement>
auto rows_of(db::Connection& connection, Statement statement) {
  std::vector<typename Statement::Row> rows;
  planned_by_values(connection, [&] { rows = connection.run(std::move(statement)); });
  return rows;
}

std::vector<Queue> read_queues(db::Connection& connection) {
  std::vector<Queue> queues;
  for (const auto& row : rows_of(connection, sql::ExporterQueues{})) {
    queues.push_back({.name = row.name,
                      .ready = row.ready,
                      .waiting = row.waiting,
                      .running = row.running,
                      .oldest_due_seconds = seconds_of_us(row.oldest_due_us.value_or(0)),
                      .retries_1m = row.retries_1m,
                      .retries_5m = row.retries_5m,
                      .retries_15m = row.retries_15m,
                      .paused = row.is_paused ? 1 : 0,
                      .retry_budget = row.retry_budget,
                      .min_retries_per_second = row.min_retries_per_second});
  }
  return queues;
}

std::vector<Circuit> read_circuits(db::Connection& connection) {
  std::vector<Circuit> circuits;
  for (const auto& row : rows_of(connection, sql::Circuits{})) {
    const circuit::SharedCircuit shared = circuit::shared_circuit_of(row);
    circuits.push_back({.name = shared.name,
                        .state = shared.circuit.state,
                        .is_forced = shared.circuit.is_forced,
                        .seconds = std::max(0.0, seconds_of_us(1000 * shared.now_ms - row.changed_at_us))});
  }
  return circuits;
}

std::vector<FleetWorker> read_workers(db::Connection& connection) {
  std::vector<FleetWorker> workers;
  for (const auto& row : rows_of(connection, sql::ExporterWorkers{})) {
    workers.push_back({row.name, row.state, seconds_of_us(row.age_us), seconds_of_us(row.left_us), {}});
    const auto by_queue = nlohmann::json::parse(row.queues);
    for (const auto& [queue, concurrency] : by_queue.items()) workers.back().queues.push_back(queue);
  }
  return workers;
}

std::vector<Table> read_tables(db::Connection& connection) {
  std::vector<Table> tables;
  for (const auto& row : rows_of(connection, sql::DoctorTables{})) {
    tables.push_back({row.name, row.live_rows, row.dead_rows, row.bytes});
  }
  return tables;
}

/// PostgreSQL shows a login without pg_read_all_stats no snapshot of other roles' sessions, and no error either.
Snapshots read_snapshots(db::Connection& connection) {
  Snapshots snapshots;
  for (const auto& row : rows_of(connection, sql::DoctorSnapshots{})) {
    if (row.kind == "hidden") {
      throw DatabaseError(row.name + " sessions of other roles are hidden from this login",
                          "an administrator runs: grant pg_read_all_stats to LOGIN",
                          std::string{db::insufficient_privilege});
    }
    snapshots.oldest_transactions = std::max(snapshots.oldest_transactions, row.transactions.value_or(0));
    snapshots.longest_seconds = std::max(snapshots.longest_seconds, seconds_of_us(row.held_us.value_or(0)));
  }
  return snapshots;
}

std::vector<Partitions> read_partitions(db::Connection& connection) {
  std::vector<Partitions> tables;
  for (const auto& row : rows_of(connection, sql::ExporterPartitions{})) {
    tables.push_back({.table = row.parent, .days_ahead = row.days_ahead, .next_drop_at = std::nullopt});
    if (row.next_drop_us) tables.back().next_drop_at = seconds_of_us(*row.next_drop_us);
  }
  return tables;
}

std::vector<Schedule> read_schedules(db::Connection& connection) {
  std::vector<Schedule> schedules;
  for (const auto& row : rows_of(connection, sql::ExporterSchedules{})) {
    schedules.push_back({row.name, row.state, seconds_of_us(row.overdue_us)});
  }
  return schedules;
}

std::vector<DeadLetters> read_dead_letters(db::Connection& connection) {
  std::vector<DeadLetters> letters;
  const sql::ExporterDeadLetters all{.most = static_cast<std::int64_t>(limits::metric_series)};
  for (const auto& row : rows_of(connection, all)) {
    letters.push_back({row.name, row.error_code.value_or(""), static_cast<std::uint64_t>(row.letters)});
  }
  return letters;
}

}  // namespace

std::shared_ptr<db::Connection> Reader::connection() {
  const detail::Lock lock{mutex_};
  return connection_;
}

void Reader::connect() {
  if (connection()) return;
  auto made = std::make_shared<db::Connection>(connect_());
  made->set_up_session();
  const detail::Lock lock{mutex_};
  connection_ = std::move(made);
}

void Reader::abort() noexcept {
  const detail::Lock lock{mutex_};
  is_aborted_ = true;
  if (connection_) connection_->abort();
}

Reading Reader::read() {
  bool is_kept = false;
  {
    const detail::Lock lock{mutex_};
    is_aborted_ = false;
    is_kept = connection_ != nullptr;
  }
  try {
    return read_once();
  } catch (const ConnectionError&) {
    const detail::Lock lock{mutex_};
    if (!is_kept || is_aborted_) throw;
  }
  return read_once();  // the server was restarted since the last reading, and may be back
}

Reading Reader::read_once() {
  connect();
  try {
    return ask_all(*connection());
  } catch (...) {  // the next reading makes a new connection
    const detail::Lock lock{mutex_};
    connection_.reset();
    throw;
  }
}

Reading Reader::ask_all(db::Connection& connection) {
  began_ = steady_clock::now();
  Reading reading;
  ask(reading, Query::queues, reading.queues, [&] { return read_queues(connection); });
  ask(reading, Query::circuits, reading.circuits, [&] { return read_circuits(connection); });
  ask(reading, Query::workers, reading.workers, [&] { return read_workers(connection); });
  ask(reading, Query::tables, reading.tables, [&] { return read_tables(connection); });
  ask(reading, Query::snapshots, reading.snapshots, [&] { return read_snapshots(connection); });
  ask(reading, Query::partitions, reading.partitions, [&] { return read_partitions(connection); });
  ask(reading, Query::schedules, reading.schedules, [&] { return read_schedules(connection); });
  ask_for_what_is_new(connection, reading);
  count_dead_letters(connection, reading);
  return reading;
}

template <class Answer, class Ask>
void Reader::ask(Reading& reading, Query query, std::optional<Answer>& answer, Ask ask) {
  const auto begin = steady_clock::now();
  Asked asked{.query = query, .seconds = 0, .why_not = {}};
  if (begin - began_ > longest_reading) {
    asked.why_not = "the queries before took all the time";
  } else {
    try {
      answer = ask();
    } catch (const ConnectionError&) {
      throw;
    } catch (const Error& error) {
      asked.why_not = error.message() + (error.hint().empty() ? "" : "; " + error.hint());
    }
    asked.seconds = seconds_since(begin);
  }
  reading.asked.push_back(std::move(asked));
}

/// The rows of the statement that `make` makes of the horizon so far: a snapshot, and from when on attempts may be new.
template <class Statement, class Make>
auto Reader::read_new(db::Connection& connection, Query query, Make make) {
  std::vector<typename Statement::Row> rows;
  Horizon now;
  const auto seen = horizons_.find(query);
  const auto look = [&] {
    connection.run(sql::OneSnapshot{});
    connection.run(sql::ExporterPlans{});
    const auto [snapshot, at_us] = db::one(connection.run(sql::ExporterHorizon{}));
    now = {snapshot, at_us};
    if (seen == horizons_.end()) return;
    const std::int64_t after_us = std::max(seen->second.at_us - latest_report.count(), now.at_us - longest_gap.count());
    rows = connection.run(make(seen->second.snapshot, after_us));
  };
  try {
    connection.transaction(look);
  } catch (const DatabaseError& error) {
    if (error.sqlstate() != query_canceled || now.snapshot.empty()) throw;
    // The next reading would ask for even more, and so would each after it.
    horizons_[query] = std::move(now);
    throw DatabaseError(error.message() + "; what ended since the reading before is not counted", error.hint(),
                        error.sqlstate());
  }
  horizons_[query] = std::move(now);
  return rows;
}

void Reader::ask_for_what_is_new(db::Connection& connection, Reading& reading) {
  ask(reading, Query::attempts, reading.new_attempts, [&] {
    std::vector<Attempts> attempts;
    const auto make = [](const std::string& since, std::int64_t after_us) {
      return sql::ExporterAttempts{.bounds_us = in_us(retry_duration_buckets), .after_us = after_us, .since = since};
    };
    for (const auto& row : read_new<sql::ExporterAttempts>(connection, Query::attempts, make)) {
      attempts.push_back({row.queue, row.name, row.outcome, row.will_retry, static_cast<std::size_t>(row.bucket),
                          static_cast<std::uint64_t>(row.attempts), seconds_of_us(row.ran_us)});
    }
    return attempts;
  });
  ask(reading, Query::waits, reading.new_waits, [&] {
    std::vector<Waits> waits;
    const auto make = [](const std::string& since, std::int64_t after_us) {
      return sql::ExporterWaits{
          .after_us = after_us, .since = since, .most = most_waits, .bounds_us = in_us(retry_delay_buckets)};
    };
    for (const auto& row : read_new<sql::ExporterWaits>(connection, Query::waits, make)) {
      waits.push_back({row.queue, static_cast<std::size_t>(row.bucket), static_cast<std::uint64_t>(row.attempts),
                       seconds_of_us(row.waited_us)});
    }
    return waits;
  });
  ask(reading, Query::new_dead_letters, reading.new_dead_letters, [&] {
    std::vector<DeadLetters> letters;
    const auto make = [](const std::string& since, std::int64_t after_us) {
      return sql::ExporterNewDeadLetters{.after_us = after_us, .since = since};
    };
    for (const auto& row : read_new<sql::ExporterNewDeadLetters>(connection, Query::new_dead_letters, make)) {
      letters.push_back({row.name, row.error_code.value_or(""), static_cast<std::uint64_t>(row.letters)});
    }
    return letters;
  });
  ask(reading, Query::ticks, reading.new_ticks, [&] {
    std::vector<Ticks> ticks;
    const auto make = [](const std::string& since, std::int64_t after_us) {
      return sql::ExporterTicks{.bounds_us = in_us(retry_delay_buckets), .after_us = after_us, .since = since};
    };
    for (const auto& row : read_new<sql::ExporterTicks>(connection, Query::ticks, make)) {
      ticks.push_back(
          {row.schedule, row.outcome, std::nullopt, static_cast<std::uint64_t>(row.ticks), seconds_of_us(row.late_us)});
      if (row.bucket) ticks.back().bucket = static_cast<std::size_t>(*row.bucket);
    }
    return ticks;
  });
}

void Reader::count_dead_letters(db::Connection& connection, Reading& reading) {
  if (!counted_at_ || began_ - *counted_at_ >= between_counts_of_dead_letters) {
    Reading counted;
    ask(counted, Query::dead_letters, counted.dead_letters, [&] { return read_dead_letters(connection); });
    counted_at_ = began_;
    counted_ = std::move(counted.asked.front());
    dead_letters_ = std::move(counted.dead_letters);
  }
  reading.asked.push_back(counted_);
  reading.dead_letters = dead_letters_;
}

}  // namespace dogged::cli::exporter
