// The retry toolkit, usable without a database. This header retries a call in this process, and includes the rest of
// the toolkit. The queue's own retries use the same policies. docs/retry.md is the guide.
//
//   <dogged/policy.hpp>                 how long to wait before retry 1, 2, …
//   <dogged/custom_policy.hpp>          policies of your own, in this process and for tasks
//   <dogged/retry_options.hpp>          deadlines, a time for each attempt, stopping, hooks
//   <dogged/retry_result.hpp>           how it ended
//   <dogged/circuit_breaker.hpp>        stop calling what keeps failing
//   <dogged/retry_executor.hpp>         a policy for many calls, each in bounded time; includes this header
//   <dogged/retry_budget.hpp>           bound the share of retries among all calls
//   <dogged/retry_metrics.hpp>          counters of retries, failures and breakers, for Prometheus and others
//   <dogged/retry_log.hpp>              a line of the log for each retry; not included here
//   <dogged/codes.hpp>                  error codes, and lists of them
//   <dogged/code_sets.hpp>              lists that are ready: codes::http_retryable, codes::sqlstate_transient, …
//   <dogged/classification.hpp>         whether a retry may help: HTTP, PostgreSQL, libcurl, errno, …
//   <dogged/exception_mapper.hpp>       from exception types to error codes
//   <dogged/retry_after.hpp>            the Retry-After header
//   <dogged/retry_config.hpp>           settings in JSON, and presets for usual operations
//   <dogged/resolved_retry_config.hpp>  resolves settings of program, file and environment
//
//   auto page = dogged::retry(dogged::exponential(100ms).with_max_retries(4), [&] { return fetch(url); });
//   if (page) use(page.value());   // value() throws the last error where there is no value
//
// A call fails if it throws, or if it returns an expected-like result (has_value(), operator*, error()) with an
// error. After a failure the retry waits for the policy's delay and calls again, until one of RetryEnd's reasons ends
// it.
//
// The functions here keep no state, so any thread may call them at once. Each calls fn, condition and hooks on the
// calling thread, one at a time.
#pragma once

#include <exception>
#include <utility>

#include <dogged/circuit_breaker.hpp>
#include <dogged/classification.hpp>
#include <dogged/code_sets.hpp>
#include <dogged/codes.hpp>
#include <dogged/custom_policy.hpp>
#include <dogged/detail/retry_loop.hpp>
#include <dogged/error.hpp>
#include <dogged/exception_mapper.hpp>
#include <dogged/policy.hpp>
#include <dogged/resolved_retry_config.hpp>
#include <dogged/retry_after.hpp>
#include <dogged/retry_budget.hpp>
#include <dogged/retry_config.hpp>
#include <dogged/retry_metrics.hpp>
#include <dogged/retry_options.hpp>
#include <dogged/retry_result.hpp>

namespace dogged {

/// Calls fn, and again after each failure while the policy has retries. `fn()` or `fn(const AttemptContext&)`. Throws
/// InvalidPolicy and InvalidInput before the first attempt, for a policy or options out of their limits. An exception
/// of fn is never thrown on: the result has it.
template <class Fn>
[[nodiscard]] auto retry(const CallPolicy& policy, Fn&& fn, const RetryOptions& options = {}) {
  const auto any = [](const std::exception_ptr&) { return true; };
  int spent = 0;
  return detail::run_retry(policy, fn, any, options, spent);
}

/// Retries only the errors that `condition` accepts. `condition` takes the expected-like result's error (const E&), a
/// const std::exception&, or a const std::exception_ptr&, and returns bool or RetryVerdict. An error of another type is
/// not retried, for example an exception if the condition takes E. For an attempt that timed out the condition gets the
/// AttemptTimeout, unless it takes E and there is one.
template <class Fn, class Condition>
[[nodiscard]] auto retry_if(const CallPolicy& policy, Fn&& fn, Condition&& condition,
                            const RetryOptions& options = {}) {
  int spent = 0;
  return detail::run_retry(policy, fn, condition, options, spent);
}

/// Calls `fn(input)` or `fn(input, const AttemptContext&)` with `start`, for example to read the pages of a list.
/// `success_condition(const T&)` makes the next input of each value; an empty optional ends the collection. Each call
/// is retried as by retry_if with `error_condition`, and calls the hooks for each input. The retries after errors, the
/// stop token and the deadline are for the whole collection; ErrorRetries::per_input gives each input all retries.
/// `attempts` counts all calls.
/// Throws InvalidPolicy and InvalidInput as retry does. A success_condition that throws ends the collection with
/// callback_failed.
template <class Input, class Fn, class SuccessCondition, class ErrorCondition>
[[nodiscard]] auto collect_and_retry(const CollectPolicies& policies, Fn&& fn, SuccessCondition&& success_condition,
                                     ErrorCondition&& error_condition, Input start, const RetryOptions& options = {}) {
  return detail::run_collect(policies, fn, success_condition, error_condition, std::move(start), options);
}

/// The same with one policy for both: for the retries after failures, and for the calls after successes. Each has all
/// retries of the policy.
template <class Input, class Fn, class SuccessCondition, class ErrorCondition>
[[nodiscard]] auto collect_and_retry(const RetryPolicy& policy, Fn&& fn, SuccessCondition&& success_condition,
                                     ErrorCondition&& error_condition, Input start, const RetryOptions& options = {}) {
  return collect_and_retry(CollectPolicies{.errors = policy, .successes = policy}, fn, success_condition,
                           error_condition, std::move(start), options);
}

}  // namespace dogged
