// The loop of retry(): RetryLoop decides what is next, and the templates around it call the user's functions.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <dogged/circuit_breaker.hpp>
#include <dogged/custom_policy.hpp>
#include <dogged/detail/expected_like.hpp>
#include <dogged/policy.hpp>
#include <dogged/retry_options.hpp>
#include <dogged/retry_result.hpp>

namespace dogged {
struct EndedAttempt;  // <dogged/retry_metrics.hpp>
}

namespace dogged::detail {

/// Waits. Gives the reason if the retry has to end instead; what the wait throws is put into `summary`.
[[nodiscard]] std::optional<RetryEnd> pause(const RetryOptions& options, milliseconds delay, RetrySummary& summary);

/// The same between success `number` = 1, 2, … and the call for more.
[[nodiscard]] std::optional<RetryEnd> pause_after_success(const CollectPolicies& policies, int number,
                                                          const RetryOptions& options, RetrySummary& summary);

[[nodiscard]] std::chrono::steady_clock::time_point now(const RetryOptions& options);
void require_valid(const RetryOptions& options);
void require_valid(const CollectPolicies& policies);

/// One retry from its first attempt to its end: begin_attempt, then succeeded or failed, until begin_attempt is false.
class RetryLoop {
 public:
  using Judge = std::function<RetryVerdict(const std::exception_ptr&)>;

  /// Keeps references to both. `spent`: retries of the policy that were made before.
  RetryLoop(const CallPolicy& policy, const RetryOptions& options, int spent = 0);

  /// True if the loop makes another attempt; false once the retry has ended.
  [[nodiscard]] bool begin_attempt();
  /// Of the attempt that was begun.
  [[nodiscard]] const AttemptContext& context() const noexcept { return context_; }
  void succeeded();
  /// Waits before the next attempt, if there is one.
  void failed(const std::exception_ptr& error, const Judge& judge);

  [[nodiscard]] const RetrySummary& summary() const noexcept { return summary_; }
  /// Retries of the policy that are spent.
  [[nodiscard]] int spent() const noexcept { return retries_; }

 private:
  void end(RetryEnd reason);
  void end_with_callback_error();
  template <class Hook, class... Args>
  void call_hook(const Hook& hook, const Args&... args);
  void start_attempt();
  [[nodiscard]] bool is_allowed_by_breaker();
  void wait_for_breaker();
  [[nodiscard]] std::exception_ptr as_seen(const std::exception_ptr& error) const;
  [[nodiscard]] EndedAttempt ended_attempt() const;
  void count_failure(bool is_transient) const;
  [[nodiscard]] RetryVerdict verdict_of(const Judge& judge) const;
  void retry_or_end(const std::exception_ptr& error, const Judge& judge);
  [[nodiscard]] std::optional<milliseconds> delay_before_retry(const std::exception_ptr& error,
                                                               const RetryVerdict& verdict) const;
  [[nodiscard]] std::optional<milliseconds> delay_of_function(std::optional<milliseconds> retry_after) const;
  void wait_before_retry(milliseconds delay);
  void measure();

  const CallPolicy& policy_;
  const RetryOptions& options_;
  const std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point attempt_start_;  ///< if the attempt is timed or counted
  std::chrono::steady_clock::time_point attempt_end_ = std::chrono::steady_clock::time_point::max();
  AttemptContext context_;
  CircuitBreaker::Permit permit_;
  RetrySummary summary_;
  int retries_;
  bool has_ended_ = false;
};

template <class Result>
struct ResultTraits {
  using Value = Result;
  using Error = void;
};
template <ExpectedLike Result>
struct ResultTraits<Result> {
  using Value = std::remove_cvref_t<decltype(*std::declval<Result&>())>;
  using Error = std::remove_cvref_t<decltype(std::declval<Result&>().error())>;
};

/// Calls fn(args…, context), or fn(args…) if it does not take a context.
template <class Fn, class... Args>
decltype(auto) call(Fn& fn, const AttemptContext& context, const Args&... args) {
  if constexpr (std::is_invocable_v<Fn&, const Args&..., const AttemptContext&>) {
    return std::invoke(fn, args..., context);
  } else {
    static_assert(std::is_invocable_v<Fn&, const Args&...>,
                  "dogged: retry calls fn() or fn(const AttemptContext&); collect_and_retry fn(input) or fn(input, "
                  "const AttemptContext&)");
    return std::invoke(fn, args...);
  }
}

template <class Fn, class... Args>
using CallResult = std::remove_cvref_t<decltype(call(std::declval<Fn&>(), std::declval<const AttemptContext&>(),
                                                     std::declval<const Args&>()...))>;

/// The only one that writes to results.
struct ResultAccess {
  /// Makes one attempt. Null: it succeeded, and its value is in the result.
  template <class T, class E, class Fn>
  static std::exception_ptr attempt(RetryResult<T, E>& result, Fn& fn, const AttemptContext& context) {
    try {
      if constexpr (!std::is_void_v<E>) {
        auto returned = call(fn, context);
        if (!returned.has_value()) return keep_error(result, std::move(returned).error());
        if constexpr (!std::is_void_v<T>) result.stored_.value.emplace(*std::move(returned));
      } else if constexpr (!std::is_void_v<T>) {
        result.stored_.value.emplace(call(fn, context));
      } else {
        call(fn, context);
      }
      return nullptr;
    } catch (...) {
      if constexpr (!std::is_void_v<E>) result.stored_error_.error_value.reset();
      return std::current_exception();
    }
  }

