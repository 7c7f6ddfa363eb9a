// The delays of retry policies: the formula, the cut at max_delay, the jitter.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>

#include <dogged/custom_policy.hpp>
#include <dogged/detail/policy_rules.hpp>
#include <dogged/policy.hpp>

#include "retry/policy_fields.hpp"
#include "text/duration.hpp"
#include "text/message.hpp"
#include "text/number_text.hpp"

namespace dogged {
namespace {

using detail::PolicyMistake;
using detail::PolicyRule;

std::string text_of(std::monostate) { return {}; }
std::string text_of(std::int64_t value) { return std::to_string(value); }
std::string text_of(double value) { return number_to_text(value); }
std::string text_of(milliseconds value) { return duration_to_text(value); }
std::string text_of(std::string_view value) { return in_quotes(value); }

std::string describe(const PolicyMistake& mistake) {
  const std::string value = std::visit([](auto number) { return text_of(number); }, mistake.value);
  const std::string is = std::string{mistake.field} + " is " + value;
  switch (mistake.rule) {
    case PolicyRule::fixed_needs_intervals_or_interval_with_max_retries:
      return "a fixed policy needs intervals, or interval with max_retries; it has neither";
    case PolicyRule::fixed_takes_either_intervals_or_interval_with_max_retries_not_both:
      return "a fixed policy takes either intervals, or interval with max_retries; it has both: leave one "
             "out";
    case PolicyRule::intervals_has_more_than_20_entries:
      return "intervals has " + value + " entries; it must have 1 to 20";
    case PolicyRule::an_entry_of_intervals_is_not_between_1ms_and_24h:
      return "intervals[" + std::to_string(mistake.index) + "] is " + value + "; it must be 1ms to 24h";
    case PolicyRule::interval_is_not_between_1ms_and_24h:
    case PolicyRule::base_is_not_between_1ms_and_24h:
    case PolicyRule::initial_is_not_between_1ms_and_24h:
    case PolicyRule::max_delay_is_not_between_1ms_and_24h:
      return is + "; it must be 1ms to 24h";
    case PolicyRule::increment_is_not_between_0_and_24h:
      return is + "; it must be 0 to 24h";
    case PolicyRule::multiplier_is_not_between_1_and_100:
      return is + "; it must be 1 to 100";
    case PolicyRule::max_retries_is_not_between_1_and_20:
      return is + "; it must be 1 to 20";
    case PolicyRule::jitter_proportion_is_not_above_0_and_up_to_1:
      return "jitter has the proportion " + value + "; it must be above 0 and up to 1 (100%)";
    case PolicyRule::jitter_amount_is_not_between_1ms_and_24h:
      return "jitter has the amount " + value + "; it must be 1ms to 24h";
    case PolicyRule::name_is_not_1_to_64_of_letters_digits_dot_underscore_colon_slash_dash:
      return is + "; it must be 1 to 64 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit";
  }
  return is;
}

InvalidPolicy invalid(const PolicyMistake& mistake) {
  return InvalidPolicy(std::string{mistake.field}, describe(mistake));
}

int retries_of(const NoRetry&) noexcept { return 0; }
int retries_of(const Fixed& policy) noexcept {
  return policy.intervals.empty() ? policy.max_retries : static_cast<int>(policy.intervals.size());
}
int retries_of(const Exponential& policy) noexcept { return policy.max_retries; }
int retries_of(const Linear& policy) noexcept { return policy.max_retries; }
int retries_of(const Custom& policy) noexcept { return policy.max_retries; }

double as_double(milliseconds delay) { return static_cast<double>(delay.count()); }

// The formulas, in milliseconds. In double, nothing overflows: 24 h · 100^19 is 8.64e45.

double formula_ms(const Fixed& policy, int retry) {
  if (policy.intervals.empty()) return as_double(policy.interval);
  return as_double(policy.intervals[static_cast<std::size_t>(retry - 1)]);
}

double formula_ms(const Exponential& policy, int retry) {
  return as_double(policy.base) * std::pow(policy.multiplier, retry - 1);
}

double formula_ms(const Linear& policy, int retry) {
  return as_double(policy.initial) + as_double(policy.increment) * (retry - 1);
}

/// How far jitter may move a delay, before the limits.
struct Spread {
  double least_ms;
  double most_ms;
};

Spread spread_of(const Jitter& jitter, milliseconds backoff) {
  const double middle = as_double(backoff);
  switch (jitter.kind()) {
    case Jitter::Kind::none:
      break;
    case Jitter::Kind::full:
      return {as_double(limits::min_delay), middle};
    case Jitter::Kind::absolute:
      return {middle - as_double(jitter.amount()), middle + as_double(jitter.amount())};
    case Jitter::Kind::proportional:
      return {middle - middle * jitter.proportion(), middle + middle * jitter.proportion()};
  }
  return {middle, middle};
}

template <class Policy>
DelayRange range_of(const Policy& policy, int retry) {
  const double uncut_ms = formula_ms(policy, retry);
  const milliseconds backoff{std::llround(std::min(uncut_ms, as_double(policy.max_delay)))};
  const Spread spread = spread_of(policy.jitter, backoff);
  // Inward, so that no whole millisecond lies outside the real bounds. The backoff is always inside.
  const milliseconds shortest{std::llround(std::ceil(std::max(spread.least_ms, as_double(limits::min_delay))))};
  const milliseconds longest{std::llround(std::floor(std::min(spread.most_ms, as_double(policy.max_delay))))};
  assert(limits::min_delay <= shortest && shortest <= backoff);
  assert(backoff <= longest && longest <= policy.max_delay);
  return {shortest, backoff, longest};
}

DelayRange range_of(const NoRetry&, int) { return {}; }  // not reached: it has no retries

DelayRange range_of(const Custom& policy, int) {
  throw InvalidPolicy("name", "a function decides the delays of the policy " + in_quotes(policy.name.view()) +
                                  ", and only the workers that have registered it know them");
}

/// Each whole millisecond of the range is equally likely. The draw uses the range that max_delay has cut. Moving larger
/// draws to max_delay would make tasks that failed together return together.
milliseconds draw_from(const DelayRange& range, double draw) {
  const double count = as_double(range.longest - range.shortest) + 1.0;
  const milliseconds drawn = range.shortest + milliseconds{static_cast<std::int64_t>(draw * count)};
  return std::min(drawn, range.longest);
}

}  // namespace

int checked_max_retries(std::int64_t max_retries) {
  if (const auto mistake = detail::check_max_retries(max_retries)) throw invalid(*mistake);
  return static_cast<int>(max_retries);
}

void require_valid(const RetryPolicy& policy) {
  if (const auto mistake = detail::find_mistake(policy)) throw invalid(*mistake);
}

void CallPolicy::require_valid() const {
  dogged::require_valid(policy_);
  const auto* const custom = std::get_if<Custom>(&policy_);
  if (custom == nullptr || function_) return;
  throw InvalidPolicy("name", "the policy " + in_quotes(custom->name.view()) +
                                  " is one of workers; in this process give its function in place of its name");
}

int max_retries(const RetryPolicy& policy) noexcept {
  return std::visit([](const auto& chosen) { return retries_of(chosen); }, policy);
}

std::optional<DelayRange> delay_range(const RetryPolicy& policy, int retry) {
  require_valid(policy);
  if (retry < 1) throw InvalidInput("retry is " + std::to_string(retry) + "; retries are counted from 1");
  if (retry > max_retries(policy)) return std::nullopt;
  return std::visit([retry](const auto& chosen) { return range_of(chosen, retry); }, policy);
}

std::optional<RetryDelay> next_delay(const RetryPolicy& policy, int retry, double draw) {
  if (!(draw >= 0.0 && draw <= 1.0)) {
    throw InvalidInput("draw is " + number_to_text(draw) + "; it must be a random number in [0, 1)");
  }
  const auto range = delay_range(policy, retry);
  if (!range) return std::nullopt;
  return RetryDelay{range->backoff, draw_from(*range, draw)};
}

}  // namespace dogged
