// How TASK_REGISTER reaches worker_main: options checked by the compiler, the handler with its types erased to JSON
// text, and a list that static initialisers append to and that cannot throw before main.
#pragma once

#include <cstddef>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

#include <dogged/detail/json_text.hpp>
#include <dogged/detail/policy_rules.hpp>
#include <dogged/task.hpp>

namespace dogged {

namespace mistake {
// Not constexpr and never defined: the compiler's complaint about the call is the message.
bool queue_is_not_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash();
bool auto_retry_for_has_more_than_64_codes();
bool auto_retry_for_has_a_code_that_is_not_UPPER_SNAKE_of_1_to_64_bytes();
bool timeout_is_not_between_1ms_and_24h();
bool max_losses_is_not_between_1_and_100();
bool circuit_is_not_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash();
bool circuit_settings_are_given_without_circuit();
bool circuit_settings_have_a_threshold_that_is_not_between_1_and_1000();
bool circuit_settings_have_a_recovery_timeout_that_is_not_between_1ms_and_24h();
bool redact_has_more_than_16_json_pointers();
bool redact_has_a_text_that_is_no_json_pointer_of_at_most_256_bytes_beginning_with_a_slash();
}  // namespace mistake

namespace detail {

inline constexpr milliseconds max_timeout = std::chrono::hours{24};

/// As require_valid(CircuitBreakerSettings), for the compiler.
constexpr bool accept_circuit(const TaskOptions& options) {
  const CircuitBreakerSettings& settings = options.circuit_settings;
  if (options.circuit.empty()) {
    return settings == CircuitBreakerSettings{} || mistake::circuit_settings_are_given_without_circuit();
  }
  if (!is_valid_name(options.circuit)) {
    return mistake::circuit_is_not_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash();
  }
  for (const int threshold : {settings.failure_threshold, settings.success_threshold}) {
    if (threshold < 1 || threshold > limits::max_breaker_threshold) {
      return mistake::circuit_settings_have_a_threshold_that_is_not_between_1_and_1000();
    }
  }
  if (settings.recovery_timeout < limits::min_delay || settings.recovery_timeout > limits::max_delay) {
    return mistake::circuit_settings_have_a_recovery_timeout_that_is_not_between_1ms_and_24h();
  }
  return true;
}

constexpr bool accept_redact(const JsonPointers& redact) {
  if (redact.size() > JsonPointers::max_size) return mistake::redact_has_more_than_16_json_pointers();
  for (std::string_view pointer : redact) {
    if (!is_valid_json_pointer(pointer)) {
      return mistake::redact_has_a_text_that_is_no_json_pointer_of_at_most_256_bytes_beginning_with_a_slash();
    }
  }
  return true;
}

/// True, or not a constant expression: the call that makes it none is named after the mistake.
constexpr bool accept_options(const TaskOptions& options) {
  if (!is_valid_name(options.queue)) {
    return mistake::queue_is_not_1_to_128_of_letters_digits_dot_underscore_colon_slash_dash();
  }
  if (options.auto_retry_for.size() > ErrorCodes::max_size) {
    return mistake::auto_retry_for_has_more_than_64_codes();
  }
  for (std::string_view code : options.auto_retry_for) {
    if (code != codes::any && !is_valid_error_code(code)) {
      return mistake::auto_retry_for_has_a_code_that_is_not_UPPER_SNAKE_of_1_to_64_bytes();
    }
  }
  if (options.timeout < milliseconds{0} || options.timeout > max_timeout) {
    return mistake::timeout_is_not_between_1ms_and_24h();
  }
  if (options.max_losses < 1 || options.max_losses > 100) {
    return mistake::max_losses_is_not_between_1_and_100();
  }
  return accept_circuit(options) && accept_redact(options.redact) && accept_policy(options.retry);
}

/// The args are not what the handler's payload type takes. `pointer` is the JSON pointer of the value that does not
/// fit, as far as it is known ("" is the whole document).
class InvalidArgs : public std::runtime_error {
 public:
  InvalidArgs(std::string pointer, const std::string& message)
      : std::runtime_error(message), pointer_(std::move(pointer)) {}
  [[nodiscard]] const std::string& pointer() const noexcept { return pointer_; }

 private:
  std::string pointer_;
};

/// The handler ended well, but what it returned cannot be stored as JSON.
class InvalidResult : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// From nlohmann_json's "[json.exception.type_error.302] (/url) type must be string, but is number". The pointer is
/// there when JSON_DIAGNOSTICS is on, as the target dogged::worker sets it; a missing key is named either way.
InvalidArgs describe_invalid_args(std::string_view what);

template <class Args>
[[nodiscard]] Args parse_args(const std::string& args_json) {
  try {
    const nlohmann::json json = nlohmann::json::parse(args_json);
    return json.get<Args>();
  } catch (const nlohmann::json::exception& error) {
    throw describe_invalid_args(error.what());
  } catch (const TaskError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;                                 // not the args' fault: another attempt may have the memory
  } catch (const std::exception& error) {  // a from_json that checks more than types
    throw InvalidArgs("", error.what());
  }
}

/// Runs the handler on args as JSON text; gives the result as JSON text, empty for void.
using ErasedHandler = std::function<std::string(Context&, const std::string& args_json)>;

template <class Args, class Result, class Handler>
[[nodiscard]] ErasedHandler erase_handler(Handler handler) {
  return [handler](Context& context, const std::string& args_json) -> std::string {
    const Args args = parse_args<Args>(args_json);
    if constexpr (std::is_void_v<Result>) {
      handler(context, args);
      return {};
    } else {
      const Result result = handler(context, args);
      try {
        return to_json_text("the result", result);
      } catch (const std::invalid_argument& error) {
        throw InvalidResult(error.what());
      }
    }
  };
}

struct RegisteredTask {
  std::string name;
  TaskOptions options;
  ErasedHandler run;
};

/// Every registration of this program so far, in the order of static initialisation.
[[nodiscard]] const std::vector<RegisteredTask>& registered_tasks() noexcept;
/// Appends; never throws (out of memory before main is reported by registration_failed()).
void append_registration(std::string_view name, const TaskOptions& options, ErasedHandler run) noexcept;
[[nodiscard]] bool registration_failed() noexcept;

class Registration {
 public:
  template <class Handler, class Args, class Result>
  Registration(Handler handler, const Task<Args, Result>& task, const TaskOptions& options) noexcept {
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
      if constexpr (gives_result) {
        append_registration(task.name(), options, erase_handler<Args, Result>(std::move(handler)));
      }
    }
  }
};

}  // namespace detail
}  // namespace dogged
