// The types that producers and workers share: task keys, the options of a task, the errors that handlers throw, and the
// context that handlers get.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <dogged/circuit_breaker_settings.hpp>
#include <dogged/classification.hpp>
#include <dogged/codes.hpp>
#include <dogged/detail/attempt_values.hpp>
#include <dogged/detail/json_text.hpp>
#include <dogged/detail/names.hpp>
#include <dogged/error.hpp>
#include <dogged/json_pointers.hpp>
#include <dogged/policy.hpp>
#include <dogged/trace_context.hpp>

namespace spdlog {
class logger;
}

namespace dogged {

class ExceptionMapper;
class Middleware;

/// Hooks around handlers (<dogged/middleware.hpp>), the outermost first.
using Middlewares = std::vector<std::shared_ptr<Middleware>>;

/// Identifies a task for its whole life; positive. The database gives ids in the order of enqueueing.
using TaskId = std::int64_t;

namespace mistake {
/// Named after the mistake, so that the compiler's "call to non-constexpr function" says it.
[[noreturn]] inline void a_name_is_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash(std::string_view name) {
  throw InvalidInput("the name \"" + std::string{name.substr(0, limits::name_bytes)} +
                     "\" is not 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit");
}
[[noreturn]] inline void a_queue_is_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash(std::string_view name) {
  throw InvalidInput("the queue \"" + std::string{name.substr(0, limits::name_bytes)} +
                     "\" of a task's key is not 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit");
}
[[noreturn]] inline void a_version_of_args_is_1_to_32767(int version) {
  throw InvalidInput("the version " + std::to_string(version) + " of a task's key is not 1 to 32767");
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

/// The options of a task's key, besides its name.
struct KeyOptions {
  /// The queue of the task, for producers and workers alike: producers enqueue to it and workers serve it. The first of
  /// them to be deployed creates the queue. Unset: TaskOptions::queue, which a producer knows only once a worker has
  /// started.
  std::optional<std::string_view> queue = {};
  /// The version of Args, 1 to 32767. Raise it with each change that an older worker would not understand. Each task
  /// stores it. A worker with an older key leaves the task to a worker that knows the version; a worker with a newer
  /// key calls TaskOptions::upgrade first. See docs/args.md.
  int version = 1;
};

namespace limits {
inline constexpr int max_args_version = 32767;
}
namespace detail {
constexpr bool is_valid_args_version(int version) noexcept {
  return version >= 1 && version <= limits::max_args_version;
}
}  // namespace detail

/// The key of a task: its name, its queue, and the types of its args and its result. A constant in a header that
/// producers and workers share:
///
///   inline constexpr dogged::Task<Delivery, Receipt> deliver_webhook{"webhook.deliver", {.queue = "webhooks"}};
///
/// A bad name is refused: by the compiler in a constant, by InvalidInput at run time.
template <class Args, class Result = void>
class Task {
  static_assert(detail::ToJson<Args> && detail::FromJson<Args>,
                "dogged: the args of a task must convert to and from nlohmann::json: give the type to_json and "
                "from_json, for example with NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT");
  static_assert(std::is_void_v<Result> || detail::ToJson<Result>,
                "dogged: the result of a task must be void or convert to nlohmann::json: give the type to_json, for "
                "example with NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT");

 public:
  using args_type = Args;
  using result_type = Result;

  constexpr explicit Task(std::string_view name, KeyOptions options = {})
      DOGGED_REFUSE_IF_(!detail::is_valid_name(name),
                        "dogged: a name is 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit")
          DOGGED_REFUSE_IF_(options.queue && !detail::is_valid_name(*options.queue),
                            "dogged: a queue is 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit")
              DOGGED_REFUSE_IF_(!detail::is_valid_args_version(options.version),
                                "dogged: a version of args is 1 to 32767")
      : name_(name), queue_(options.queue), version_(options.version) {
    if (!detail::is_valid_name(name)) {
      mistake::a_name_is_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash(name);
    }
    if (queue_ && !detail::is_valid_name(*queue_)) {
      mistake::a_queue_is_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash(*queue_);
    }
    if (!detail::is_valid_args_version(version_)) mistake::a_version_of_args_is_1_to_32767(version_);
  }

  [[nodiscard]] constexpr std::string_view name() const noexcept { return name_; }
  [[nodiscard]] constexpr std::optional<std::string_view> queue() const noexcept { return queue_; }
  [[nodiscard]] constexpr int version() const noexcept { return version_; }

 private:
  std::string_view name_;  // a literal's: keys are constants
  std::optional<std::string_view> queue_;
  int version_;
};

/// The options of TASK_REGISTER, after the handler and the key, in this order.
struct TaskOptions {
  /// The queue of tasks that are enqueued without one. A worker creates it if it is new. Unset: the queue that the key
  /// names (KeyOptions::queue), else "default". A worker refuses to start if it differs from the key's.
  std::optional<std::string_view> queue = {};
  /// When to retry; matters only for codes in auto_retry_for.
  RetryPolicy retry = default_retry_policy;
  /// The error codes that are retried; `{"*"}` lists all. A failure with another code ends the task at once; with an
  /// empty list every failure does.
  ErrorCodes auto_retry_for = {};
  /// How long an attempt may take. Context::deadline() is this long after the start, and then the stop token is set. A
  /// handler that throws after that has timed out (TIMEOUT, retried if auto_retry_for lists it). A handler that still
  /// runs when the worker's --stop-grace is over too is given up. Then the attempt has timed out, the handler's later
  /// result is dropped, and its thread is replaced. 1 ms to 24 h; 0: no deadline.
  milliseconds timeout{0};
  /// Whether the task runs again if its worker died during an attempt. False for work that must not be repeated.
  bool retry_lost = true;
  /// A task that was lost with its worker this many times has failed for good. 1 to 100.
  int max_losses = 3;
  /// Whether a task that fails for good becomes a dead letter. True: its status is `failed`, and it keeps its args and
  /// last error until an operator replays or purges it. False: its status is `discarded`, and it is kept as long as
  /// tasks that have succeeded.
  bool dead_letter = true;
  /// Codes for exceptions of the handler other than TaskError. The function gives the mapper, which must live as long
  /// as the program: a static of the function. Null: WorkerOptions::exceptions. Without a mapper, some exceptions of
  /// the standard library have codes (<dogged/exception_mapper.hpp>), and all others UNHANDLED_EXCEPTION.
  const ExceptionMapper& (*exceptions)() = nullptr;
  /// Hooks around this task's handler, inside those of the worker (WorkerOptions::middleware). The function gives the
  /// hooks, which must live as long as the program: a static of the function. Null: none.
  const Middlewares& (*middleware)() = nullptr;
  /// A circuit breaker that all tasks of this name share, on all workers, through the database. The circuit protects a
  /// service that the tasks call. Failures in a row with codes of auto_retry_for open it. Then the tasks are deferred,
  /// at no cost of an attempt, until probes succeed. `dogged circuits` shows and changes it. Empty: none.
  std::string_view circuit = {};
  /// The settings of that circuit. If programs differ, those of the worker that started last count.
  CircuitBreakerSettings circuit_settings = {};
  /// JSON pointers (RFC 6901) to values of args and results that must not be shown. The command line and the views show
  /// "[redacted]" there. {""} hides args and results whole. The values are stored as they are, and the handler gets
  /// them. At most 16, of at most 256 bytes. docs/roles.md says what this does not hide.
  JsonPointers redact = {};
  /// The handler must end its attempt by Context::complete_in: a handler that returns without it has failed with
  /// NOT_COMMITTED. For handlers that write in a transaction. A handler that forgets complete_in would otherwise
  /// succeed, although its writes are rolled back.
  bool completes_in_transaction = false;
  /// Brings args of an older version, `version`, to the version of the task's key (KeyOptions::version); from_json
  /// reads the result. An exception fails the attempt with INVALID_ARGS, a TaskError with its own code. The stored args
  /// stay as they are. Null: from_json reads args of every older version as they are.
  nlohmann::json (*upgrade)(nlohmann::json args, int version) = nullptr;
};

/// Thrown by a handler to fail its attempt with a code. The code decides whether the task is retried.
///
///   throw dogged::TaskError{"HTTP_429", "too many requests"}.retry_after(30s);
///   throw dogged::TaskError{dogged::classify_http(response.status), "the shop did not answer"};
class TaskError : public std::runtime_error {
 public:
  /// `code` is UPPER_SNAKE, 1 to 64 bytes. Another text throws std::invalid_argument, which fails the attempt with
  /// UNHANDLED_EXCEPTION and a message that says both. `message` is kept up to 64 KiB.
  TaskError(std::string_view code, std::string message)
      : std::runtime_error(message), code_(checked(code, message)), message_(std::move(message)) {}

  /// With the code and the wait of the failure.
  TaskError(const Classification& failure, std::string message)
      : std::runtime_error(message),
        code_(failure.code),
        message_(std::move(message)),
        retry_after_(failure.retry_after),
        precision_(failure.precision) {}

  /// Replaces the policy's delay if the task is retried: no jitter of the policy, no max_delay, but cut to 1 ms .. 24
  /// h.
  TaskError& retry_after(milliseconds delay, Precision precision = Precision::exact) & noexcept {
    retry_after_ = delay;
    precision_ = precision;
    return *this;
  }
  TaskError&& retry_after(milliseconds delay, Precision precision = Precision::exact) && noexcept {
    return std::move(retry_after(delay, precision));
  }

  /// Anything that helps to understand the failure. Kept as JSON in the attempt's error_details, up to 64 KiB. A value
  /// that JSON or PostgreSQL cannot hold is replaced by a note that says where it was.
  TaskError& details(const nlohmann::json& details) & {
    details_ = detail::details_to_json_text(details);
    return *this;
  }
  TaskError&& details(const nlohmann::json& json) && { return std::move(details(json)); }

  [[nodiscard]] const ErrorCode& code() const noexcept { return code_; }
  /// The whole message; what() ends at its first NUL.
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  [[nodiscard]] std::optional<milliseconds> retry_after() const noexcept { return retry_after_; }
  [[nodiscard]] Precision precision() const noexcept { return precision_; }  ///< of retry_after
  /// JSON text; empty if there are none.
  [[nodiscard]] const std::string& details_json() const noexcept { return details_; }

 private:
  [[nodiscard]] static ErrorCode checked(std::string_view code, const std::string& message) {
    if (const auto valid = ErrorCode::from_text(code)) return *valid;
    throw std::invalid_argument("the error code \"" + std::string{code.substr(0, limits::error_code_bytes)} +
                                "\" is not 1 to 64 of A-Z 0-9 _ beginning with a letter; its message was: " + message);
  }

  ErrorCode code_;
  std::string message_;
  std::optional<milliseconds> retry_after_;
  Precision precision_ = Precision::exact;
  std::string details_;
};

/// Why a handler's stop token was set.
enum class StopReason {
  none,        ///< it was not set
  timeout,     ///< TaskOptions::timeout is over
  cancelled,   ///< dogged.cancel or `dogged tasks cancel`
  shutdown,    ///< the worker stops, and its grace period is over
  lease_lost,  ///< the worker could not renew its lease in time: the task may run elsewhere by now
};

/// The attempt as its handler sees it. A context lives as long as the handler and the hooks around it run. Any thread
/// that the handler starts and joins may call the members, except local().
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
  /// The args as stored, as JSON text: for hooks. A handler gets them in its own type.
  [[nodiscard]] virtual std::string_view args_json() const noexcept = 0;
  /// EnqueueOptions::trace_context of the producer; empty if it gave none.
  [[nodiscard]] virtual std::string_view trace_context() const noexcept = 0;
  /// The span that calls of this attempt belong under: the attempt's own if the worker traces (docs/tracing.md), else
  /// the producer's. Tasks that the handler enqueues on its own thread get it as their trace_context. Nothing if the
  /// worker does not trace, and the producer gave none that is a W3C traceparent.
  [[nodiscard]] virtual std::optional<TraceContext> trace() const { return TraceContext::from_text(trace_context()); }
  /// How the worker connects to the queue's database, for a connection of the handler's own (complete_in). A connection
  /// string or URI of libpq, with its password: do not log it. Empty: libpq's PG* variables name the database.
  [[nodiscard]] virtual const std::string& database_url() const noexcept = 0;
  /// The end of TaskOptions::timeout, Clock::time_point::max() if there is none. Pass on what is left of it to your own
  /// calls.
  [[nodiscard]] virtual Clock::time_point deadline() const noexcept = 0;
  /// The clock that deadline() goes by: Clock::now(), and in a test the virtual time (<dogged/testing.hpp>).
  [[nodiscard]] virtual Clock::time_point now() const noexcept = 0;
  /// Waits for `time` or until the handler is asked to stop; false if it is. In a test the time passes at once. The
  /// handler's thread is occupied meanwhile: wait for seconds, as between two polls, not longer.
  virtual bool wait_for(milliseconds time) = 0;
  /// Set for one of the reasons of StopReason. A handler that returns after that has succeeded, and its result is kept.
  /// If the handler throws any exception after that, the reason decides the outcome: timed out, cancelled, or
  /// interrupted. After shutdown and lease_lost the outcome is interrupted: no retry is spent, and the task runs again
  /// at once.
  /// A handler that neither returns nor throws within the worker's --stop-grace (5 s by default) is given up. Then the
  /// attempt ends without the handler, and the handler's later result is dropped. After a shutdown the worker's process
  /// ends, perhaps an instant after the task has begun again elsewhere.
  [[nodiscard]] virtual std::stop_token stop_token() const noexcept = 0;
  /// The first reason for which the stop token was set.
  [[nodiscard]] virtual StopReason stop_reason() const noexcept = 0;
  /// Ends the attempt as succeeded within `transaction`, a libpqxx transaction of the handler's own on the queue's
  /// database. The writes of the handler in it and the end of the attempt commit together, or neither does. `result` if
  /// the task has one; in Middleware::after without it, for the result that the handler has returned. Include
  /// <dogged/transaction.hpp>, which says more.
  template <class Transaction, class... Result>
  void complete_in(Transaction& transaction, const Result&... result);
  /// A logger whose lines carry the task's id, name and attempt. A message is one line: its control characters are
  /// escaped. Include <spdlog/spdlog.h> to use it (<dogged/worker.hpp> does).
  [[nodiscard]] virtual spdlog::logger& log() const = 0;

  /// The T of this attempt, made by T{} at the first call: for values that hooks and the handler share, such as the
  /// tenant. The values of an attempt are destroyed after its last hook, the latest first. On the thread of the handler
  /// only.
  template <class T>
  [[nodiscard]] T& local() {
    return locals_.get<T>();
  }

  /// Identifies the attempt for complete_in.
  struct Completion {
    TaskId task_id = 0;
    int attempt = 0;
    std::int64_t worker_id = 0;
    std::string schema;
    std::chrono::microseconds running_for{0};
    std::size_t max_result_bytes = 0;
    std::string returned_json = {};  ///< the result that the handler has returned; empty before, and if it has none
  };
  /// For complete_in. From now on the worker expects the attempt's end in a transaction of the handler. If the worker
  /// still holds the task when the handler ends, the attempt has failed with NOT_COMMITTED.
  [[nodiscard]] virtual Completion begin_completion() = 0;

 protected:
  Context() = default;

 private:
  detail::AttemptValues locals_;
};

}  // namespace dogged
