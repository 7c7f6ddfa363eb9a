// A policy and its options, made once and used for many calls. Each call ends in bounded time.
//
//   const dogged::RetryExecutor fetching{dogged::exponential(100ms).with_max_retries(4)};
//   auto page = fetching.execute([&] { return fetch(url); });                          // 5 minutes in all at most
//   auto quick = fetching.with_timeout(2s).execute([&] { return fetch(url); });
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <dogged/policy.hpp>
#include <dogged/retry.hpp>

namespace dogged {

/// A value: copies are independent. Its const functions may be called from any thread at once, as far as the hooks of
/// its options may.
class RetryExecutor {
 public:
  /// For all attempts of a call and the waits between them.
  static constexpr milliseconds default_timeout = std::chrono::minutes{5};

  /// Throws InvalidPolicy and InvalidInput for a policy or options out of their limits.
  explicit RetryExecutor(CallPolicy policy, RetryOptions options = {})
      : policy_(std::move(policy)), options_(std::move(options)) {
    policy_.require_valid();
    detail::require_valid(options_);
  }

  /// The same with another time for each call, 1 ms to 24 h. Throws InvalidInput for another one.
  [[nodiscard]] RetryExecutor with_timeout(milliseconds timeout) const {
    if (timeout < milliseconds{1} || timeout > limits::max_delay) {
      throw InvalidInput("the timeout is " + std::to_string(timeout.count()) + " ms; it must be 1 ms to 24 h");
    }
    RetryExecutor changed = *this;
    changed.timeout_ = timeout;
    return changed;
  }

  /// As dogged::retry. No attempt begins once the time is over, and no wait that would end later. The deadline of the
  /// options, if it is sooner, counts in place of the time. So a call also waits for an open breaker, as retry() does
  /// with a deadline.
  template <class Fn>
  [[nodiscard]] auto execute(Fn&& fn) const {
    return retry(policy_, std::forward<Fn>(fn), options_of_call());
  }

  /// The same as dogged::retry_if.
  template <class Fn, class Condition>
  [[nodiscard]] auto execute_if(Fn&& fn, Condition&& condition) const {
    return retry_if(policy_, std::forward<Fn>(fn), std::forward<Condition>(condition), options_of_call());
  }

 private:
  [[nodiscard]] RetryOptions options_of_call() const {
    RetryOptions options = options_;
    options.deadline = std::min(options.deadline, detail::now(options_) + timeout_);
    return options;
  }

  CallPolicy policy_;
  RetryOptions options_;
  milliseconds timeout_ = default_timeout;
};

}  // namespace dogged
