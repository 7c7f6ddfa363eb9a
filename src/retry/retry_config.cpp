// A RetryConfig's limits, and the policy that it makes.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include <dogged/detail/names.hpp>
#include <dogged/detail/policy_rules.hpp>
#include <dogged/retry_config.hpp>

#include "retry/jitter_text.hpp"
#include "retry/retry_config_fields.hpp"
#include "text/duration.hpp"
#include "text/number_text.hpp"

namespace dogged {
namespace {

static_assert(limits::max_attempts == 21 && limits::max_retried_codes == 64, "the messages say these limits");

/// `intervals` for one retry after another, the last as often as it takes.
Intervals fitted(const Intervals& intervals, int retries) {
  Intervals result;
  for (std::size_t i = 0; i < static_cast<std::size_t>(retries); ++i) {
    result.push_back(intervals[std::min(i, intervals.size() - 1)]);
  }
  return result;
}

/// The interval whose shortest delay, as jitter makes it, is `recovery`. Infinite where no interval is.
double interval_after_ms(milliseconds recovery, const Jitter& jitter) {
  const auto recovery_ms = static_cast<double>(recovery.count());
  switch (jitter.kind()) {
    case Jitter::Kind::none:
      return recovery_ms;
    case Jitter::Kind::absolute:
      return recovery_ms + static_cast<double>(jitter.amount().count());
    case Jitter::Kind::proportional:
      return std::ceil(recovery_ms / (1.0 - jitter.proportion()));
    case Jitter::Kind::full:
      break;
  }
  return HUGE_VAL;
}

milliseconds interval_after(milliseconds recovery, const Jitter& jitter) {
  const double interval_ms = interval_after_ms(recovery, jitter);
  if (interval_ms <= static_cast<double>(limits::max_delay.count())) return milliseconds{std::llround(interval_ms)};
  throw InvalidPolicy("jitter", "jitter is " + jitter_to_text(jitter) +
                                    ", and with policy_type circuit_breaker no retry comes before recovery_timeout, " +
                                    duration_to_text(recovery) +
                                    ": the interval would be above 24h; make one of them smaller");
}

Fixed fixed_policy(const RetryConfig& config, int retries) {
  Fixed policy{.max_delay = config.max_delay, .jitter = config.jitter};
  if (config.intervals.empty()) {
    policy.interval = config.initial_delay;
    policy.max_retries = retries;
  } else {
    policy.intervals = fitted(config.intervals, retries);
  }
  return policy;
}

RetryPolicy policy_of(const RetryConfig& config, int retries) {
  switch (config.policy_type) {
    case RetryPolicyType::exponential_backoff:
      return Exponential{.base = config.initial_delay,
                         .multiplier = config.multiplier,
                         .max_retries = retries,
                         .max_delay = config.max_delay,
                         .jitter = config.jitter};
    case RetryPolicyType::linear_backoff:
      return Linear{.initial = config.initial_delay,
                    .increment = config.increment.value_or(config.initial_delay),
                    .max_retries = retries,
                    .max_delay = config.max_delay,
                    .jitter = config.jitter};
    case RetryPolicyType::fixed_interval:
      return fixed_policy(config, retries);
    case RetryPolicyType::circuit_breaker:
      return Fixed{.interval = interval_after(config.breaker()->recovery_timeout, config.jitter),
                   .max_retries = retries,
                   .jitter = config.jitter};
    case RetryPolicyType::custom:
      return Custom{.name = std::string_view{config.policy_name}, .max_retries = retries};
    case RetryPolicyType::no_retry:
      break;
  }
  return NoRetry{};
}

template <class Policy>
RetryConfig config_of(RetryPolicyType type, const Policy& policy, milliseconds first_delay) {
  return {.policy_type = type,
          .max_attempts = max_retries(policy) + 1,
          .initial_delay = first_delay,
          .max_delay = policy.max_delay,
          .jitter = policy.jitter};
}

RetryConfig config_from(const NoRetry&) { return {.policy_type = RetryPolicyType::no_retry}; }

RetryConfig config_from(const Custom& policy) {
  return {.policy_type = RetryPolicyType::custom,
          .policy_name = std::string{policy.name.view()},
          .max_attempts = policy.max_retries + 1};
}

RetryConfig config_from(const Fixed& policy) {
  const milliseconds first_delay = policy.intervals.empty() ? policy.interval : policy.intervals[0];
  RetryConfig config = config_of(RetryPolicyType::fixed_interval, policy, first_delay);
  config.intervals = policy.intervals;
  return config;
}

RetryConfig config_from(const Exponential& policy) {
  RetryConfig config = config_of(RetryPolicyType::exponential_backoff, policy, policy.base);
  config.multiplier = policy.multiplier;
  return config;
}

RetryConfig config_from(const Linear& policy) {
  RetryConfig config = config_of(RetryPolicyType::linear_backoff, policy, policy.initial);
  config.increment = policy.increment;
  return config;
}

template <class Value, class Said>
std::string mistake_in_field(const ConfigField<Value, Said>& field, const Value& value) {
  if constexpr (std::is_same_v<Value, Said>) {
    return field.mistake_in(value);
  } else {
    return value ? field.mistake_in(*value) : std::string{};
  }
}

}  // namespace

std::string mistake_in_policy_name(const std::string& name) {
  if (name.empty() || !detail::check_policy_name(std::string_view{name})) return {};
  return " is " + in_quotes(name) + "; it must be 1 to 64 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit";
}

std::string mistake_in_attempts(const int& attempts) {
  if (attempts >= 1 && attempts <= limits::max_attempts) return {};
  return " is " + std::to_string(attempts) + "; it must be 1 to 21";
}

std::string mistake_in_delay(const milliseconds& delay) {
  if (delay >= limits::min_delay && delay <= limits::max_delay) return {};
  return " is " + duration_to_text(delay) + "; it must be 1ms to 24h";
}

std::string mistake_in_increment(const milliseconds& increment) {
  if (!detail::check_increment(increment)) return {};
  return " is " + duration_to_text(increment) + "; it must be 0ms to 24h";
}

std::string mistake_in_intervals(const Intervals& intervals) {
  if (intervals.size() > static_cast<std::size_t>(limits::max_retries)) {
    return " has " + std::to_string(intervals.size()) + " entries; it must have 1 to 20";
  }
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const std::string mistake = mistake_in_delay(intervals[i]);
    if (!mistake.empty()) return "/" + std::to_string(i) + mistake;
  }
  return {};
}

