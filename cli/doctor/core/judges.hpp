// Judges what the checks of `dogged doctor` have read. Pure: facts in, findings out; each gives at least one finding.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dogged/detail/circuit.hpp>

#include "cli/doctor/finding.hpp"
#include "cli/render/moment.hpp"

namespace dogged::cli::doctor {

struct PartitionFacts {
  std::string parent{};
  std::int64_t missing = 0;       ///< coming days without a partition
  std::int64_t missing_now = 0;   ///< of those, today and tomorrow
  std::int64_t overdue = 0;       ///< days that should have been dropped more than a day ago
  std::int64_t default_rows = 0;  ///< up to a million
};
[[nodiscard]] Findings judge_partitions(const std::vector<PartitionFacts>& tables);

struct TableFacts {
  std::string name{};
  std::int64_t live_rows = 0;
  std::int64_t dead_rows = 0;
  std::int64_t bytes = 0;
  bool is_server_autovacuum_on = true;
  bool is_autovacuum_on = true;
  std::optional<microseconds> vacuumed_ago{};
};
[[nodiscard]] Findings judge_tables(const std::vector<TableFacts>& tables, const std::string& schema);

struct SnapshotFacts {
  std::string kind{};  ///< `session`, `standby`, `prepared`, `slot`; `hidden`: name is how many sessions cannot be seen
  std::string name{};
  std::string user{};
  std::string application{};
  std::string state{};
  std::string query{};
  std::optional<std::int64_t> transactions{};  ///< begun since its snapshot
  std::optional<microseconds> held{};
  std::optional<std::int64_t> wal_bytes{};
};
[[nodiscard]] Findings judge_snapshots(const std::vector<SnapshotFacts>& holders);

struct WorkerFacts {
  std::int64_t id = 0;
  std::string name{};
  std::string version{};
  std::string host{};
  bool is_live = false;
  bool holds_lease = false;  ///< live, or stopping
  microseconds lease{0};
  std::int64_t abandoned_threads = 0;
  std::int64_t held_tasks = 0;
  std::optional<microseconds> lapsed{};       ///< since its lease lapsed without being ended
  std::optional<microseconds> unrescued{};    ///< since its lease was ended and not all of its tasks were rescued
  std::optional<microseconds> clock_ahead{};  ///< its host's clock less the server's
  std::optional<microseconds> clock_uncertainty{};
};
[[nodiscard]] Findings judge_workers(const std::vector<WorkerFacts>& workers);
[[nodiscard]] Findings judge_versions(const std::vector<WorkerFacts>& workers, const std::string& own_version);

struct WaitingFacts {
  std::string queue{};
  std::string name{};
  std::int64_t due = 0;
  std::int64_t overdue = 0;  ///< of those, not found to be due a minute after their time
  microseconds oldest{0};
  bool is_queue_served = false;
  bool is_name_known = false;
  bool is_declared = true;  ///< a worker has declared the name once
  std::string near{};       ///< of a name that none has declared: as by suggestion_of_typo
  bool is_paused = false;
  std::optional<microseconds> resumes_in{};  ///< of a paused queue; none: an operator must resume it
  int args_version = 1;
  std::optional<int> known_args_version{};  ///< the latest that a live worker knows; none where none knows the name
};
[[nodiscard]] Findings judge_waiting(const std::vector<WaitingFacts>& waiting);
[[nodiscard]] Findings judge_overdue(const std::vector<WaitingFacts>& waiting);

struct RunningFacts {
  std::string name{};
  bool is_orphaned = false;  ///< its worker is gone; else it runs far beyond its timeout
  std::int64_t tasks = 0;
  std::int64_t first_id = 0;
  microseconds longest{0};
};
[[nodiscard]] Findings judge_running(const std::vector<RunningFacts>& running);

/// The tasks of a name that have snoozed and have not ended.
struct SnoozeFacts {
  std::string name{};
  std::int64_t tasks = 0;
  std::int64_t most = 0;     ///< how often one of them has snoozed
  std::int64_t most_id = 0;  ///< that task
  std::int64_t max_snoozes = 1000;
};
[[nodiscard]] Findings judge_snoozes(const std::vector<SnoozeFacts>& snoozes);

/// A schedule, and its ticks of the last day.
struct ScheduleFacts {
  std::string name{};
  std::string task{};
  std::string state{};        ///< as in the view schedule_overview
  microseconds overdue{0};    ///< for how long it has been due
  microseconds paused{0};     ///< for how long
  microseconds ahead{0};      ///< how far its next time lies ahead, if it passes over times before that
  bool is_task_known = true;  ///< by a live worker
  std::int64_t missed = 0;    ///< ranges of ticks that no worker fired in time
  std::int64_t refused = 0;   ///< tasks that enqueue refused
  std::string refusal{};      ///< the last reason
  microseconds latest{0};     ///< how late the latest of its ticks came
};
[[nodiscard]] Findings judge_schedules(const std::vector<ScheduleFacts>& schedules);

struct CircuitFacts {
  std::string name{};
  CircuitState state = CircuitState::closed;
  bool is_forced = false;  ///< opened by hand
  microseconds for_so_long{0};
  std::vector<std::string> tasks{};
};
[[nodiscard]] Findings judge_circuits(const std::vector<CircuitFacts>& circuits);

/// A queue's load in five minutes.
struct LoadFacts {
  std::string queue{};
  std::int64_t attempts = 0;     ///< that ended in the last five minutes
  double retry_share = 0;        ///< of these, those that failed and are retried: 0 to 1
  std::int64_t retries_due = 0;  ///< within five minutes from now
};
[[nodiscard]] Findings judge_retries(const std::vector<LoadFacts>& queues);
[[nodiscard]] Findings judge_storms(const std::vector<LoadFacts>& queues);

struct DeadLetterFacts {
  std::string name{};           ///< of the tasks
  std::int64_t last_hour = 0;   ///< that failed in it
  std::int64_t day_before = 0;  ///< in the 24 hours before that
};
[[nodiscard]] Findings judge_dead_letters(const std::vector<DeadLetterFacts>& letters);

struct ServerFacts {
  bool has_fsync = true;
  bool has_full_page_writes = true;
  std::string synchronous_commit = "on";
  std::int64_t max_connections = 100;
  std::int64_t connections = 1;
  std::int64_t oldest_transaction = 0;  ///< age of the database's oldest transaction id
};
[[nodiscard]] Findings judge_durability(const ServerFacts& server);
[[nodiscard]] Findings judge_connections(const ServerFacts& server);
[[nodiscard]] Findings judge_wraparound(const ServerFacts& server);
/// Of this host: its clock less the server's, and by how much that may be wrong.
[[nodiscard]] Findings judge_clock(microseconds ahead, microseconds uncertainty);
/// Of the hosts of live workers, one finding for each whose clock is off; none where all are right.
[[nodiscard]] Findings judge_worker_clocks(const std::vector<WorkerFacts>& workers);

struct InvalidIndex {
  std::string name{};
  std::string table{};
};
[[nodiscard]] Findings judge_indexes(const std::vector<InvalidIndex>& invalid);

struct RetentionFacts {
  std::optional<std::string> queue{};  ///< none: all that have no days of their own
  std::int64_t keep_done_days = 7;
  std::int64_t keep_failed_days = 90;
  std::optional<std::int64_t> own_done_days{};  ///< of the queue; the longer of this and all queues' counts
  std::optional<std::int64_t> own_failed_days{};
};
[[nodiscard]] Findings judge_retention(const std::vector<RetentionFacts>& retention);

struct LockFacts {
  std::int64_t locks_of_lookup = 0;  ///< of a statement that looks for a task at every day
  std::int64_t lock_room = 6400;     ///< of all sessions
  std::int64_t max_locks_per_transaction = 64;
};
[[nodiscard]] Findings judge_locks(const LockFacts& locks);

/// A session that does what only one may do at a time.
struct HolderFacts {
  std::string name{};  ///< `partitions`, `import`, `migrations`
  std::int64_t pid = 0;
  std::string user{};
  std::string application{};
  std::optional<microseconds> held{};    ///< nothing where this login may not see it
  std::optional<microseconds> waited{};  ///< the longest wait of a session for it
};
/// A finding for each that keeps others from it for long; none where there is none.
[[nodiscard]] Findings judge_holders(const std::vector<HolderFacts>& holders);

/// `pending`: what `dogged migrate` would apply; `mismatch`: why this program cannot work with the schema.
[[nodiscard]] Findings judge_schema(const std::vector<std::string>& pending_migrations,
                                    const std::vector<std::string>& pending_files,
                                    const std::optional<std::string>& mismatch);

/// A check that the database refused.
[[nodiscard]] Finding not_checked(const std::string& check, const std::string& why);

}  // namespace dogged::cli::doctor
