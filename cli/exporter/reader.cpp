// See reader.hpp.
#include "cli/exporter/reader.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <dogged/retry_metrics.hpp>

#include "circuit/shared_circuit.hpp"
#include "db/errors.hpp"
#include "retry/metric_series.hpp"
#include "sql/circuit.hpp"
#include "sql/client.hpp"
#include "sql/commands.hpp"
#include "sql/doctor.hpp"
#include "sql/exporter.hpp"

namespace dogged::cli::exporter {
namespace {

constexpr std::string_view query_canceled = "57014";  // for example by statement_timeout
constexpr std::string_view lock_not_available = "55P03";

using std::chrono::microseconds;
using std::chrono::steady_clock;

constexpr std::int64_t most_waits = 500;

double seconds_of_us(std::int64_t us) { return static_cast<double>(us) / 1e6; }
double seconds_of(steady_clock::duration time) { return std::chrono::duration<double>(time).count(); }

template <std::size_t Size>
std::vector<std::int64_t> in_us(const std::array<milliseconds, Size>& bounds) {
  std::vector<std::int64_t> us;
  for (const microseconds bound : bounds) us.push_back(bound.count());
  return us;
}

/// The next statement of the transaction is planned for its values, and has the rest of the time.
void set_up_statement(const Asking& asking) {
  const auto left = std::chrono::duration_cast<milliseconds>(asking.until - steady_clock::now());
  const milliseconds longest = std::max(left, milliseconds{1});
  // A wait for a lock ends first, and says so.
  const milliseconds for_lock = std::max(longest * 9 / 10, milliseconds{1});
  asking.connection.run(sql::ExporterPlans{.timeout_ms = std::to_string(longest.count()),
                                           .lock_timeout_ms = std::to_string(for_lock.count())});
}

/// The operator's next step after a refusal to which PostgreSQL gives no hint.
std::string next_step_after(std::string_view sqlstate) {
  if (sqlstate == lock_not_available) {
    return "another session holds a lock on what it reads; while it waits, select pg_blocking_pids(pid), query from "
           "pg_stat_activity where query like '/* dogged:%' names that session";
  }
  if (sqlstate == query_canceled) {
    return "dogged_exporter_query_seconds shows how long queries take; dogged doctor names long transactions and "
           "tables with many dead rows, which slow them down";
  }
  return "";
}

template <class Statement>
auto rows_of(const Asking& asking, Statement statement) {
  std::vector<typename Statement::Row> rows;
  asking.connection.transaction([&] {
    set_up_statement(asking);
    rows = asking.connection.run(std::move(statement));
  });
  return rows;
}

std::vector<Queue> read_queues(const Asking& asking) {
  std::vector<Queue> queues;
  for (const auto& row : rows_of(asking, sql::ExporterQueues{})) {
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

std::vector<Circuit> read_circuits(const Asking& asking) {
  std::vector<Circuit> circuits;
  for (const auto& row : rows_of(asking, sql::Circuits{})) {
    const circuit::SharedCircuit shared = circuit::shared_circuit_of(row);
    circuits.push_back({.name = shared.name,
                        .state = shared.circuit.state,
                        .is_forced = shared.circuit.is_forced,
                        .seconds = std::max(0.0, seconds_of_us(1000 * shared.now_ms - row.changed_at_us))});
  }
  return circuits;
}

std::vector<FleetWorker> read_workers(const Asking& asking) {
  std::vector<FleetWorker> workers;
  for (const auto& row : rows_of(asking, sql::ExporterWorkers{})) {
    workers.push_back(
        {row.name, row.state, seconds_of_us(row.age_us), seconds_of_us(row.left_us), milliseconds{row.lease_ms}, {}});
    const auto by_queue = nlohmann::json::parse(row.queues);
    for (const auto& [queue, concurrency] : by_queue.items()) workers.back().queues.push_back(queue);
  }
  return workers;
}

milliseconds longest_lateness(const std::vector<FleetWorker>& workers) {
  milliseconds longest = least_look_back;
  for (const FleetWorker& worker : workers) longest = std::max(longest, worker.lease);
  return longest;
}

std::vector<Table> read_tables(const Asking& asking) {
  std::vector<Table> tables;
  for (const auto& row : rows_of(asking, sql::DoctorTables{})) {
    tables.push_back({row.name, row.live_rows, row.dead_rows, row.bytes});
  }
  return tables;
}

/// PostgreSQL shows a login without pg_read_all_stats no snapshot of other roles' sessions, and no error either.
Snapshots read_snapshots(const Asking& asking) {
  Snapshots snapshots;
  for (const auto& row : rows_of(asking, sql::DoctorSnapshots{})) {
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

std::vector<Partitions> read_partitions(const Asking& asking) {
  std::vector<Partitions> tables;
  for (const auto& row : rows_of(asking, sql::ExporterPartitions{})) {
    tables.push_back({.table = row.parent, .days_ahead = row.days_ahead, .next_drop_at = std::nullopt});
    if (row.next_drop_us) tables.back().next_drop_at = seconds_of_us(*row.next_drop_us);
  }
  return tables;
}

std::vector<Schedule> read_schedules(const Asking& asking) {
  std::vector<Schedule> schedules;
  for (const auto& row : rows_of(asking, sql::ExporterSchedules{})) {
    schedules.push_back({row.name, row.state, seconds_of_us(row.overdue_us)});
  }
  return schedules;
}

/// New attempts, and the range and snapshot that they were asked for by.
struct NewAttempts {
  Unseen asked;
  std::vector<sql::ExporterAttempts::Row> rows;
};

/// The waits of attempts that were just found. Attempts that have become visible meanwhile may be in the sample, and
/// have no weight.
std::vector<Waits> read_waits(const Asking& asking, const NewAttempts& attempts) {
  if (attempts.rows.empty()) return {};
  std::map<std::string, std::int64_t> by_queue;
  sql::ExporterWaits statement{.queues = {},
                               .attempts = {},
                               .after_us = attempts.asked.after_us,
                               .until_us = attempts.asked.until_us,
                               .since = attempts.asked.snapshot,
                               .most = most_waits,
                               .bounds_us = in_us(retry_delay_buckets)};
  for (const auto& row : attempts.rows) by_queue[row.queue] += row.attempts;
  for (const auto& [queue, count] : by_queue) {
    statement.queues.push_back(queue);
    statement.attempts.push_back(count);
  }
  std::vector<Waits> waits;
  for (const auto& row : rows_of(asking, std::move(statement))) {
    waits.push_back({row.queue, static_cast<std::size_t>(row.bucket), static_cast<std::uint64_t>(row.attempts),
                     seconds_of_us(row.waited_us)});
  }
  return waits;
}

DeadLetterSlice read_dead_letters(const Asking& asking, const DeadLetterRange& range, std::int64_t rows) {
  DeadLetterSlice slice;
  const sql::ExporterDeadLetters statement{.after_us = range.after_us, .until_us = range.until_us, .rows = rows};
  for (auto& row : rows_of(asking, statement)) {
    slice.letters.push_back(
        {std::move(row.name), row.error_code.value_or(""), static_cast<std::uint64_t>(row.letters)});
    slice.end_us = row.end_us;
    slice.until_us = row.until_us;
  }
  return slice;
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
  began_ = steady_clock::now();
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
  const std::map<Query, LookBack> before = look_backs_;
  try {
    return ask_all();
  } catch (...) {  // the next reading makes a new connection, and counts what this one has found
    look_backs_ = before;
    const detail::Lock lock{mutex_};
    connection_.reset();
    throw;
  }
}

Reading Reader::ask_all() {
  began_ = steady_clock::now();
  Reading reading;
  ask(reading, Query::circuits, reading.circuits, read_circuits);
  ask(reading, Query::workers, reading.workers, read_workers);
  ask_seldom(reading, tables_, longest_statement, reading.tables, read_tables);
  ask(reading, Query::snapshots, reading.snapshots, read_snapshots);
  ask_seldom(reading, partitions_, longest_statement, reading.partitions, read_partitions);
  ask_seldom(reading, schedules_, longest_statement, reading.schedules, read_schedules);
  ask_for_what_is_new(reading);
  // Last, because a backlog of millions takes seconds.
  ask_seldom(reading, queues_, longest_scan, reading.queues, read_queues);
  ask_for_dead_letters(reading);
  return reading;
}

template <class Answer, class Look>
Asked Reader::ask(Query query, milliseconds longest, std::optional<Answer>& answer, Look look) {
  const auto begin = steady_clock::now();
  const auto end = began_ + longest_reading;
  Asked asked{.query = query, .seconds = 0, .why_not = {}};
  if (begin >= end) {
    asked.why_not = "the queries before took all the time; dogged_exporter_query_seconds shows which";
    return asked;
  }
  try {
    answer = look(Asking{*connection(), std::min(begin + longest, end)});
  } catch (const ConnectionError&) {
    throw;
  } catch (const DatabaseError& error) {
    const std::string next = error.hint().empty() ? next_step_after(error.sqlstate()) : error.hint();
    asked.why_not = error.message() + (next.empty() ? "" : "; " + next);
  } catch (const Error& error) {
    asked.why_not = error.message() + (error.hint().empty() ? "" : "; " + error.hint());
  }
  asked.seconds = seconds_of(steady_clock::now() - begin);
  return asked;
}

template <class Answer, class Look>
void Reader::ask(Reading& reading, Query query, std::optional<Answer>& answer, Look look) {
  reading.asked.push_back(ask(query, longest_statement, answer, look));
}

template <class Answer, class Look>
void Reader::ask_seldom(Reading& reading, Kept<Answer>& kept, milliseconds longest, std::optional<Answer>& answer,
                        Look look) {
  const auto begin = steady_clock::now();
  if (kept.again.is_due(begin)) {
    kept.answer.reset();
    kept.asked = ask(kept.asked.query, longest, kept.answer, look);
    kept.asked_at = begin;
    const steady_clock::duration took = steady_clock::now() - begin;
    if (kept.answer) {
      kept.again.on_answer(begin, took);
    } else {
      kept.asked.again_in_seconds = seconds_of(kept.again.on_refusal(begin, took));
    }
  }
  kept.asked.age_seconds = seconds_of(begin - kept.asked_at);
  reading.asked.push_back(kept.asked);
  answer = kept.answer;
}

/// While the first count goes on there is no answer, and no reason why not.
void Reader::ask_for_dead_letters(Reading& reading) {
  const auto begin = steady_clock::now();
  Asked& asked = asked_for_dead_letters_;
  const std::optional<DeadLetterRange> range = dead_letters_.next(begin);
  if (range && dead_letters_again_.is_due(begin)) {
    std::optional<DeadLetterSlice> slice;
    asked = ask(Query::dead_letters, longest_statement, slice,
                [&](const Asking& asking) { return read_dead_letters(asking, *range, dead_letters_.rows()); });
    const steady_clock::duration took = steady_clock::now() - begin;
    if (slice) {
      dead_letters_.on_slice(*std::move(slice), begin, took);
    } else {
      asked.again_in_seconds = seconds_of(dead_letters_again_.on_refusal(begin, took));
    }
  }
  const auto& answer = dead_letters_.answer();
  asked.age_seconds.reset();
  if (answer) asked.age_seconds = seconds_of(begin - answer->begun);
  if (answer && asked.why_not.empty()) reading.dead_letters = answer->letters;
  reading.asked.push_back(asked);
}

/// Calls `read` for each range of rows that are new to `query`, in a transaction of one snapshot. The first reading has
/// no such range.
template <class Read>
void Reader::read_new(const Asking& asking, Query query, microseconds back, Read read) {
  db::Connection& connection = asking.connection;
  LookBack& look_back = look_backs_[query];
  std::optional<Mark> now;
  const auto look = [&] {
    connection.run(sql::OneSnapshot{});
    set_up_statement(asking);
    const auto [snapshot, at_us] = db::one(connection.run(sql::ExporterHorizon{}));
    now = {snapshot, at_us};
    for (const Unseen& unseen : look_back.next(at_us, back)) {
      set_up_statement(asking);
      read(unseen);
    }
  };
  try {
    connection.transaction(look);
  } catch (const DatabaseError& error) {
    if (error.sqlstate() != query_canceled || !now) throw;
    look_back.on_given_up(*std::move(now));
    throw DatabaseError(error.message() + "; what this reading would have counted does not count", error.hint(),
                        error.sqlstate());
  }
  look_back.on_read(*std::move(now), back);
}

void Reader::ask_for_what_is_new(Reading& reading) {
  if (reading.workers) look_back_ = longest_lateness(*reading.workers);
  std::vector<NewAttempts> found;
  ask(reading, Query::attempts, reading.new_attempts, [&](const Asking& asking) {
    std::vector<Attempts> attempts;
    read_new(asking, Query::attempts, look_back_, [&](const Unseen& unseen) {
      found.push_back({unseen, asking.connection.run(sql::ExporterAttempts{.bounds_us = in_us(retry_duration_buckets),
                                                                           .after_us = unseen.after_us,
                                                                           .until_us = unseen.until_us,
                                                                           .since = unseen.snapshot})});
      for (const auto& row : found.back().rows) {
        attempts.push_back({row.queue, row.name, row.outcome, row.will_retry, static_cast<std::size_t>(row.bucket),
                            static_cast<std::uint64_t>(row.attempts), seconds_of_us(row.ran_us)});
      }
    });
    return attempts;
  });
  if (reading.new_attempts) {
    ask(reading, Query::waits, reading.new_waits, [&](const Asking& asking) {
      std::vector<Waits> waits;
      for (const NewAttempts& attempts : found) {
        for (Waits& some : read_waits(asking, attempts)) waits.push_back(std::move(some));
      }
      return waits;
    });
  }
  ask(reading, Query::new_dead_letters, reading.new_dead_letters, [&](const Asking& asking) {
    std::vector<DeadLetters> letters;
    read_new(asking, Query::new_dead_letters, look_back_, [&](const Unseen& unseen) {
      const sql::ExporterNewDeadLetters statement{
          .after_us = unseen.after_us, .until_us = unseen.until_us, .since = unseen.snapshot};
      for (const auto& row : asking.connection.run(statement)) {
        letters.push_back({row.name, row.error_code.value_or(""), static_cast<std::uint64_t>(row.letters)});
      }
    });
    return letters;
  });
  ask(reading, Query::ticks, reading.new_ticks, [&](const Asking& asking) {
    std::vector<Ticks> ticks;
    read_new(asking, Query::ticks, look_back_, [&](const Unseen& unseen) {
      const sql::ExporterTicks statement{.bounds_us = in_us(retry_delay_buckets),
                                         .after_us = unseen.after_us,
                                         .until_us = unseen.until_us,
                                         .since = unseen.snapshot};
      for (const auto& row : asking.connection.run(statement)) {
        ticks.push_back({row.schedule, row.outcome, std::nullopt, static_cast<std::uint64_t>(row.ticks),
                         seconds_of_us(row.late_us)});
        if (row.bucket) ticks.back().bucket = static_cast<std::size_t>(*row.bucket);
      }
    });
    return ticks;
  });
}

}  // namespace dogged::cli::exporter
