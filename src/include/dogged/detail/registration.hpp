// How TASK_REGISTER reaches worker_main. The compiler checks the options, and the handler's types are erased to JSON
// text. Static initialisers append to a list that cannot throw before main.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <dogged/detail/cut_for_message.hpp>
#include <dogged/detail/json_text.hpp>
#include <dogged/detail/policy_rules.hpp>
#include <dogged/detail/refused.hpp>
#include <dogged/detail/registered_task.hpp>
#include <dogged/task.hpp>

namespace dogged {

namespace mistake {
/// The rules of TaskOptions. The compiler's messages show the names, see detail/refused.hpp.
enum class Option {
  queue_is_not_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash,
  auto_retry_for_has_more_than_64_codes,
  auto_retry_for_has_a_code_that_is_not_UPPER_SNAKE_of_1_to_64_bytes,
  timeout_is_not_between_1ms_and_24h,
  max_losses_is_not_between_1_and_100,
  max_snoozes_is_not_between_0_and_1000000,
  circuit_is_not_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash,
  circuit_settings_are_given_without_circuit,
  circuit_settings_failure_threshold_is_not_between_1_and_1000,
  circuit_settings_recovery_timeout_is_not_between_1ms_and_24h,
  circuit_settings_success_threshold_is_not_between_1_and_1000,
  redact_has_more_than_16_json_pointers,
  redact_has_a_text_that_is_no_json_pointer_of_at_most_256_bytes_beginning_with_a_slash,
};
}  // namespace mistake

namespace detail {

inline constexpr milliseconds max_timeout = std::chrono::hours{24};

/// An option that breaks a rule, and the value that it has.
struct OptionMistake {
  mistake::Option rule;
  std::variant<std::monostate, std::string_view, std::int64_t, milliseconds> value = {};
};

using MaybeOptionMistake = std::optional<OptionMistake>;

constexpr MaybeOptionMistake check_threshold(mistake::Option rule, int threshold) {
  if (threshold >= 1 && threshold <= limits::max_breaker_threshold) return std::nullopt;
  return OptionMistake{rule, std::int64_t{threshold}};
}

/// As require_valid(CircuitBreakerSettings), for the compiler.
constexpr MaybeOptionMistake check_circuit(const TaskOptions& options) {
  using enum mistake::Option;
  const CircuitBreakerSettings& settings = options.circuit_settings;
  if (options.circuit.empty()) {
    if (settings == CircuitBreakerSettings{}) return std::nullopt;
    return OptionMistake{circuit_settings_are_given_without_circuit};
  }
  if (!is_valid_name(options.circuit)) {
    return OptionMistake{circuit_is_not_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash, options.circuit};
  }
  if (auto mistake =
          check_threshold(circuit_settings_failure_threshold_is_not_between_1_and_1000, settings.failure_threshold)) {
    return mistake;
  }
  if (settings.recovery_timeout < limits::min_delay || settings.recovery_timeout > limits::max_delay) {
    return OptionMistake{circuit_settings_recovery_timeout_is_not_between_1ms_and_24h, settings.recovery_timeout};
  }
  return check_threshold(circuit_settings_success_threshold_is_not_between_1_and_1000, settings.success_threshold);
}

constexpr MaybeOptionMistake check_codes(const ErrorCodes& codes) {
  using enum mistake::Option;
  if (codes.size() > ErrorCodes::max_size) {
    return OptionMistake{auto_retry_for_has_more_than_64_codes, static_cast<std::int64_t>(codes.size())};
  }
  for (std::string_view code : codes) {
    if (code != codes::any && !is_valid_error_code(code)) {
      return OptionMistake{auto_retry_for_has_a_code_that_is_not_UPPER_SNAKE_of_1_to_64_bytes, code};
    }
  }
  return std::nullopt;
}

constexpr MaybeOptionMistake check_redact(const JsonPointers& redact) {
  using enum mistake::Option;
  if (redact.size() > JsonPointers::max_size) {
    return OptionMistake{redact_has_more_than_16_json_pointers, static_cast<std::int64_t>(redact.size())};
  }
  for (std::string_view pointer : redact) {
    if (!is_valid_json_pointer(pointer)) {
      return OptionMistake{redact_has_a_text_that_is_no_json_pointer_of_at_most_256_bytes_beginning_with_a_slash,
                           pointer};
    }
  }
  return std::nullopt;
}

/// The first option that breaks a rule, besides `retry`.
constexpr MaybeOptionMistake find_option_mistake(const TaskOptions& options) {
  using enum mistake::Option;
  if (options.queue && !is_valid_name(*options.queue)) {
    return OptionMistake{queue_is_not_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash, *options.queue};
  }
  if (auto mistake = check_codes(options.auto_retry_for)) return mistake;
  if (options.timeout < milliseconds{0} || options.timeout > max_timeout) {
    return OptionMistake{timeout_is_not_between_1ms_and_24h, options.timeout};
  }
  if (options.max_losses < 1 || options.max_losses > 100) {
    return OptionMistake{max_losses_is_not_between_1_and_100, std::int64_t{options.max_losses}};
  }
  if (options.max_snoozes < 0 || options.max_snoozes > limits::max_snoozes) {
    return OptionMistake{max_snoozes_is_not_between_0_and_1000000, std::int64_t{options.max_snoozes}};
  }
  if (auto mistake = check_circuit(options)) return mistake;
  return check_redact(options.redact);
}

constexpr MaybeMistake find_retry_mistake(const TaskOptions& options) { return find_mistake(options.retry); }

/// The args are not what the handler's payload type takes.
class InvalidArgs : public std::runtime_error {
 public:
  explicit InvalidArgs(JsonMistake mistake)
      : std::runtime_error(text_of(mistake.pointer, mistake.reason)), mistake_(std::move(mistake)) {}
  /// The message of the program's own from_json.
  explicit InvalidArgs(const std::string& message) : std::runtime_error(message) {}

