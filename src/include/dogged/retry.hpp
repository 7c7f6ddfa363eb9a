// The retry toolkit, usable without a database. This header retries a call in this process and includes the rest of
// the toolkit; the queue's own retries use the same policies. docs/retry.md is the guide.
//
//   <dogged/policy.hpp>                 how long to wait before retry 1, 2, …
//   <dogged/retry_options.hpp>          deadlines, a time for each attempt, stopping, hooks
//   <dogged/retry_result.hpp>           how it ended
//   <dogged/circuit_breaker.hpp>        stop calling what keeps failing
//   <dogged/retry_budget.hpp>           bound the share of retries among all calls
//   <dogged/retry_metrics.hpp>          counters of retries, failures and breakers, for Prometheus and others
//   <dogged/codes.hpp>                  error codes, and lists of them
//   <dogged/code_sets.hpp>              lists that are ready: codes::http_retryable, codes::sqlstate_transient, …
//   <dogged/classification.hpp>         what an error says about trying again: HTTP, PostgreSQL, libcurl, errno, …
//   <dogged/exception_mapper.hpp>       from exception types to error codes
//   <dogged/retry_after.hpp>            the Retry-After header
//   <dogged/retry_config.hpp>           settings in JSON, and presets for usual operations
//   <dogged/resolved_retry_config.hpp>  which settings apply in the end: program, file, environment
//
//   auto page = dogged::retry(dogged::exponential(100ms).with_max_retries(4), [&] { return fetch(url); });
//   if (page) use(page.value());   // value() throws the last error where there is no value
//
// A call fails by throwing, or by an expected-like result (has_value(), operator*, error()) that holds an error. After
// a failure the policy's delay is waited and the call is made again, until one of RetryEnd's reasons ends it.
//
// The functions here keep no state: they may be called from any thread at once. They call fn, condition and hooks on
// the calling thread, one at a time.
#pragma once

#include <exception>
#include <utility>

#include <dogged/circuit_breaker.hpp>
#include <dogged/classification.hpp>
#include <dogged/code_sets.hpp>
#include <dogged/codes.hpp>
#include <dogged/detail/retry_loop.hpp>
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
/// InvalidPolicy and InvalidInput for a policy or options out of their limits, before the first attempt, and never what
/// fn throws: that is in the result.
template <class Fn>
[[nodiscard]] auto retry(const RetryPolicy& policy, Fn&& fn, const RetryOptions& options = {}) {
  const auto any = [](const std::exception_ptr&) { return true; };
  return detail::run_retry(policy, fn, any, options);
}

/// Retries only what `condition` says: it takes the expected-like result's error (const E&), a const std::exception&,
/// or a const std::exception_ptr&, and returns bool or RetryVerdict. What it cannot take (an exception, where it takes
/// E; an exception that is no std::exception, where it takes that) is not retried. Of an attempt that timed out it is
/// given the AttemptTimeout, unless it takes E and there is one.
template <class Fn, class Condition>
[[nodiscard]] auto retry_if(const RetryPolicy& policy, Fn&& fn, Condition&& condition,
                            const RetryOptions& options = {}) {
  return detail::run_retry(policy, fn, condition, options);
}

/// Calls `fn(input)` or `fn(input, const AttemptContext&)` with `start`, and then with each next input that
/// `success_condition(const T&)` makes of the value: an optional input, of which nothing ends it. Pages of a list, for
/// example. Each call is retried as by retry_if with `error_condition`, its hooks called for each input; the stop token
/// and the deadline are for the whole. `attempts` counts them all.
/// Throws InvalidPolicy and InvalidInput as retry does. A success_condition that throws ends it with callback_failed.
template <class Input, class Fn, class SuccessCondition, class ErrorCondition>
[[nodiscard]] auto collect_and_retry(const CollectPolicies& policies, Fn&& fn, SuccessCondition&& success_condition,
                                     ErrorCondition&& error_condition, Input start, const RetryOptions& options = {}) {
  return detail::run_collect(policies, fn, success_condition, error_condition, std::move(start), options);
}

/// The same with one policy for both: it says how long to wait after a failure, and between a success and the next
/// call.
template <class Input, class Fn, class SuccessCondition, class ErrorCondition>
[[nodiscard]] auto collect_and_retry(const RetryPolicy& policy, Fn&& fn, SuccessCondition&& success_condition,
                                     ErrorCondition&& error_condition, Input start, const RetryOptions& options = {}) {
  return collect_and_retry(CollectPolicies{.errors = policy, .successes = policy}, fn, success_condition,
                           error_condition, std::move(start), options);
}

}  // namespace dogged
