// The types that producers and workers share: task keys, the options of a task, the errors that handlers throw, and the
// context that handlers get.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include <dogged/classification.hpp>
#include <dogged/codes.hpp>
#include <dogged/context.hpp>
#include <dogged/delay.hpp>
#include <dogged/detail/json_text.hpp>
#include <dogged/detail/names.hpp>
#include <dogged/error.hpp>
#include <dogged/task_id.hpp>
#include <dogged/task_options.hpp>
#include <dogged/unique.hpp>

namespace dogged {

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
[[noreturn]] inline void a_unique_task_is_by_up_to_16_json_pointers_and_its_times_are_more_than_0(
    std::string_view name) {
  throw InvalidInput("the task \"" + std::string{name.substr(0, limits::name_bytes)} +
                         "\" is unique by more than 16 or wrong JSON pointers, or for a time that is not more than 0",
                     "a JSON pointer is empty or begins with a slash");
}
[[noreturn]] inline void latest_needs_an_on_conflict_that_moves_the_run(std::string_view name) {
  throw InvalidInput("the task \"" + std::string{name.substr(0, limits::name_bytes)} +
                         "\" is unique with a latest time, and its on_conflict moves no run",
                     "leave latest out, or give reschedule, debounce or debounce_merge");
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
  /// stores it. A worker with an older key leaves the task to a worker that knows the version. A worker with a newer
  /// key calls TaskOptions::upgrade first. See docs/args.md.
  int version = 1;
  /// Whether at most one such task waits or runs, and what an enqueue does that meets it. Unset: each enqueue makes a
  /// task. EnqueueOptions::unique replaces it.
  std::optional<Unique> unique = {};
};

namespace limits {
inline constexpr int max_args_version = 32767;
inline constexpr milliseconds max_snooze = std::chrono::hours{24 * 365};
inline constexpr int max_snoozes = 1'000'000;
}  // namespace limits
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
  constexpr explicit Task(std::string_view name, KeyOptions options = {})
      DOGGED_REFUSE_IF_(!detail::is_valid_name(name),
                        "dogged: a name is 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit")
          DOGGED_REFUSE_IF_(options.queue && !detail::is_valid_name(*options.queue),
                            "dogged: a queue is 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit")
              DOGGED_REFUSE_IF_(!detail::is_valid_args_version(options.version),
                                "dogged: a version of args is 1 to 32767")
                  DOGGED_REFUSE_IF_(options.unique && !detail::is_valid_unique(*options.unique),
                                    "dogged: a unique task is by up to 16 JSON pointers, and its times are more than 0")
                      DOGGED_REFUSE_IF_(options.unique && !detail::is_valid_latest(*options.unique),
                                        "dogged: latest needs an on_conflict that moves the run: reschedule or "
                                        "debounce")
      : name_(name), queue_(options.queue), version_(options.version), unique_(options.unique) {
    if (!detail::is_valid_name(name)) {
      mistake::a_name_is_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash(name);
    }
    if (queue_ && !detail::is_valid_name(*queue_)) {
      mistake::a_queue_is_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash(*queue_);
    }
    if (!detail::is_valid_args_version(version_)) mistake::a_version_of_args_is_1_to_32767(version_);
    if (unique_ && !detail::is_valid_unique(*unique_)) {
      mistake::a_unique_task_is_by_up_to_16_json_pointers_and_its_times_are_more_than_0(name);
    }
    if (unique_ && !detail::is_valid_latest(*unique_)) {
      mistake::latest_needs_an_on_conflict_that_moves_the_run(name);
    }
  }

  [[nodiscard]] constexpr std::string_view name() const noexcept { return name_; }
  [[nodiscard]] constexpr std::optional<std::string_view> queue() const noexcept { return queue_; }
  [[nodiscard]] constexpr int version() const noexcept { return version_; }
  [[nodiscard]] constexpr const std::optional<Unique>& unique() const noexcept { return unique_; }

 private:
  std::string_view name_;  // a literal's: keys are constants
  std::optional<std::string_view> queue_;
  int version_;
  std::optional<Unique> unique_;
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

/// Thrown by a handler that cannot go on yet: the task runs again after `delay`, and no retry is spent.
///
///   if (!report.is_ready()) throw dogged::Snooze{10min, "the report is not ready"};
///
/// The outcome of the attempt is `snoozed`. A Snooze that is thrown after a timeout, a shutdown or the loss of the
/// lease counts as well; after a cancellation it does not. TaskOptions::max_snoozes limits how often a task may snooze.
class Snooze : public std::runtime_error {
 public:
  /// `delay` is 1 ms to 365 days. Another delay throws InvalidInput, which fails the attempt. `reason` is kept as the
  /// attempt's message, up to 64 KiB.
  explicit Snooze(milliseconds delay, std::string reason = {})
      : std::runtime_error(reason), delay_(checked(delay)), reason_(std::move(reason)) {}

  [[nodiscard]] milliseconds delay() const noexcept { return delay_; }
  /// The whole reason; what() ends at its first NUL.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  [[nodiscard]] static milliseconds checked(milliseconds delay) {
    if (delay >= limits::min_delay && delay <= limits::max_snooze) return delay;
    throw InvalidInput("a snooze of " + std::to_string(delay.count()) + " ms is not 1 ms to 365 days");
  }

  milliseconds delay_;
  std::string reason_;
};

}  // namespace dogged