std::string mistake_in_multiplier(const double& multiplier) {
  if (!detail::check_multiplier(multiplier)) return {};
  return " is " + number_to_text(multiplier) + "; it must be 1 to 100";
}

std::string mistake_in_jitter(const Jitter& jitter) {
  if (!detail::check_jitter(jitter)) return {};
  if (jitter.kind() == Jitter::Kind::absolute) return mistake_in_delay(jitter.amount());
  return " has the proportion " + number_to_text(jitter.proportion()) + "; it must be above 0 and up to 1 (100%)";
}

std::string mistake_in_breaker(const std::optional<CircuitBreakerSettings>& breaker) {
  if (!breaker) return {};
  try {
    require_valid(*breaker);
    return {};
  } catch (const InvalidPolicy& error) {
    return std::string{"/"} + error.what();
  }
}

std::string mistake_in_code_count(std::size_t count) {
  if (count <= limits::max_retried_codes) return {};
  return " has " + std::to_string(count) + " codes; it must have at most 64, or \"*\" alone for every code";
}

std::string mistake_in_code(const std::string& code) {
  if (code == codes::any || detail::is_valid_error_code(code)) return {};
  return " is " + in_quotes(code) + "; it must be 1 to 64 of A-Z 0-9 _ beginning with a letter, or * for every code";
}

std::string mistake_in_repetition(const std::vector<std::string>& entries, std::size_t i) {
  const auto end = entries.begin() + static_cast<std::ptrdiff_t>(i);
  if (std::find(entries.begin(), end, entries[i]) == end) return {};
  return " is " + in_quotes(entries[i]) + " once more; leave one out";
}

std::string mistake_in_codes(const std::vector<std::string>& codes) {
  std::string mistake = mistake_in_code_count(codes.size());
  for (std::size_t i = 0; i < codes.size() && mistake.empty(); ++i) {
    mistake = mistake_in_code(codes[i]);
    if (mistake.empty()) mistake = mistake_in_repetition(codes, i);
    if (!mistake.empty()) mistake.insert(0, "/" + std::to_string(i));
  }
  return mistake;
}

void require_valid(const RetryConfig& config) {
  for_each_config_field([&config](const auto& field) {
    const std::string mistake = mistake_in_field(field, config.*field.in_config);
    if (!mistake.empty()) refuse_setting(field.name, std::string{field.name}, mistake);
  });
}

RetryPolicy RetryConfig::policy() const {
  require_valid(*this);
  if (max_attempts == 1) return NoRetry{};
  if (policy_type == RetryPolicyType::custom && policy_name.empty()) {
    throw InvalidPolicy("policy_name", "policy_type custom needs policy_name: a policy that the worker has registered");
  }
  return policy_of(*this, max_attempts - 1);
}

std::optional<CircuitBreakerSettings> RetryConfig::breaker() const {
  if (policy_type == RetryPolicyType::circuit_breaker) return circuit_breaker.value_or(CircuitBreakerSettings{});
  return circuit_breaker;
}

RetryConfig RetryConfig::from_policy(const RetryPolicy& policy) {
  dogged::require_valid(policy);
  return std::visit([](const auto& chosen) { return config_from(chosen); }, policy);
}

}  // namespace dogged
