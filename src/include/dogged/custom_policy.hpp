// Retry policies of one's own: a function decides whether there is another attempt, and after what delay.
//
//   const auto patient = [](int attempt, const dogged::FailedAttempt& failure) -> std::optional<dogged::milliseconds> {
//     if (failure.error_code == "HTTP_404" && attempt > 2) return std::nullopt;   // it is not just late
//     return 200ms * attempt;
//   };
//   auto page = dogged::retry(patient, [&] { return fetch(url); });               // in this process
//
// For tasks a worker registers the function by a name (WorkerOptions::policies), and the task's definition names it:
//
//   TASK_REGISTER(deliver, deliver_webhook, .retry = dogged::Custom{.name = "patient", .max_retries = 8}, …);
#pragma once

#include <concepts>
#include <exception>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <dogged/policy.hpp>

namespace dogged {

/// The failure that a DelayFunction decides about. The texts live as long as the call.
struct FailedAttempt {
  std::string_view error_code;
  std::string_view error_message;
  /// The wait that the error asks for. This wait replaces the delay that the function gives.
  std::optional<milliseconds> retry_after = {};
  /// The exception that was thrown in this process; null in a worker.
  std::exception_ptr exception = {};
};

/// The delay before the next attempt, cut to 1 ms .. 24 h; nothing: no further attempt. `attempt` is 1 after the first
/// failure, and one more with each retry that is spent. A worker calls it for several tasks at once. The function adds
/// its own jitter (random_draw). If it throws, a call in this process ends with RetryEnd::callback_failed. A worker
/// then logs an error and does not retry the task.
using DelayFunction = std::function<std::optional<milliseconds>(int attempt, const FailedAttempt& failure)>;

template <class Function>
concept DecidesDelay = std::is_invocable_r_v < std::optional<milliseconds>,
const Function&, int, const FailedAttempt& > ;

/// The policy of a call in this process: a RetryPolicy, or a DelayFunction with a limit of its own.
class CallPolicy {
 public:
  /// Any RetryPolicy but Custom, whose function only workers know.
  template <class Policy>
  requires std::convertible_to<Policy, RetryPolicy> CallPolicy(Policy policy) : policy_(std::move(policy)) {}  // NOLINT

  /// At most `max_retries` retries, 1 to 20. Metrics call the policy `custom`.
  template <class Function>
  requires DecidesDelay<Function> CallPolicy(Function function, int max_retries = limits::max_retries)  // NOLINT
      : policy_(Custom{.name = "custom", .max_retries = max_retries}), function_(std::move(function)) {}

  /// Throws InvalidPolicy as dogged::require_valid(policy()) does, and for Custom without its function.
  void require_valid() const;

  [[nodiscard]] const RetryPolicy& policy() const noexcept { return policy_; }
  [[nodiscard]] const DelayFunction& function() const noexcept { return function_; }  ///< empty: policy() decides

 private:
  RetryPolicy policy_;
  DelayFunction function_;
};

}  // namespace dogged
