// The limits of retry policies, one list for compile time and run time. TASK_REGISTER has the compiler name a
// PolicyMistake. require_valid makes InvalidPolicy's message of a PolicyMistake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <variant>

#include <dogged/detail/names.hpp>
#include <dogged/policy.hpp>

namespace dogged {

namespace mistake {
/// The rules of policies. The compiler's messages show the names, see detail/refused.hpp.
enum class Policy {
  fixed_needs_intervals_or_interval_with_max_retries,
  fixed_takes_either_intervals_or_interval_with_max_retries_not_both,
  intervals_has_more_than_20_entries,
  an_entry_of_intervals_is_not_between_1ms_and_24h,
  interval_is_not_between_1ms_and_24h,
  base_is_not_between_1ms_and_24h,
  multiplier_is_not_between_1_and_100,
  initial_is_not_between_1ms_and_24h,
  increment_is_not_between_0_and_24h,
  max_retries_is_not_between_1_and_20,
  max_delay_is_not_between_1ms_and_24h,
  jitter_proportion_is_not_above_0_and_up_to_1,
  jitter_amount_is_not_between_1ms_and_24h,
  name_is_not_1_to_64_of_letters_digits_dot_underscore_colon_slash_dash,
};
}  // namespace mistake

namespace detail {

static_assert(limits::max_retries == 20 && limits::min_delay == milliseconds{1} &&
                  limits::max_delay == std::chrono::hours{24} && limits::min_multiplier == 1.0 &&
                  limits::max_multiplier == 100.0,
              "the names in mistake::Policy and the texts in src/retry/policy.cpp say these limits");

using PolicyRule = mistake::Policy;

/// A field that breaks a rule, and the value that it has.
struct PolicyMistake {
  PolicyRule rule;
  std::string_view field;
  /// Nothing where it is not one value. A text is that of the policy.
  std::variant<std::monostate, std::int64_t, double, milliseconds, std::string_view> value;
  std::size_t index = 0;  ///< of the entry, where the rule is of an entry of intervals
};

using MaybeMistake = std::optional<PolicyMistake>;

constexpr MaybeMistake first_of(std::initializer_list<MaybeMistake> checks) {
  for (const MaybeMistake& mistake : checks) {
    if (mistake) return mistake;
  }
  return std::nullopt;
}

/// NaN fails. The function asks for NaN first, because GCC does not order a NaN in a constant expression.
constexpr bool is_within(double value, double least, double most) {
  const bool is_nan = value != value;
  return !is_nan && value >= least && value <= most;
}

constexpr MaybeMistake check_delay(PolicyRule rule, std::string_view field, milliseconds delay) {
  if (delay >= limits::min_delay && delay <= limits::max_delay) return std::nullopt;
  return PolicyMistake{rule, field, delay};
}

constexpr MaybeMistake check_max_retries(std::int64_t max_retries) {
  if (max_retries >= 1 && max_retries <= limits::max_retries) return std::nullopt;
  return PolicyMistake{PolicyRule::max_retries_is_not_between_1_and_20, "max_retries", max_retries};
}

constexpr MaybeMistake check_multiplier(double multiplier) {
  if (is_within(multiplier, limits::min_multiplier, limits::max_multiplier)) return std::nullopt;
  return PolicyMistake{PolicyRule::multiplier_is_not_between_1_and_100, "multiplier", multiplier};
}

constexpr MaybeMistake check_increment(milliseconds increment) {
  if (increment == milliseconds{0}) return std::nullopt;
  return check_delay(PolicyRule::increment_is_not_between_0_and_24h, "increment", increment);
}

constexpr MaybeMistake check_jitter(const Jitter& jitter) {
  if (jitter.kind() == Jitter::Kind::absolute) {
    return check_delay(PolicyRule::jitter_amount_is_not_between_1ms_and_24h, "jitter", jitter.amount());
  }
  if (jitter.kind() == Jitter::Kind::proportional) {
    if (!is_within(jitter.proportion(), 0.0, 1.0) || jitter.proportion() == 0.0) {
      return PolicyMistake{PolicyRule::jitter_proportion_is_not_above_0_and_up_to_1, "jitter", jitter.proportion()};
    }
  }
  return std::nullopt;
}

constexpr MaybeMistake check_intervals(const Intervals& intervals) {
  if (intervals.size() > static_cast<std::size_t>(limits::max_retries)) {
    return PolicyMistake{PolicyRule::intervals_has_more_than_20_entries, "intervals",
                         static_cast<std::int64_t>(intervals.size())};
  }
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    if (auto mistake =
            check_delay(PolicyRule::an_entry_of_intervals_is_not_between_1ms_and_24h, "intervals", intervals[i])) {
      mistake->index = i;
      return mistake;
    }
  }
  return std::nullopt;
}

constexpr MaybeMistake check_form(const Fixed& policy) {
  const bool has_list = !policy.intervals.empty();
  const bool has_one = policy.interval != milliseconds{0} || policy.max_retries != 0;
  if (has_list && has_one) {
    return PolicyMistake{
        PolicyRule::fixed_takes_either_intervals_or_interval_with_max_retries_not_both, "intervals", {}};
  }
  if (has_list) return check_intervals(policy.intervals);
  if (has_one) {
    return first_of({check_delay(PolicyRule::interval_is_not_between_1ms_and_24h, "interval", policy.interval),
                     check_max_retries(policy.max_retries)});
  }
  return PolicyMistake{PolicyRule::fixed_needs_intervals_or_interval_with_max_retries, "intervals", {}};
}

constexpr MaybeMistake check_form(const Exponential& policy) {
  return first_of({check_delay(PolicyRule::base_is_not_between_1ms_and_24h, "base", policy.base),
                   check_multiplier(policy.multiplier), check_max_retries(policy.max_retries)});
}

constexpr MaybeMistake check_form(const Linear& policy) {
  return first_of({check_delay(PolicyRule::initial_is_not_between_1ms_and_24h, "initial", policy.initial),
                   check_increment(policy.increment), check_max_retries(policy.max_retries)});
}

constexpr MaybeMistake check_policy_name(const PolicyName& name) {
  if (name.size() <= PolicyName::max_size && is_valid_name(name.view())) return std::nullopt;
  return PolicyMistake{PolicyRule::name_is_not_1_to_64_of_letters_digits_dot_underscore_colon_slash_dash, "name",
                       name.view()};
}

constexpr MaybeMistake find_mistake_in(const NoRetry&) { return std::nullopt; }

constexpr MaybeMistake find_mistake_in(const Custom& policy) {
  return first_of({check_policy_name(policy.name), check_max_retries(policy.max_retries)});
}

template <class Policy>
constexpr MaybeMistake find_mistake_in(const Policy& policy) {
  return first_of({check_form(policy),
                   check_delay(PolicyRule::max_delay_is_not_between_1ms_and_24h, "max_delay", policy.max_delay),
                   check_jitter(policy.jitter)});
}

/// The first field that is out of its limits. A max_delay shorter than the first delay is allowed: it cuts
/// it.
constexpr MaybeMistake find_mistake(const RetryPolicy& policy) {
  return std::visit([](const auto& chosen) { return find_mistake_in(chosen); }, policy);
}

}  // namespace detail
}  // namespace dogged
