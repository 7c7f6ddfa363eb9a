// Resolves retry settings of several places: the program, a preset, a file, the environment.
//
//   auto file = dogged::RetryConfigFile::from_json(text, "retry.json");
//   auto resolved = dogged::resolve_retry_config({.operation = "webhook.deliver", .file = &file});
//   std::cout << resolved.to_text();   // max_attempts = 6 (file retry.json /tasks/webhook.deliver/max_attempts) …
//
// Layers, the lowest first. Each setting comes from the highest layer that has it:
//
//   1. built-in default            RetryConfig{}, or RetryLayers::fallback
//   2. the file's `defaults`       so they apply where the program says nothing
//   3. the program                 TASK_REGISTER's policy, codes, dead_letter and circuit
//   4. a preset                    which gives all settings of a delay, and dead_letter_enabled
//   5. the file's entry for the task
//   6. RETRY_…                     the environment, for every operation
//   7. <OPERATION>_RETRY_…         the environment, for this operation
//
// Layers 5 and 7 are about one operation, so a setting without effect there is a mistake and is refused. Such a setting
// is one that the policy_type does not use, or a first delay or interval that a lower layer's max_delay would cut. In
// the other layers such a setting may serve other operations, and to_text() says that it is not used, or cut.
//
// All functions are pure and thread-safe, except process_environment.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dogged/retry_config.hpp>

namespace dogged {

/// The settings of one layer. Limits as in RetryConfig.
struct RetrySettings {
  std::optional<std::string> preset{};  ///< whose settings lie below the others here
  std::optional<RetryPolicyType> policy_type{};
  std::optional<std::string> policy_name{};
  std::optional<int> max_attempts{};
  std::optional<milliseconds> initial_delay{};  ///< replaces a lower layer's intervals
  std::optional<Intervals> intervals{};         ///< without max_attempts: as many retries as it has entries
  std::optional<milliseconds> max_delay{};
  std::optional<double> multiplier{};
  std::optional<milliseconds> increment{};
  std::optional<Jitter> jitter{};
  std::optional<bool> dead_letter_enabled{};
  std::optional<std::optional<CircuitBreakerSettings>> circuit_breaker{};  ///< as a whole; an empty one is none
  std::optional<std::vector<std::string>> auto_retry_for{};
  /// The settings that the layer says by another key or variable than the usual one, for origins and errors:
  /// {"max_attempts", "RETRY_MAX_RETRIES"}.
  std::map<std::string, std::string, std::less<>> written_as{};

  friend bool operator==(const RetrySettings&, const RetrySettings&) = default;
};

/// The settings of many tasks, so that operators change them without a build:
///
///   {"defaults": {"max_attempts": 5},
///    "tasks": {"webhook.deliver": {"preset": "http_request", "max_attempts": 6, "auto_retry_for": ["HTTP_503"]},
///              "mail.send": {"policy_type": "fixed_interval", "intervals": ["1m", "5m", "15m"], "max_delay": "1h"}}}
///
/// Both keys may be missing. `defaults` and each task take the keys of RetryConfig::from_json, `preset` among them.
struct RetryConfigFile {
  std::string name{};  ///< used in messages and origins
  RetrySettings defaults{};
  std::map<std::string, RetrySettings, std::less<>> tasks{};

  /// Throws InvalidPolicy as RetryConfig::from_json does, with the file's name before the JSON pointer, or with line
  /// and column for text that is no JSON. Throws also for a name that no task can have. A task that no program knows is
  /// not noticed: compare `tasks` with the registered ones.
  [[nodiscard]] static RetryConfigFile from_json(std::string_view text, std::string name);
};

/// The value of an environment variable; nothing if it is unset.
using Environment = std::function<std::optional<std::string>(const std::string& variable)>;

/// std::getenv. Must not run at the same time as setenv of another thread.
[[nodiscard]] std::optional<std::string> process_environment(const std::string& variable);

/// The name in upper case, with `_` for every byte that is not A-Z 0-9: webhook.deliver is WEBHOOK_DELIVER. Names
/// that differ only in such bytes share their variables.
[[nodiscard]] std::string environment_name(std::string_view operation);

struct RetryLayers {
  /// A task's or a preset's name: its entry in the file, and OPERATION in the environment. Not empty.
  std::string operation{};
  /// The built-in default, if it is not RetryConfig{}. For tasks of a queue it is default_retry_policy.
  std::optional<RetryPolicy> fallback{};
  /// The program's own policy. A policy is whole: no layer below it applies, except to settings that no policy has.
  std::optional<RetryPolicy> policy{};
  std::optional<std::vector<std::string>> auto_retry_for{};
  std::optional<bool> dead_letter_enabled{};
  std::optional<CircuitBreakerSettings> circuit_breaker{};  ///< of the circuit that TASK_REGISTER names
  /// The preset that the program names. A preset in the file's entry for the task replaces it.
  std::optional<std::string> preset{};
  /// May be null.
  const RetryConfigFile* file = nullptr;
  /// RETRY_MAX_ATTEMPTS (1 to 21, the first attempt included) or RETRY_MAX_RETRIES (0 to 20), RETRY_INITIAL_BACKOFF_MS
  /// and RETRY_MAX_BACKOFF_MS (1 to 86400000), RETRY_BACKOFF_MULTIPLIER (1 to 100), RETRY_JITTER_ENABLED (true or 1,
  /// false or 0). Each may have OPERATION_ before it. `true` keeps the jitter of the layers below, or is ± 25 % if they
  /// have none. Any other value is an error, and so is an empty text. An empty function is an empty environment.
  Environment environment = process_environment;
};

enum class RetryLayer {
  built_in,
  file_defaults,
  program,
  preset,
  file_task,
  environment,
  operation_environment,
};

/// RetryOrigin::text of the program's own settings.
inline constexpr std::string_view program_origin = "TASK_REGISTER";

struct RetryOrigin {
  RetryLayer layer = RetryLayer::built_in;
  /// `built-in default`, `TASK_REGISTER`, `preset http_request`, `file retry.json /tasks/webhook.deliver/max_attempts`,
  /// `environment RETRY_MAX_ATTEMPTS`.
  std::string text = "built-in default";

  friend bool operator==(const RetryOrigin&, const RetryOrigin&) = default;
};

struct ResolvedRetryField {
  std::string_view name;  ///< as in JSON
  std::string value;      ///< for people: `6`, `1m30s`, `25%`, `none`
  RetryOrigin origin;
  bool used;         ///< by the policy_type
  bool cut = false;  ///< it is used, is initial_delay or intervals, and max_delay is shorter

  /// `max_attempts = 6 (environment RETRY_MAX_ATTEMPTS)`, followed by `, not used` or `, cut by max_delay` if that
  /// applies.
  [[nodiscard]] std::string to_text() const;

  friend bool operator==(const ResolvedRetryField&, const ResolvedRetryField&) = default;
};

struct ResolvedRetryConfig {
  RetryConfig config;
  /// Every member of RetryConfig, in its order.
  std::vector<ResolvedRetryField> fields;

  /// A line for each field.
  [[nodiscard]] std::string to_text() const;
};

/// Throws InvalidPolicy, which names the variable or the place in the file, the value and the limit; InvalidInput for
/// an empty operation.
[[nodiscard]] ResolvedRetryConfig resolve_retry_config(const RetryLayers& layers);

}  // namespace dogged
