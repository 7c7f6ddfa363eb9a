// What producers and workers share: task keys, the options of a task, the errors that handlers throw, and the
// context that they are given.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include <dogged/circuit_breaker_settings.hpp>
#include <dogged/codes.hpp>
#include <dogged/detail/json_text.hpp>
#include <dogged/detail/names.hpp>
#include <dogged/error.hpp>
#include <dogged/json_pointers.hpp>
#include <dogged/policy.hpp>

namespace spdlog {
class logger;
}

namespace dogged {

class ExceptionMapper;

/// Identifies a task for its whole life; positive, given by the database in order of enqueueing.
using TaskId = std::int64_t;

namespace mistake {
/// Named after what went wrong, so that the compiler's "call to non-constexpr function" says it.
[[noreturn]] inline void a_name_is_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash(std::string_view name) {
  throw InvalidInput("the name \"" + std::string{name.substr(0, limits::name_bytes)} +
                     "\" is not 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit");
}
}  // namespace mistake

namespace detail {
template <class T>
concept FromJson = std::is_same_v<T, nlohmann::json> || requires(const nlohmann::json& json) {
  json.template get<T>();
};
template <class T>
concept ToJson = std::is_same_v<T, nlohmann::json> || requires(const T& value) {
  nlohmann::json(value);
};
}  // namespace detail

/// The key of a task: its name and the types of its args and its result. A constant in a header that producers and
/// workers share:
///
///   inline constexpr dogged::Task<Delivery, Receipt> deliver_webhook{"webhook.deliver"};
///
/// A bad name is refused: by the compiler in a constant, by InvalidInput at run time.
template <class Args, class Result = void>
class Task {
  static_assert(detail::ToJson<Args> && detail::FromJson<Args>,
                "dogged: the args of a task must convert to and from nlohmann::json: give the type to_json and "
                "from_json, for example with NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE");
  static_assert(std::is_void_v<Result> || detail::ToJson<Result>,
                "dogged: the result of a task must be void or convert to nlohmann::json: give the type to_json, for "
                "example with NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE");

 public:
  using args_type = Args;
  using result_type = Result;

  constexpr explicit Task(std::string_view name) : name_(name) {
    if (!detail::is_valid_name(name)) {
      mistake::a_name_is_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash(name);
    }
  }

  [[nodiscard]] constexpr std::string_view name() const noexcept { return name_; }

 private:
  std::string_view name_;  // a literal's: keys are constants
};

/// What TASK_REGISTER takes after the handler and the key, in this order.
struct TaskOptions {
  /// The queue of tasks that are enqueued without one. A worker creates it if it is new.
  std::string_view queue = "default";
  /// When to try again; matters only for codes in auto_retry_for.
  RetryPolicy retry = default_retry_policy;
  /// The error codes that are retried; `{"*"}` lists all. A failure with another code ends the task at once, as
  /// does any failure where the list is empty.
  ErrorCodes auto_retry_for = {};
  /// How long an attempt may take: Context::deadline() is this long after its start, and then its stop token is set. A
  /// handler that throws after that has timed out (TIMEOUT, retried where auto_retry_for lists it). One that still runs
  /// when the worker's --stop-grace is over as well is given up: its attempt has timed out, its later result is
  /// dropped, and its thread is replaced. 1 ms to 24 h; 0: no deadline.
  milliseconds timeout{0};
  /// Whether the task runs again after its worker died in an attempt. False for work that must not be repeated.
  bool retry_lost = true;
  /// A task that was lost with its worker this many times has failed for good. 1 to 100.
  int max_losses = 3;
  /// What becomes of a task that fails for good: kept as a dead letter (its status is `failed`), with its args and last
  /// error, until someone replays or purges it; or, if false, `discarded`: it goes the way of tasks that have
  /// succeeded.
  bool dead_letter = true;
  /// Codes for what the handler throws besides TaskError: a function that gives the mapper, which must live as long as
  /// the program (a static of the function). Null: the one that worker_main was given, without which some of the
  /// standard library's have codes (<dogged/exception_mapper.hpp>) and all others UNHANDLED_EXCEPTION.
  const ExceptionMapper& (*exceptions)() = nullptr;
  /// A circuit breaker that all tasks of this name share, on all workers, through the database: for what they call. It
  /// opens after failures in a row with codes of auto_retry_for; then the tasks are put off, at no cost of an attempt,
  /// until a few find out that it works again. `dogged circuits` shows and changes it. Empty: none.
  std::string_view circuit = {};
  /// Of that circuit; where programs differ, those of the worker that started last.
  CircuitBreakerSettings circuit_settings = {};
  /// JSON pointers (RFC 6901) to what nobody shall see who looks at tasks: the command line and the views show
  /// "[redacted]" there, in args and in results; {""} hides both whole. It is stored as it is, and the handler gets it.
  /// At most 16, of at most 256 bytes. docs/roles.md says what this does not hide.
  JsonPointers redact = {};
};

/// Thrown by a handler to fail its attempt with a code. The code decides whether the task is retried.
///
///   throw dogged::TaskError{"HTTP_429", "too many requests"}.retry_after(30s);
class TaskError : public std::runtime_error {
 public:
  /// `code` is UPPER_SNAKE, 1 to 64 bytes; another one throws std::invalid_argument, which fails the attempt with
  /// UNHANDLED_EXCEPTION and says both. `message` is kept up to 64 KiB.
  TaskError(std::string code, std::string message)
      : std::runtime_error(message), code_(std::move(code)), message_(std::move(message)) {
    if (!detail::is_valid_error_code(code_)) {
      throw std::invalid_argument(
          "the error code \"" + code_.substr(0, limits::error_code_bytes) +
          "\" is not 1 to 64 of A-Z 0-9 _ beginning with a letter; its message was: " + message_);
    }
  }

