// A task that this worker holds, from the claim to the report of how its attempt ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include <dogged/detail/circuit.hpp>
#include <dogged/policy_fwd.hpp>
#include <dogged/task_id.hpp>
#include <dogged/trace_context.hpp>

#include "base/time.hpp"
#include "lifecycle/transition.hpp"
#include "tasks/definition_fwd.hpp"

namespace dogged::runtime {

/// One attempt of one task.
struct Attempt {
  TaskId id = 0;
  int number = 0;

  friend bool operator==(const Attempt&, const Attempt&) = default;
};

/// Holds what claim.sql gives of the task, as far as the attempt needs it. The worker adds the definition, its own
/// times, the cancellation and the circuit's generation.
struct ClaimedTask {
  TaskId id = 0;
  int attempt = 0;  ///< with the worker's id, the fence: a report counts only while the task's row names both
  int retry_count = 0;
  int losses = 0;
  int snoozes = 0;
  const Definition* definition = nullptr;
  std::string queue;
  std::string args_json;
  std::string trace_context;
  SteadyClock::time_point claimed_at;  ///< when the answer to the claim arrived
  /// The task does not begin after this time. Counted from before the claim was sent, so that the time is no later than
  /// by the database's clock.
  SteadyClock::time_point expires_at = SteadyClock::time_point::max();
  bool cancelled = false;               ///< its cancellation was requested before its handler began
  std::int64_t circuit_generation = 0;  ///< of its circuit, if it has one, when the circuit let the task through
  int args_version = 1;

  friend bool operator==(const ClaimedTask&, const ClaimedTask&) = default;
};

/// When the timeout is over of an attempt that began at `started_at`; never if it has none.
[[nodiscard]] TimePoint deadline_of(const ClaimedTask& task, TimePoint started_at);

/// How much of an ended attempt is on record, as far as its worker can tell.
enum class Record {
  to_send,            ///< nothing: the report tells
  perhaps_committed,  ///< complete_in may have committed its success: then the task is rightly not held any more
  on_record,          ///< its end: the report is not sent
};

[[nodiscard]] std::string_view to_text(Record record) noexcept;
std::ostream& operator<<(std::ostream& out, Record record);

/// How an attempt ended and what becomes of its task: one element of the batch that complete.sql takes. A member for
/// each column of that batch, and those that the log, the metrics and the circuit need.
struct Report {
  TaskId id = 0;
  int attempt = 0;
  lifecycle::Transition transition;
  SteadyClock::time_point started_at;  ///< when the handler began; sent as how long ago that was
  SteadyClock::time_point finished_at;
  /// The text of the policy that was applied, also where it had no retry left; empty if no policy decided. Declarations
  /// stay valid while the worker runs (InForce), so that a report only views them.
  std::string_view policy_text;
  std::optional<milliseconds> retry_after;
  std::string result_json;  ///< empty for none
  std::string error_message;
  std::string error_details_json;  ///< empty for none
  Record record = Record::to_send;
  std::string name;  ///< of the task, and its queue; empty if the first attempt succeeded
  std::string queue;
  std::optional<TraceContext> trace = {};     ///< the attempt's span, else the producer's
  bool is_trace_of_its_own = false;           ///< `trace` is the sampled root of a trace: it goes on record
  const RetryPolicy* retry_policy = nullptr;  ///< of the task's declaration; logs and metrics name it
  std::string_view circuit;                   ///< of its definition; empty for none
  detail::CircuitEvent circuit_event;

  friend bool operator==(const Report&, const Report&) = default;
};

std::ostream& operator<<(std::ostream& out, const Attempt& attempt);
std::ostream& operator<<(std::ostream& out, const ClaimedTask& task);
std::ostream& operator<<(std::ostream& out, const Report& report);

}  // namespace dogged::runtime
