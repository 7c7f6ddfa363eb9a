// The state of the fleet that `dogged exporter` reads from the database. Pure data.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dogged/detail/circuit.hpp>

namespace dogged::cli::exporter {

/// The questions that one reading asks. Each is a transaction of its own, so that one that the database refuses leaves
/// out its metrics alone.
enum class Query {
  queues,
  attempts,
  waits,
  new_dead_letters,
  dead_letters,
  circuits,
  workers,
  tables,
  snapshots,
  partitions,
  schedules,
  ticks
};

[[nodiscard]] constexpr std::string_view to_text(Query query) {
  switch (query) {
    case Query::queues:
      return "queues";
    case Query::attempts:
      return "attempts";
    case Query::waits:
      return "waits";
    case Query::new_dead_letters:
      return "new_dead_letters";
    case Query::dead_letters:
      return "dead_letters";
    case Query::circuits:
      return "circuits";
    case Query::workers:
      return "workers";
    case Query::tables:
      return "tables";
    case Query::snapshots:
      return "snapshots";
    case Query::partitions:
      return "partitions";
    case Query::schedules:
      return "schedules";
    case Query::ticks:
      return "ticks";
  }
  return "unknown";
}

/// The metrics that are left out without an answer.
[[nodiscard]] constexpr std::string_view metrics_of(Query query) {
  switch (query) {
    case Query::queues:
      return "dogged_queue_… but dogged_queue_workers";
    case Query::attempts:
      return "dogged_attempts_total, dogged_attempt_run_seconds";
    case Query::waits:
      return "dogged_attempt_wait_seconds";
    case Query::new_dead_letters:
      return "dogged_new_dead_letters_total";
    case Query::dead_letters:
      return "dogged_dead_letters";
    case Query::circuits:
      return "dogged_circuit_…";
    case Query::workers:
      return "dogged_workers, dogged_queue_workers, dogged_lease_…";
    case Query::tables:
      return "dogged_table_…";
    case Query::snapshots:
      return "dogged_oldest_snapshot_transactions, dogged_longest_transaction_seconds";
    case Query::partitions:
      return "dogged_partitions_ahead, dogged_partition_next_drop_timestamp_seconds";
    case Query::schedules:
      return "dogged_schedules, dogged_schedule_overdue_seconds";
    case Query::ticks:
      return "dogged_schedule_ticks_total, dogged_schedule_late_seconds";
  }
  return "unknown";
}

struct Queue {
  std::string name{};
  std::int64_t ready = 0;
  std::int64_t waiting = 0;
  std::int64_t running = 0;
  double oldest_due_seconds = 0;  ///< 0: no task is ready
  std::int64_t retries_1m = 0;    ///< due within a minute from now; those within five minutes include them
  std::int64_t retries_5m = 0;
  std::int64_t retries_15m = 0;
  std::int64_t paused = 0;               ///< 1, or 0; of several queues, how many
  std::optional<double> retry_budget{};  ///< a share, from 0 to 1
  std::optional<double> min_retries_per_second{};
};

/// New attempts. bucket: of dogged::retry_duration_buckets, the one beyond the last bound included.
struct Attempts {
  std::string queue{};
  std::string task{};
  std::string outcome{};
  bool will_retry = false;
  std::size_t bucket = 0;
  std::uint64_t count = 0;
  double seconds = 0;  ///< that all of them ran together
};

/// The waits of new attempts. bucket: of dogged::retry_delay_buckets, as above.
struct Waits {
  std::string queue{};
  std::size_t bucket = 0;
  std::uint64_t count = 0;
  double seconds = 0;
};

struct DeadLetters {
  std::string task{};
  std::string error_type{};
  std::uint64_t count = 0;
};

struct Circuit {
  std::string name{};
  CircuitState state = CircuitState::closed;
  bool is_forced = false;
  double seconds = 0;  ///< since the state changed
};

struct FleetWorker {
  std::string name{};
  std::string state{};                   ///< live, lapsed or lost
  double age_seconds = 0;                ///< since it renewed its lease
  std::optional<double> left_seconds{};  ///< until its lease runs out
  std::chrono::milliseconds lease{};     ///< how long a renewal of its lease lasts
  std::vector<std::string> queues{};     ///< that it serves
};

struct Table {
  std::string name{};
  std::int64_t live_rows = 0;
  std::int64_t dead_rows = 0;
  std::int64_t bytes = 0;
};

/// Of all sessions, prepared transactions, standbys and slots.
struct Snapshots {
  std::int64_t oldest_transactions = 0;
  double longest_seconds = 0;
};

struct Partitions {
  std::string table{};
  std::int64_t days_ahead = 0;
  std::optional<double> next_drop_at{};  ///< seconds since 1970
};

struct Schedule {
  std::string name{};
  std::string state{};         ///< as in the view schedule_overview
  double overdue_seconds = 0;  ///< for how long it has been due; 0: it is not
};

/// New ticks of a schedule that were decided.
struct Ticks {
  std::string schedule{};
  std::string outcome{};  ///< fired; or why they were skipped
  std::optional<std::size_t>
      bucket{};  ///< of dogged::retry_delay_buckets, by how late they fired; nothing: they did not
  std::uint64_t count = 0;
  double late_seconds = 0;  ///< of all of them together
};

/// How a question went.
struct Asked {
  Query query;
  double seconds = 0;
  std::string why_not{};        ///< empty: it was answered
  double again_in_seconds = 0;  ///< for how long a refusal is kept; 0: until the next reading
  /// Of the answer, since its first statement: an answer may be kept for several readings. Nothing: there is none yet.
  std::optional<double> age_seconds = 0;
};

/// The answers. Nothing in place of an answer: the question was refused.
struct Reading {
  std::vector<Asked> asked;
  std::optional<std::vector<Queue>> queues;
  std::optional<std::vector<Attempts>>
      new_attempts;                             ///< since the reading before; so are the next ones, up to new_ticks
  std::optional<std::vector<Waits>> new_waits;  ///< of new_attempts
  std::optional<std::vector<DeadLetters>> new_dead_letters;
  std::optional<std::vector<Ticks>> new_ticks;
  std::optional<std::vector<DeadLetters>> dead_letters;  ///< each task and error code once, in order
  std::optional<std::vector<Circuit>> circuits;
  std::optional<std::vector<FleetWorker>> workers;
  std::optional<std::vector<Table>> tables;
  std::optional<Snapshots> snapshots;
  std::optional<std::vector<Partitions>> partitions;
  std::optional<std::vector<Schedule>> schedules;
};

}  // namespace dogged::cli::exporter
