// A task in this worker's hands, from the claim to the report of how its attempt ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <dogged/detail/circuit.hpp>
#include <dogged/task.hpp>

#include "definition.hpp"
#include "lifecycle/lifecycle.hpp"

namespace dogged::runtime {

using SteadyClock = std::chrono::steady_clock;

/// One attempt of one task.
struct Attempt {
  TaskId id = 0;
  int number = 0;
};

struct ClaimedTask {
  TaskId id = 0;
  int attempt = 0;  ///< with the worker's id, the fence: what is reported under it counts only while the task names it
  int retry_count = 0;
  int losses = 0;
  const Definition* definition = nullptr;
  std::string queue;
  std::string args_json;
  std::string trace_context;
  SteadyClock::time_point claimed_at;  ///< when the claim's answer was here
  /// Not begun from then on: counted from before the claim was asked, so that it is not later than by the database.
  SteadyClock::time_point expires_at = SteadyClock::time_point::max();
  bool cancelled = false;               ///< its cancellation was requested before its handler began
  std::int64_t circuit_generation = 0;  ///< of its circuit, where it has one, when it was let through
};

/// How an attempt ended and what becomes of the task: one element of the batch that complete.sql takes.
struct Report {
  TaskId id = 0;
  int attempt = 0;
  lifecycle::Transition transition;
  SteadyClock::time_point started_at;  ///< of the handler; sent as how long ago that was
  SteadyClock::time_point finished_at;
  std::string policy;  ///< as applied; empty where no policy decided
  std::optional<milliseconds> retry_after;
  std::string result_json;  ///< empty for none
  std::string error_message;
  std::string error_details_json;  ///< empty for none
  bool may_be_committed = false;   ///< by complete_in: then the task is not held any more, as it should be
  std::string name;                ///< of the task, and its queue: where it has not succeeded
  std::string queue;
  const RetryPolicy* retry_policy = nullptr;  ///< that decided
  std::string_view circuit;                   ///< of its definition; empty for none
  detail::CircuitEvent circuit_event;
};

}  // namespace dogged::runtime