  [[nodiscard]] const std::string& pointer() const noexcept { return mistake_.pointer; }
  /// what(), with `pointer` in place of pointer().
  [[nodiscard]] std::string message_at(std::string_view pointer) const {
    return mistake_.reason.empty() ? what() : text_of(pointer, mistake_.reason);
  }

 private:
  static std::string text_of(std::string_view pointer, const std::string& reason) {
    return "the args do not fit at " + (pointer.empty() ? "their top" : cut_for_message(pointer)) + ": " + reason;
  }

  JsonMistake mistake_;
};

/// The handler ended well, but what it returned cannot be stored as JSON.
class InvalidResult : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// KeyOptions::version, and TaskOptions::upgrade.
struct ArgsVersion {
  int number = 1;
  nlohmann::json (*upgrade)(nlohmann::json args, int version) = nullptr;
};

template <class Args>
[[nodiscard]] Args parse_args(const StoredArgs& args, const ArgsVersion& of_key = {}) {
  try {
    nlohmann::json json = nlohmann::json::parse(args.json);
    const bool is_older = args.version != 0 && args.version < of_key.number;
    if (is_older && of_key.upgrade != nullptr) json = of_key.upgrade(std::move(json), args.version);
    if constexpr (std::is_same_v<Args, nlohmann::json>) {
      return json;
    } else {
      return json.get<Args>();
    }
  } catch (const nlohmann::json::exception& error) {
    throw InvalidArgs(describe_json_error(error.id, error.what()));
  } catch (const TaskError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;                                 // not the args' fault: another attempt may have the memory
  } catch (const std::exception& error) {  // a from_json that checks more than types
    throw InvalidArgs(std::string{error.what()});
  }
}

template <class Args, class Result, class Handler>
[[nodiscard]] ErasedHandler erase_handler(Handler handler, ArgsVersion of_key = {}) {
  return [handler, of_key](Context& context, const StoredArgs& stored) -> std::string {
    const Args args = parse_args<Args>(stored, of_key);
    if constexpr (std::is_void_v<Result>) {
      handler(context, args);
      return {};
    } else {
      const Result result = handler(context, args);
      try {
        return to_json_text({"the result"}, result);
      } catch (const std::invalid_argument& error) {
        throw InvalidResult(error.what());
      }
    }
  };
}

/// Refuses, by the compiler, a handler that does not fit the task.
template <class Handler, class Args, class Result>
[[nodiscard]] ErasedHandler checked_handler(Handler handler, const Task<Args, Result>& task,
                                            const TaskOptions& options) {
  constexpr bool takes_args = std::is_invocable_v<Handler&, Context&, const Args&>;
  static_assert(takes_args,
                "dogged: the handler must be callable as handler(dogged::Context&, const Args&), Args being the "
                "args type of its dogged::Task");
  if constexpr (takes_args) {
    using Returned = std::invoke_result_t<Handler&, Context&, const Args&>;
    constexpr bool gives_result = std::is_void_v<Result>
                                      ? std::is_void_v<Returned>
                                      : !std::is_void_v<Returned> && std::is_convertible_v<Returned, Result>;
    static_assert(gives_result,
                  "dogged: the handler's return type must be the result type of its dogged::Task (void if it has "
                  "none)");
    if constexpr (gives_result)
      return erase_handler<Args, Result>(std::move(handler), {task.version(), options.upgrade});
  }
  return {};
}

class Registration {
 public:
  template <class Handler, class Args, class Result>
  Registration(Handler handler, const Task<Args, Result>& task, const TaskOptions& options) noexcept {
    append_registration(task.name(), task.queue(), options, checked_handler(std::move(handler), task, options),
                        task.version());
  }

  template <class Handler, class Other>
  Registration(const Handler&, const Other&, const TaskOptions&) noexcept {
    static_assert(std::is_void_v<Other>,
                  "dogged: TASK_REGISTER takes a handler, then the dogged::Task that it handles, then options");
  }
};

}  // namespace detail
}  // namespace dogged