  /// Replaces the policy's delay if the task is retried: no jitter, no max_delay, but cut to 1 ms .. 24 h.
  TaskError& retry_after(milliseconds delay) & noexcept {
    retry_after_ = delay;
    return *this;
  }
  TaskError&& retry_after(milliseconds delay) && noexcept { return std::move(retry_after(delay)); }

  /// Anything that helps to understand the failure; kept as JSON in the attempt's error_details, up to 64 KiB. What
  /// JSON or PostgreSQL cannot hold is replaced by a note that says where it was.
  TaskError& details(const nlohmann::json& details) & {
    details_ = detail::details_to_json_text(details);
    return *this;
  }
  TaskError&& details(const nlohmann::json& json) && { return std::move(details(json)); }

  [[nodiscard]] const std::string& code() const noexcept { return code_; }
  /// The whole message; what() ends at its first NUL.
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  [[nodiscard]] std::optional<milliseconds> retry_after() const noexcept { return retry_after_; }
  /// JSON text; empty if there are none.
  [[nodiscard]] const std::string& details_json() const noexcept { return details_; }

 private:
  std::string code_;
  std::string message_;
  std::optional<milliseconds> retry_after_;
  std::string details_;
};

/// Why a handler's stop token was set.
enum class StopReason {
  none,        ///< it was not
  timeout,     ///< TaskOptions::timeout is over
  cancelled,   ///< dogged.cancel or `dogged tasks cancel`
  shutdown,    ///< the worker stops, and its grace period is over
  lease_lost,  ///< the worker could not renew its lease in time: the task may run elsewhere by now
};

/// What a handler knows of its attempt. Lives as long as the handler runs; its members may be called from any
/// thread that the handler starts and joins.
class Context {
 public:
  using Clock = std::chrono::steady_clock;

  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  virtual ~Context() = default;

  [[nodiscard]] virtual TaskId task_id() const noexcept = 0;
  /// The number of this attempt, from 1, counted over the whole life of the task.
  [[nodiscard]] virtual int attempt() const noexcept = 0;
  /// Retries spent before this attempt.
  [[nodiscard]] virtual int retry_count() const noexcept = 0;
  [[nodiscard]] virtual std::string_view task_name() const noexcept = 0;
  [[nodiscard]] virtual std::string_view queue() const noexcept = 0;
  /// What the producer gave as EnqueueOptions::trace_context, empty if nothing.
  [[nodiscard]] virtual std::string_view trace_context() const noexcept = 0;
  /// The end of TaskOptions::timeout, Clock::time_point::max() where there is none. Give what is left of it to the
  /// calls you make.
  [[nodiscard]] virtual Clock::time_point deadline() const noexcept = 0;
  /// Asked to stop for one of the reasons of StopReason. A handler that returns all the same has succeeded, and its
  /// result is kept. One that throws then, whatever it throws, is recorded by the reason: timed out, cancelled, or
  /// interrupted (shutdown and lease_lost: no retry is spent, and the task runs again at once). One that does neither
  /// within the worker's --stop-grace (5 s unless said) is given up: the attempt is ended so without it, its later
  /// result is dropped, and after a shutdown its process ends, perhaps an instant after the task has begun again
  /// elsewhere.
  [[nodiscard]] virtual std::stop_token stop_token() const noexcept = 0;
  /// The first reason for which the stop token was set.
  [[nodiscard]] virtual StopReason stop_reason() const noexcept = 0;
  /// Ends the attempt as succeeded within `transaction`, a libpqxx transaction of the handler's own on the queue's
  /// database: what the handler writes in it and the end of the attempt commit together, or neither does. Include
  /// <dogged/transaction.hpp>, which says more, to call it. `result` where the task has one.
  template <class Transaction, class... Result>
  void complete_in(Transaction& transaction, const Result&... result);
  /// A logger whose lines carry the task's id, name and attempt. Include <spdlog/spdlog.h> to use it
  /// (<dogged/worker.hpp> does).
  [[nodiscard]] virtual spdlog::logger& log() const = 0;

  /// Who holds the attempt: what complete_in sends.
  struct Completion {
    TaskId task_id = 0;
    int attempt = 0;
    std::int64_t worker_id = 0;
    std::string schema;
    std::chrono::microseconds running_for{0};
    std::size_t max_result_bytes = 0;
  };
  /// For complete_in. From now on the attempt's end is taken to be in a transaction of the handler's: if the task is
  /// still held when the handler ends, the attempt has failed with NOT_COMMITTED.
  [[nodiscard]] virtual Completion begin_completion() = 0;

 protected:
  Context() = default;
};

}  // namespace dogged
