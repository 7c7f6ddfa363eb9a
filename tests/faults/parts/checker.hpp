// The invariants of a run, checked after it. The database is compared with the enqueued tasks, with the rules for the
// end of attempts, and with the handlers' own log. Ticks, unique keys and steps are compared with their tasks. Pure:
// evidence.cpp reads the evidence, so that a test can show the checker every kind of lie.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "handler_log.hpp"
#include "tasks.hpp"

namespace dogged::faults {

/// Times of the database, in microseconds since 1970.
using TimeUs = std::int64_t;

struct TaskRow {
  TaskId id = 0;
  std::string name = {};
  std::string status = {};
  Plan plan = {};
  int attempt = 0;
  int retry_count = 0;
  int losses = 0;
  std::string unique_key = {};  ///< empty: none
  std::string schedule = {};    ///< the name of the schedule that enqueued it; empty: none did
};

struct AttemptRow {
  TaskId task_id = 0;
  int attempt = 0;
  std::string outcome = {};
  std::int64_t worker_id = 0;
  TimeUs claimed_at = 0;
  TimeUs started_at = 0;
  TimeUs finished_at = 0;
  std::string error_code = {};  ///< empty for null
  bool will_retry = false;
  std::optional<TimeUs> next_retry_at = {};
  std::string whole = {};  ///< the row as text, all columns
};

struct WorkerRow {
  std::int64_t id = 0;
  pid_t pid = 0;
  TimeUs started_at = 0;
  TimeUs lease_until = 0;
  std::optional<TimeUs> stopped_at = {};
  std::optional<TimeUs> lease_ended_at = {};
};

struct ScheduleRow {
  std::int64_t id = 0;
  std::string name = {};
  TimeUs every = 0;  ///< its spec is `every …`
  TimeUs next_at = 0;
  bool one_at_a_time = true;  ///< its overlap lets no two of its tasks live at once
};

struct TickRow {
  std::int64_t schedule_id = 0;
  TimeUs scheduled_at = 0;
  std::string outcome = {};
  std::string reason = {};  ///< empty for null
  TimeUs decided_at = 0;
  TaskId task_id = 0;  ///< 0 for null
  std::optional<TimeUs> skipped_until = {};
};

struct StepRow {
  TaskId task_id = 0;
  std::string name = {};
  int attempt = 0;
  std::int64_t worker_id = 0;
  TimeUs finished_at = 0;
  std::string result = {};  ///< as JSON text
};

struct EventRow {
  std::string name = {};
  TimeUs emitted_at = 0;
};

/// A row of unique_keys, beside the task that it names.
struct KeyRow {
  std::string name = {};
  std::string unique_key = {};
  TaskId task_id = 0;
  std::string task_name = {};  ///< empty: there is no such task any more
  std::string task_key = {};
};

/// A task that has a unique key and has not ended, beside the row of its key.
struct UniqueTaskRow {
  TaskId id = 0;
  std::string name = {};
  std::string unique_key = {};
  std::optional<TaskId> in_row = {};  ///< the task that the row names; none: there is no row
};

/// A row of task_waits, beside its task.
struct WaitRow {
  TaskId task_id = 0;
  std::string name = {};
  int attempt = 0;
  bool has_arrived = false;    ///< its event
  std::string status = {};     ///< of the task; empty: there is no such task any more
  int task_attempt = 0;        ///< its latest
  bool is_deferred = false;    ///< the task
  std::int64_t due_in_us = 0;  ///< when the task is due, counted from the end of the wait
};

/// The state of the database at one moment, also while tasks run. The rows of a list are of one snapshot.
struct Moment {
  std::vector<KeyRow> keys = {};
  std::vector<UniqueTaskRow> unique_tasks = {};
  std::vector<WaitRow> waits = {};
};

/// The holder of a unique key that an enqueue met, as the producer was told.
struct Met {
  TaskId holder = 0;
  std::string unique_key = {};
};

/// A time in which the server was away.
struct Outage {
  TimeUs from = 0;
  TimeUs to = 0;
};

struct Evidence {
  std::map<std::int64_t, TaskId> enqueued = {};  ///< by key: the producer was told of them
  std::vector<std::int64_t> in_doubt = {};       ///< keys whose enqueue was not answered
  std::vector<TaskRow> tasks = {};               ///< by id
  std::vector<AttemptRow> attempts = {};         ///< by task and attempt
  std::map<std::int64_t, WorkerRow> workers = {};
  std::vector<Execution> executions = {};                            ///< by start
  std::map<std::pair<TaskId, int>, std::string> attempts_seen = {};  ///< rows as they were seen during the run
  std::vector<Outage> outages = {};
  std::map<std::int64_t, Met> met = {};  ///< by key: the producer was told that another task stands for them
  std::vector<ScheduleRow> schedules = {};
  std::vector<TickRow> ticks = {};    ///< of all schedules, by schedule and time
  std::vector<StepRow> steps = {};    ///< by task, name and attempt
  std::vector<EventRow> events = {};  ///< by time
  Moment end = {};                    ///< after retention, when no task runs any more
};

/// The longest time from the lapse of a lost worker's lease to the next run of its task. Time in which the server was
/// away, or workers waited to reach it again, does not count.
struct Lateness {
  TimeUs at_most = 0;
  TaskId task = 0;        ///< 0: none was lost
  int attempt = 0;        ///< that was lost
  TimeUs lapsed_at = 0;   ///< its worker's lease
  TimeUs rescued_at = 0;  ///< by another worker
};
[[nodiscard]] Lateness lateness(const Evidence& evidence);

/// Every broken promise in words, with the task and the attempt. Empty: all were kept.
[[nodiscard]] std::vector<std::string> broken_promises(const Evidence& evidence);
/// The same for a moment in a run.
[[nodiscard]] std::vector<std::string> broken_promises(const Moment& moment);

}  // namespace dogged::faults
