// The options of <dogged/retry.hpp> besides the policy: stop token, deadlines, circuit breaker, budget, hooks, metrics.
// Also the argument of the called function.
#pragma once

#include <chrono>
#include <concepts>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include <dogged/circuit_breaker.hpp>
#include <dogged/classification.hpp>
#include <dogged/custom_policy.hpp>
#include <dogged/policy.hpp>
#include <dogged/retry_result.hpp>

namespace dogged {

class RetryBudget;   // <dogged/retry_budget.hpp>
class RetryMetrics;  // <dogged/retry_metrics.hpp>

/// Passed to fn, if fn takes it.
struct AttemptContext {
  int attempt = 1;  ///< counted from 1
  /// The sooner of the attempt's own deadline and that of the whole retry; time_point::max() if there is neither.
  /// Pass on what is left of it to your own calls: nothing else can end a function that runs.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token stop = {};  ///< RetryOptions::stop
};

/// A condition's verdict on an error. A bool and a Classification convert to a verdict.
struct RetryVerdict {
  bool retry = true;
  /// Replaces the policy's delay: no jitter of the policy, no max_delay, but cut to 1 ms .. 24 h.
  std::optional<milliseconds> retry_after = {};
  Precision precision = Precision::exact;  ///< of retry_after

  constexpr RetryVerdict(bool is_retryable, std::optional<milliseconds> after = std::nullopt) noexcept  // NOLINT
      : retry(is_retryable), retry_after(after) {}
  /// Yes for a transient and a throttled failure, with its wait.
  RetryVerdict(const Classification& failure) noexcept  // NOLINT
      : retry(is_retryable(failure.category)), retry_after(failure.retry_after), precision(failure.precision) {}
};

/// Reads the retry_after() of exceptions of these classes (a duration, or an optional one), for
/// RetryOptions::retry_after_of: `retry_after_from<dogged::TaskError, MyHttpError>()`.
template <class... Errors>
[[nodiscard]] std::function<std::optional<milliseconds>(const std::exception_ptr&)> retry_after_from();

/// Waits until `duration`, cut to 24 h, is over or `stop` is set. False: `stop` was set.
[[nodiscard]] bool wait_or_stop(std::chrono::nanoseconds duration, std::stop_token stop);

/// Uniform in [0, 1), from a generator of the calling thread's own, seeded by std::random_device. Threads, processes
/// and the child of a fork draw different numbers. Passes on the exceptions of std::random_device.
[[nodiscard]] double random_draw();

struct RetryOptions {
  /// Once it is set, no wait and no attempt begins, and a wait under way ends. A success still counts.
  std::stop_token stop = {};
  /// The end of the whole retry: no attempt begins then or later, and no wait ends later. max(): none. A point in time
  /// can be passed on: `.deadline = context.deadline()` in a handler.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  /// The time of each attempt, 1 ms to 24 h; 0: none. Nothing can end a function that runs, so fn has to honour
  /// AttemptContext::deadline. A late success is a success; a late failure is an AttemptTimeout.
  milliseconds attempt_timeout{0};
  /// Asked before each attempt, and told how the attempt ended. The breaker counts neither failures that the condition
  /// calls not retryable nor those of stopped attempts. If the breaker refuses, retry() ends with circuit_open. With a
  /// `deadline`, retry() waits for an open or half-open breaker if its retry_after ends before the deadline and a retry
  /// is left. The wait spends that retry. The breaker must outlive the call. Null: none.
  CircuitBreaker* breaker = nullptr;
  /// Told of each attempt, and asked before each retry's wait, after everything else. If the budget has no room, the
  /// retry ends with budget_spent and the last error. Share one among the calls to one service. The budget must outlive
  /// the call. Null: none.
  RetryBudget* budget = nullptr;
  /// Replaces the policy's delay, as RetryVerdict::retry_after does, which takes precedence. The function gets the
  /// original exception, also for an attempt that timed out. An expected-like result's error with a member
  /// retry_after() needs no such function.
  std::function<std::optional<milliseconds>(const std::exception_ptr&)> retry_after_of =
      retry_after_from<CircuitOpen>();

  // Hooks. An exception of a hook changes nothing and is kept in RetrySummary::callback_error.
  /// Before each wait for a retry: the state so far, and the length of the wait. Not before a wait for a breaker.
  std::function<void(const RetrySummary&, milliseconds delay)> on_retry = {};
  /// Once, at the end, one of the two.
  std::function<void(const RetrySummary&)> on_success = {};
  std::function<void(const RetrySummary&)> on_failure = {};
  /// Counts each failed attempt, by the code that an untaught ExceptionMapper gives its exception. An AttemptTimeout
  /// counts as TIMEOUT, and an expected-like result's error as UNHANDLED_EXCEPTION. Counts each retry whose wait
  /// begins, with its delay, and each success that was a retry. Waits for a breaker are not counted. The metrics must
  /// outlive the call. Null: nothing is counted. &retry_metrics() is that of the process.
  RetryMetrics* metrics = nullptr;
  /// The name under which `metrics` counts: a label, such as `fetch_page`. Empty: it counts under `other`.
  std::string operation = {};

  // Replaced in tests and event loops. Empty: wait_or_stop, std::chrono::steady_clock::now, random_draw.
  /// Returns when the duration is over (true) or `stop` was set (false).
  std::function<bool(std::chrono::nanoseconds, std::stop_token)> wait = {};
  /// Must not throw.
  std::function<std::chrono::steady_clock::time_point()> now = {};
  /// In [0, 1).
  std::function<double()> draw = {};
};

/// The owner of the retries of CollectPolicies::errors.
enum class ErrorRetries {
  shared,     ///< the collection: retry n of all its calls waits for delay n, whatever input it is for
  per_input,  ///< each input
};

/// The policies of collect_and_retry.
struct CollectPolicies {
  /// For failures.
  CallPolicy errors;
  /// Between a success and the next call: delay n before call n + 1. Once its retries are spent, the collection ends
  /// with retries_spent and the values that it has, even if the last one asked for more. Nothing: no wait, and no such
  /// end.
  std::optional<RetryPolicy> successes = {};
  ErrorRetries error_retries = ErrorRetries::shared;
  /// After this many successes the collection ends with retries_spent as well; at least 1.
  int max_results = 1000;
};

namespace detail {
template <class T>
concept HasRetryAfter = requires(const T& error) {
  { error.retry_after() } -> std::convertible_to<std::optional<milliseconds>>;
};

template <HasRetryAfter Error>
std::optional<milliseconds> retry_after_if(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return error.retry_after();
  } catch (...) {
    return std::nullopt;
  }
}
}  // namespace detail

template <class... Errors>
std::function<std::optional<milliseconds>(const std::exception_ptr&)> retry_after_from() {
  return [](const std::exception_ptr& exception) {
    std::optional<milliseconds> found;
    static_cast<void>(((found = detail::retry_after_if<Errors>(exception)).has_value() || ...));
    return found;
  };
}

}  // namespace dogged
