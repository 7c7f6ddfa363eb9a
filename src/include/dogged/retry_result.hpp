// How a retry ended: the reason, the number of attempts, the time, and the value or the last error. The functions of
// <dogged/retry.hpp> return it.
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <dogged/error.hpp>
#include <dogged/policy.hpp>

namespace dogged {

/// Why no further attempt was made. If several reasons hold, the first of stopped, callback_failed, not_retryable,
/// retries_spent, deadline, budget_spent.
enum class RetryEnd {
  succeeded,
  not_retryable,    ///< the condition said no
  retries_spent,    ///< the policy has no further retry
  deadline,         ///< RetryOptions::deadline is over, or the next wait would not end before it
  stopped,          ///< RetryOptions::stop was set, or the wait returned false
  circuit_open,     ///< the circuit breaker refused the next attempt
  budget_spent,     ///< RetryOptions::budget has no room for another retry
  callback_failed,  ///< condition, retry_after_of, draw or wait threw: RetrySummary::callback_error
};
/// `succeeded`, `not_retryable`, …
[[nodiscard]] std::string_view to_text(RetryEnd end) noexcept;

/// The state of a retry, for hooks; and how it ended.
struct RetrySummary {
  RetryEnd end = RetryEnd::succeeded;   ///< not yet known in on_retry
  int attempts = 0;                     ///< calls of fn
  std::chrono::nanoseconds elapsed{0};  ///< since the beginning, waits included
  /// The last failure: what fn threw, or a FailedResult for an expected-like result. If it came after the attempt's
  /// time, it is an AttemptTimeout that nests it. Null if no attempt failed. A success keeps it.
  std::exception_ptr error = {};
  /// The exception that ended the retry as callback_failed; else the first exception of a hook. callback_error never
  /// replaces `error`.
  std::exception_ptr callback_error = {};
};

/// Thrown by RetryResult::value if there is no value and no attempt failed. The retry was stopped, past its deadline or
/// refused by the circuit breaker before the first attempt.
class RetryEnded : public Error {
 public:
  explicit RetryEnded(RetryEnd end);
  [[nodiscard]] RetryEnd end() const noexcept { return end_; }

 private:
  RetryEnd end_;
};

/// An attempt failed after its RetryOptions::attempt_timeout. The exception nests the failure (std::rethrow_if_nested).
class AttemptTimeout : public Error {
 public:
  AttemptTimeout(int attempt, milliseconds timeout);
};

/// An expected-like result's error, as an exception. what() is the error's text if it converts to std::string_view.
template <class E>
class FailedResult : public Error {
 public:
  explicit FailedResult(std::shared_ptr<const E> error) : Error(text_of(*error)), error_(std::move(error)) {}
  [[nodiscard]] const E& error() const noexcept { return *error_; }

 private:
  static std::string text_of(const E& error) {
    if constexpr (std::is_convertible_v<const E&, std::string_view>) {
      return std::string{std::string_view(error)};
    } else {
      return "the call returned an error";
    }
  }

  std::shared_ptr<const E> error_;  // exceptions are copied, and E may be a type that cannot be
};

namespace detail {
template <class T>
struct Stored {
  std::optional<T> value;
};
template <>
struct Stored<void> {};

template <class E>
struct StoredError {
  std::shared_ptr<const E> error_value;
};
template <>
struct StoredError<void> {};

struct ResultAccess;  // fills it
}  // namespace detail

/// How a retry ended. `T` is what fn returns (a reference is copied), or what its expected-like result holds. `E`
/// is the error type of that result, else void.
template <class T, class E = void>
class [[nodiscard]] RetryResult : public RetrySummary {
 public:
  [[nodiscard]] bool succeeded() const noexcept { return end == RetryEnd::succeeded; }
  [[nodiscard]] explicit operator bool() const noexcept { return succeeded(); }

  /// The value of the attempt that succeeded. Without one, throws `error`, or RetryEnded if `error` is null.
  decltype(auto) value() & { return value_of(stored_); }
  decltype(auto) value() const& { return value_of(stored_); }
  decltype(auto) value() && { return value_of(std::move(stored_)); }

  /// The last error of an expected-like result; null if none was returned, or if fn threw after it.
  [[nodiscard]] const E* error_value() const noexcept requires(!std::is_void_v<E>) {
    return stored_error_.error_value.get();
  }

 private:
  friend detail::ResultAccess;

  template <class S>
  decltype(auto) value_of(S&& stored) const {
    if (!succeeded()) throw_error();
    if constexpr (!std::is_void_v<T>) return *std::forward<S>(stored).value;
  }
  [[noreturn]] void throw_error() const {
    if (error) std::rethrow_exception(error);
    throw RetryEnded{end};
  }

  detail::Stored<T> stored_;
  detail::StoredError<E> stored_error_;
};

/// How collect_and_retry ended, with the values up to its end. `next` is the input without an answer, from which to
/// continue later; nothing after a success. After callback_failed it may be the input of the last value, because the
/// success_condition that threw has not said what comes next.
template <class T, class Input, class E = void>
class [[nodiscard]] CollectResult : public RetryResult<void, E> {
 public:
  std::vector<T> values;
  std::optional<Input> next;
};

}  // namespace dogged
