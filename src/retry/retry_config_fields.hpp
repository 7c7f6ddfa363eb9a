// The settings of a RetryConfig, one list for JSON, limits and layers: the name, the members, the policy types that use
// it, and the limit.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <tuple>

#include <dogged/error.hpp>
#include <dogged/resolved_retry_config.hpp>

#include "text/message.hpp"

namespace dogged {

/// In the order of RetryPolicyType.
inline constexpr std::array<std::string_view, 6> policy_type_names{
    "exponential_backoff", "linear_backoff", "fixed_interval", "circuit_breaker", "no_retry", "custom"};

[[nodiscard]] constexpr std::string_view name_of(RetryPolicyType type) {
  return policy_type_names[static_cast<std::size_t>(type)];
}

/// A set of RetryPolicyType, a bit each.
using PolicyTypes = unsigned;

constexpr PolicyTypes only(RetryPolicyType type) { return 1U << static_cast<unsigned>(type); }
inline constexpr PolicyTypes every_type = (1U << policy_type_names.size()) - 1;
inline constexpr PolicyTypes retrying_types = every_type & ~only(RetryPolicyType::no_retry);
inline constexpr PolicyTypes jittering_types = retrying_types & ~only(RetryPolicyType::custom);
inline constexpr PolicyTypes delaying_types = jittering_types & ~only(RetryPolicyType::circuit_breaker);

// The mistake in a value, to stand behind the setting's name: ` is 0; it must be 1 to 21`. Empty if there is none.
[[nodiscard]] std::string mistake_in_policy_name(const std::string& name);
[[nodiscard]] std::string mistake_in_attempts(const int& attempts);
[[nodiscard]] std::string mistake_in_delay(const milliseconds& delay);
[[nodiscard]] std::string mistake_in_increment(const milliseconds& increment);
[[nodiscard]] std::string mistake_in_intervals(const Intervals& intervals);
[[nodiscard]] std::string mistake_in_multiplier(const double& multiplier);
[[nodiscard]] std::string mistake_in_jitter(const Jitter& jitter);
[[nodiscard]] std::string mistake_in_breaker(const std::optional<CircuitBreakerSettings>& breaker);
[[nodiscard]] std::string mistake_in_codes(const std::vector<std::string>& codes);
[[nodiscard]] std::string mistake_in_code_count(std::size_t count);
[[nodiscard]] std::string mistake_in_code(const std::string& code);
[[nodiscard]] std::string mistake_in_repetition(const std::vector<std::string>& entries, std::size_t i);
template <class Value>
[[nodiscard]] std::string no_mistake(const Value&) {
  return {};
}

template <class Value, class Said>
struct ConfigField {
  std::string_view name;
  Value RetryConfig::*in_config;
  std::optional<Said> RetrySettings::*in_settings;
  PolicyTypes used_by;
  std::string (*mistake_in)(const Said&);
};

template <class Value, class Said>
ConfigField(const char*, Value RetryConfig::*, std::optional<Said> RetrySettings::*, PolicyTypes,
            std::string (*)(const Said&)) -> ConfigField<Value, Said>;  // Clang 14 does not deduce aggregates

inline constexpr std::tuple config_fields{
    ConfigField{"policy_type", &RetryConfig::policy_type, &RetrySettings::policy_type, every_type,
                &no_mistake<RetryPolicyType>},
    ConfigField{"policy_name", &RetryConfig::policy_name, &RetrySettings::policy_name, only(RetryPolicyType::custom),
                &mistake_in_policy_name},
    ConfigField{"max_attempts", &RetryConfig::max_attempts, &RetrySettings::max_attempts, retrying_types,
                &mistake_in_attempts},
    ConfigField{"initial_delay", &RetryConfig::initial_delay, &RetrySettings::initial_delay, delaying_types,
                &mistake_in_delay},
    ConfigField{"intervals", &RetryConfig::intervals, &RetrySettings::intervals, only(RetryPolicyType::fixed_interval),
                &mistake_in_intervals},
    ConfigField{"max_delay", &RetryConfig::max_delay, &RetrySettings::max_delay, delaying_types, &mistake_in_delay},
    ConfigField{"multiplier", &RetryConfig::multiplier, &RetrySettings::multiplier,
                only(RetryPolicyType::exponential_backoff), &mistake_in_multiplier},
    ConfigField{"increment", &RetryConfig::increment, &RetrySettings::increment, only(RetryPolicyType::linear_backoff),
                &mistake_in_increment},
    ConfigField{"jitter", &RetryConfig::jitter, &RetrySettings::jitter, jittering_types, &mistake_in_jitter},
    ConfigField{"dead_letter_enabled", &RetryConfig::dead_letter_enabled, &RetrySettings::dead_letter_enabled,
                every_type, &no_mistake<bool>},
    ConfigField{"circuit_breaker", &RetryConfig::circuit_breaker, &RetrySettings::circuit_breaker, every_type,
                &mistake_in_breaker},
    ConfigField{"auto_retry_for", &RetryConfig::auto_retry_for, &RetrySettings::auto_retry_for, every_type,
                &mistake_in_codes},
};

template <class Visitor>
void for_each_config_field(Visitor visit) {
  std::apply([&visit](const auto&... field) { (visit(field), ...); }, config_fields);
}

[[nodiscard]] constexpr bool is_used_by(PolicyTypes types, RetryPolicyType type) { return (types & only(type)) != 0; }

/// Of intervals and initial_delay, fixed_interval uses one.
[[nodiscard]] inline bool is_in_use(std::string_view field, PolicyTypes used_by, const RetryConfig& config) {
  const bool has_list = config.policy_type == RetryPolicyType::fixed_interval && !config.intervals.empty();
  if (field == "intervals") return has_list;
  if (field == "initial_delay" && has_list) return false;
  return is_used_by(used_by, config.policy_type);
}

/// Throws the InvalidPolicy of a setting; `place` is how the message calls it.
[[noreturn]] inline void refuse_setting(std::string_view field, const std::string& place, const std::string& mistake) {
  throw InvalidPolicy(std::string{field}, place + mistake);
}

}  // namespace dogged
