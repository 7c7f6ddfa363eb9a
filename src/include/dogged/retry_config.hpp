// Retry settings as operators write them, and presets for usual operations.
//
//   dogged::RetryConfig config = dogged::RetryConfig::from_json(R"({"preset": "http_request", "max_attempts": 6})");
//   auto delay = dogged::next_delay(config.policy(), /*retry=*/1, draw);
//
// A RetryConfig is a flat list of settings, each with a default; policy() makes a RetryPolicy of it. For settings
// from several places (program, file, environment), see <dogged/resolved_retry_config.hpp>.
//
// All types are copyable values and all functions are thread-safe: they hold no state.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dogged/circuit_breaker_settings.hpp>
#include <dogged/policy.hpp>

namespace dogged {

namespace limits {
inline constexpr int max_attempts = max_retries + 1;  ///< the first attempt is no retry
inline constexpr std::size_t max_retried_codes = 64;
}  // namespace limits

/// The texts in JSON are the same.
enum class RetryPolicyType {
  exponential_backoff,  ///< initial_delay · multiplier^(n−1) before retry n
  linear_backoff,       ///< initial_delay + increment · (n−1)
  fixed_interval,       ///< initial_delay each time, or the list `intervals`
  circuit_breaker,      ///< retries when the breaker in front may let them through again
  no_retry,             ///< one attempt
  custom,               ///< what the function `policy_name` of the worker decides
};

/// A setting that the policy_type does not use has no effect. Which type uses which:
///
///   policy_name                                         custom
///   max_attempts                                        all but no_retry
///   jitter                                              all but no_retry and custom
///   initial_delay, max_delay                            exponential_backoff, linear_backoff, fixed_interval
///   multiplier                                          exponential_backoff
///   increment                                           linear_backoff
///   intervals (then initial_delay is not used)          fixed_interval
///   dead_letter_enabled, circuit_breaker, auto_retry_for  all
struct RetryConfig {
  RetryPolicyType policy_type = RetryPolicyType::exponential_backoff;
  /// A policy that the worker has registered (WorkerOptions::policies). Empty: none.
  std::string policy_name{};
  /// The first attempt and its retries. 1 to 21; 1 is no retry.
  int max_attempts = 3;
  /// 1 ms to 24 h.
  milliseconds initial_delay{100};
  /// A delay for each retry, 1 to 20 of 1 ms to 24 h; empty: initial_delay each time. max_attempts decides how many
  /// retries there are. Retries beyond the list repeat its last entry. Entries beyond the retries are not used.
  Intervals intervals{};
  /// Longer delays are cut to this. 1 ms to 24 h.
  milliseconds max_delay = std::chrono::seconds{60};
  /// 1 to 100.
  double multiplier = 2.0;
  /// 0 to 24 h; nothing: the same as initial_delay.
  std::optional<milliseconds> increment{};
  Jitter jitter = Jitter::proportional(0.25);
  /// Whether a task that failed for good is kept as a dead letter.
  bool dead_letter_enabled = true;
  /// The breaker in front of the attempts, if there is one.
  std::optional<CircuitBreakerSettings> circuit_breaker{};
  /// The error codes that are retried, at most 64, or "*" for all; nothing: not set here.
  std::optional<std::vector<std::string>> auto_retry_for{};

  /// NoRetry if max_attempts is 1. With policy_type circuit_breaker the interval is breaker()'s recovery_timeout,
  /// lengthened so that jitter brings no retry back earlier. For example, 30 s ± 25 % would begin at 22.5 s, so the
  /// interval is 40 s, drawn from 30 to 50 s. Throws InvalidPolicy for a setting out of its limits, and if jitter makes
  /// that interval longer than 24 h (full jitter and 100% always do).
  ///
  /// The policy has no breaker, no codes and no dead letters. In a process, make a CircuitBreaker of breaker() and
  /// give it to dogged::retry as RetryOptions::breaker, also with policy_type circuit_breaker. Check auto_retry_for in
  /// the condition of retry_if, because dogged::retry retries every error. Dead letters belong to the queue. A worker
  /// with --retry-config applies all of them. docs/retry.md shows both.
  [[nodiscard]] RetryPolicy policy() const;

  /// circuit_breaker; with policy_type circuit_breaker and no settings, the default ones.
  [[nodiscard]] std::optional<CircuitBreakerSettings> breaker() const;

  /// The settings that make this policy: `from_policy(policy).policy() == policy`. Throws InvalidPolicy.
  [[nodiscard]] static RetryConfig from_policy(const RetryPolicy& policy);

  /// A JSON object with the settings that the policy_type uses:
  ///
  ///   {"policy_type": "exponential_backoff", "max_attempts": 3, "initial_delay": "100ms", "max_delay": "1m",
  ///    "multiplier": 2.0, "jitter": true, "dead_letter_enabled": true,
  ///    "circuit_breaker": {"failure_threshold": 5, "recovery_timeout": "30s", "success_threshold": 2},
  ///    "auto_retry_for": ["HTTP_503"]}
  ///
  /// Throws InvalidPolicy for a setting out of its limits.
  [[nodiscard]] std::string to_json() const;

  /// Reads such an object. Every key may be missing; `"preset": NAME` replaces the defaults by a preset's settings.
  /// Durations have a unit: "100ms", "60s", "1h30m". `jitter` is true (± 25 %), false, "25%", "full" or "50ms".
  /// `jitter_enabled` is true or false, as `jitter` may be; beside a `jitter` it turns that one off or leaves it.
  /// `intervals` without max_attempts allows as many retries as it has entries. `circuit_breaker` may lack keys; false
  /// is none. `auto_retry_for` takes names of the sets of <dogged/code_sets.hpp> beside codes, as ["http_transient",
  /// "MY_CODE"], and then has their codes; "*" stands alone.
  /// Throws InvalidPolicy, which names the setting by its JSON pointer, the value and the limit, for:
  /// - text that is no JSON or larger than 1 MiB
  /// - a key that is unknown, repeated, or not used by the policy_type
  /// - a wrong type, a bare number as a duration, an unknown set of codes, a value out of its limits
  /// - a delay that the default of max_delay would cut
  [[nodiscard]] static RetryConfig from_json(std::string_view text);

  friend bool operator==(const RetryConfig&, const RetryConfig&) = default;
};

/// Throws InvalidPolicy for the first setting that is out of its limits, used or not.
void require_valid(const RetryConfig& config);

/// Settings for a usual operation. All are exponential, × 2, with absolute jitter of half the first delay.
struct RetryPreset {
  std::string_view name;
  RetryConfig config;
  std::string_view reason;  ///< why these figures
};

///   name             attempts  first delay  max_delay  jitter   dead letter
///   database_write   6         100 ms       30 s       ± 50 ms  yes
///   database_read    4         50 ms        10 s       ± 25 ms  no
///   pubsub_publish   6         50 ms        5 s        ± 25 ms  yes
///   cache_get        4         50 ms        5 s        ± 25 ms  no
///   cache_set        4         50 ms        5 s        ± 25 ms  no
///   broker_publish   6         100 ms       30 s       ± 50 ms  yes
///   http_request     4         200 ms       10 s       ± 100 ms no
///
/// `attempts` include the first: database_write makes 5 retries.
[[nodiscard]] const std::vector<RetryPreset>& retry_presets();

/// Throws InvalidPolicy for an unknown name, with the nearest one.
[[nodiscard]] const RetryPreset& retry_preset(std::string_view name);

}  // namespace dogged
