// The invariants of a run, checked after it. The database is compared with the enqueued tasks, with the rules for the
// end of attempts, and with the handlers' own log. Pure: evidence.cpp reads the evidence, so that a test can show the
// checker every kind of lie.
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

}  // namespace dogged::faults
