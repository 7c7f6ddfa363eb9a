// The answers of dogged::Client on a task: its state or its end, and the result of a cancel, replay or reschedule.
//
// Values; their functions are thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <dogged/task_id.hpp>

namespace dogged {

/// docs/lifecycle.md explains each.
enum class TaskStatus { pending, running, succeeded, failed, discarded, cancelled, expired };

[[nodiscard]] constexpr std::string_view to_text(TaskStatus status) noexcept {
  constexpr std::array<std::string_view, 7> texts = {"pending",   "running",   "succeeded", "failed",
                                                     "discarded", "cancelled", "expired"};
  return texts[static_cast<std::size_t>(status)];
}

/// The result of Client::cancel.
enum class CancelResult {
  cancelled,  ///< it was pending, and has ended
  requested,  ///< it runs: its handler is asked to stop, and unless it succeeds the task ends as cancelled
  ended,      ///< it had ended before; nothing has changed
  not_found,  ///< there is no such task, or no longer
};

/// How Client::replay treats the steps that the task has recorded (docs/steps.md).
enum class ReplaySteps {
  keep,   ///< they run no more: the task goes on with the first step that is not recorded
  again,  ///< all run again: what was recorded may be why the task failed
};

/// The result of Client::replay.
enum class ReplayResult {
  replayed,    ///< it was a dead letter, and is pending again
  key_held,    ///< another task that has not ended holds its unique key; nothing has changed
  not_failed,  ///< it is no dead letter; nothing has changed
  not_found,   ///< there is no such task, or no longer
};

/// The result of Client::reschedule.
enum class RescheduleResult {
  rescheduled,  ///< it is pending, and runs next at the new time
  running,      ///< an attempt is under way; nothing has changed
  ended,        ///< it had ended before; nothing has changed
  not_found,    ///< there is no such task, or no longer
};

[[nodiscard]] constexpr std::string_view to_text(CancelResult result) noexcept {
  constexpr std::array<std::string_view, 4> texts = {"cancelled", "requested", "ended", "not_found"};
  return texts[static_cast<std::size_t>(result)];
}

[[nodiscard]] constexpr std::string_view to_text(ReplaySteps steps) noexcept {
  return steps == ReplaySteps::keep ? "keep" : "again";
}

[[nodiscard]] constexpr std::string_view to_text(ReplayResult result) noexcept {
  constexpr std::array<std::string_view, 4> texts = {"replayed", "key_held", "not_failed", "not_found"};
  return texts[static_cast<std::size_t>(result)];
}

[[nodiscard]] constexpr std::string_view to_text(RescheduleResult result) noexcept {
  constexpr std::array<std::string_view, 4> texts = {"rescheduled", "running", "ended", "not_found"};
  return texts[static_cast<std::size_t>(result)];
}

/// How far a task has come, as its handler has said last (Context::progress).
struct TaskProgress {
  int attempt = 0;                 ///< that said so
  std::optional<double> fraction;  ///< 0 to 1, in millionths; nothing: the handler does not know
  std::string message;
  std::chrono::system_clock::time_point reported_at;  ///< by the database's clock

  friend bool operator==(const TaskProgress&, const TaskProgress&) = default;
};

/// The state of a task, or its end.
struct TaskOutcome {
  TaskId id = 0;
  std::string name;
  TaskStatus status = TaskStatus::pending;
  int attempts = 0;           ///< begun so far
  std::string result_json;    ///< of a task that succeeded; empty if its handler returned nothing
  std::string error_code;     ///< of the last failed attempt; empty if none failed, or the task succeeded
  std::string error_message;  ///< of the same attempt

  /// False: it is pending or running, and the wait ran out of time.
  [[nodiscard]] bool has_ended() const noexcept {
    return status != TaskStatus::pending && status != TaskStatus::running;
  }
  [[nodiscard]] bool has_succeeded() const noexcept { return status == TaskStatus::succeeded; }
};

/// The same with the result in its type.
template <class Result>
struct TaskResult : TaskOutcome {
  std::optional<Result> result;  ///< of a task that succeeded; nothing if result_json is empty
};

}  // namespace dogged
