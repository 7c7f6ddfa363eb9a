// A task and its attempts as the database has them: what dogged::Client::find and attempts give, and `dogged tasks
// show` prints.
//
// Values. Times are by the database's clock.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <dogged/attempt_outcome.hpp>
#include <dogged/delay.hpp>
#include <dogged/outcome.hpp>
#include <dogged/task_id.hpp>

namespace dogged {

/// One attempt. As a row of the view task_timeline.
struct AttemptRecord {
  using TimePoint = std::chrono::system_clock::time_point;

  int attempt = 0;                             ///< 1, 2, 3 … for the whole life of the task
  std::optional<AttemptOutcome> outcome = {};  ///< nothing: the attempt runs
  std::string worker = {};                     ///< the name of the worker; empty if it is not known any more
  std::optional<TimePoint> due_at = {};        ///< nothing: retention has dropped what says it
  TimePoint claimed_at = {};
  std::optional<TimePoint> started_at = {};  ///< when the handler began; nothing while the attempt runs
  std::optional<TimePoint> finished_at = {};
  std::string error_code = {};          ///< empty: no error
  std::string error_message = {};       ///< of the error, or of dogged on the attempt
  std::string error_details_json = {};  ///< JSON text; empty: none
  bool will_retry = false;              ///< whether another attempt was scheduled at its end
  std::optional<TimePoint> next_retry_at = {};
  std::string policy = {};                       ///< as applied, as policy_from_text reads it; empty if none decided
  std::optional<milliseconds> backoff = {};      ///< by the policy, before jitter
  std::optional<milliseconds> delay = {};        ///< after jitter
  std::optional<milliseconds> retry_after = {};  ///< that the error gave, in place of the policy's delay
};

/// A task. As a row of the view task_overview.
struct TaskRecord {
  using TimePoint = std::chrono::system_clock::time_point;

  TaskId id = 0;
  std::string name = {};
  std::string queue = {};
  TaskStatus status = TaskStatus::pending;
  std::string state = {};                     ///< the same for people: `waits for its retry`
  TimePoint since = {};                       ///< when it entered that state
  std::optional<TimePoint> next_run_at = {};  ///< of a pending task
  int attempts = 0;                           ///< begun so far
  /// The retries that the policy allows that was applied last. Nothing: none was applied yet.
  std::optional<int> max_retries = {};
  int retry_count = 0;               ///< retries spent
  int losses = 0;                    ///< attempts that ended because their worker died
  int snoozes = 0;                   ///< attempts that ended because the handler snoozed
  std::string last_error_code = {};  ///< empty: none
  std::string last_error_message = {};
  std::string worker = {};  ///< that runs the task, or ran it last; empty: none
  int priority = 0;
  std::string args_json = {};    ///< "[redacted]" where TaskOptions::redact says so
  std::string result_json = {};  ///< the same; empty: none
  TimePoint enqueued_at = {};
  TimePoint run_at = {};
  std::optional<TimePoint> claimed_at = {};
  std::optional<TimePoint> finished_at = {};
  std::optional<TimePoint> cancel_requested_at = {};
  std::string trace_context = {};
  std::vector<std::string> tags = {};
  std::optional<TaskId> parent_id = {};
  int args_version = 1;
  std::optional<TaskProgress> progress = {};  ///< nothing: no handler has said any, or the task has succeeded
  std::vector<AttemptRecord> timeline = {};   ///< all attempts in order, the running one last
};

}  // namespace dogged