  template <class T, class E, class Error>
  static std::exception_ptr keep_error(RetryResult<T, E>& result, Error&& error) {
    result.stored_error_.error_value = std::make_shared<const E>(std::forward<Error>(error));
    return std::make_exception_ptr(FailedResult<E>{result.stored_error_.error_value});
  }

  /// The end of one call of a collection, added to what came before it.
  template <class T, class E>
  static void add(RetryResult<void, E>& all, const RetryResult<T, E>& one) {
    all.end = one.end;
    all.attempts += one.attempts;
    if (one.error) all.error = one.error;
    if (!all.callback_error || one.end == RetryEnd::callback_failed) all.callback_error = one.callback_error;
    if constexpr (!std::is_void_v<E>) {
      if (one.error) all.stored_error_ = one.stored_error_;
    }
  }
};

/// The condition's verdict on an exception.
template <class Condition>
RetryVerdict ask_about_exception(Condition& condition, const std::exception_ptr& error) {
  if constexpr (std::is_invocable_v<Condition&, const std::exception_ptr&>) {
    return condition(error);
  } else if constexpr (std::is_invocable_v<Condition&, const std::exception&>) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& exception) {
      return condition(exception);
    } catch (...) {
      return false;
    }
  } else {
    return false;
  }
}

template <class E, class Condition>
RetryVerdict ask_about_result(Condition& condition, const E& error_value, const std::exception_ptr& error) {
  if constexpr (std::is_invocable_v<Condition&, const E&>) {
    return condition(error_value);
  } else {
    return ask_about_exception(condition, error);
  }
}

template <class T, class E, class Condition>
RetryVerdict verdict_on(const RetryResult<T, E>& result, Condition& condition, const std::exception_ptr& error) {
  if constexpr (!std::is_void_v<E>) {
    if (const E* error_value = result.error_value()) {
      RetryVerdict verdict = ask_about_result(condition, *error_value, error);
      if constexpr (HasRetryAfter<E>) {
        if (!verdict.retry_after) verdict.retry_after = error_value->retry_after();
      }
      return verdict;
    }
  }
  return ask_about_exception(condition, error);
}

template <class E, class Condition>
constexpr bool takes_an_error() {
  if constexpr (!std::is_void_v<E>) {
    if (std::is_invocable_v<Condition&, const E&>) return true;
  }
  return std::is_invocable_v<Condition&, const std::exception_ptr&> ||
         std::is_invocable_v<Condition&, const std::exception&>;
}

/// `spent` is read and written: retries of the policy that are spent.
template <class Fn, class Condition>
auto run_retry(const CallPolicy& policy, Fn& fn, Condition& condition, const RetryOptions& options, int& spent) {
  using Traits = ResultTraits<CallResult<Fn>>;
  static_assert(takes_an_error<typename Traits::Error, Condition>(),
                "dogged: a condition takes a const std::exception&, a const std::exception_ptr&, or the error of an "
                "expected-like result");
  RetryResult<typename Traits::Value, typename Traits::Error> result;
  RetryLoop loop{policy, options, spent};
  const auto judge = [&](const std::exception_ptr& error) { return verdict_on(result, condition, error); };
  while (loop.begin_attempt()) {
    if (const std::exception_ptr error = ResultAccess::attempt(result, fn, loop.context())) {
      loop.failed(error, judge);
    } else {
      loop.succeeded();
    }
  }
  static_cast<RetrySummary&>(result) = loop.summary();
  spent = loop.spent();
  return result;
}

/// Asks whether a success wants more. Gives the reason if that ends the collection.
template <class Result, class Condition>
std::optional<RetryEnd> end_after_success(Result& result, Condition& success_condition) {
  try {
    result.next = success_condition(std::as_const(result.values).back());
  } catch (...) {
    result.callback_error = std::current_exception();
    return RetryEnd::callback_failed;
  }
  return result.next ? std::nullopt : std::optional{RetryEnd::succeeded};
}

template <class Input, class Fn, class SuccessCondition, class ErrorCondition>
auto run_collect(const CollectPolicies& policies, Fn& fn, SuccessCondition& success_condition,
                 ErrorCondition& error_condition, Input start, const RetryOptions& options) {
  using Traits = ResultTraits<CallResult<Fn, Input>>;
  static_assert(!std::is_void_v<typename Traits::Value>, "dogged: collect_and_retry needs a fn that gives a value");
  require_valid(policies);
  const auto began = now(options);
  CollectResult<typename Traits::Value, Input, typename Traits::Error> result;
  result.next.emplace(std::move(start));
  auto one_call = [&](const AttemptContext& context) -> decltype(auto) { return call(fn, context, *result.next); };
  int spent = 0;
  for (std::optional<RetryEnd> end; !end;) {
    if (policies.error_retries == ErrorRetries::per_input) spent = 0;
    auto one = run_retry(policies.errors, one_call, error_condition, options, spent);
    ResultAccess::add(result, one);
    end = one.end;
    if (one) {
      result.values.push_back(std::move(one).value());
      const int count = static_cast<int>(result.values.size());
      end = end_after_success(result, success_condition);
      if (!end) end = pause_after_success(policies, count, options, result);
    }
    if (end) result.end = *end;
  }
  result.elapsed = now(options) - began;
  return result;
}

}  // namespace dogged::detail
