// See retry_throttle.hpp.
#include "claim/core/retry_throttle.hpp"

#include <algorithm>
#include <cmath>

namespace dogged::runtime {
namespace {

constexpr milliseconds asks_again_within{1000};  // after the time at which a retry is due, if workers are busy

}  // namespace

std::optional<milliseconds> RetryThrottle::ask(time_point now, double draw) {
  if (budget_.try_retry(now)) return std::nullopt;
  ++held_back_;
  next_turn_ = std::max(next_turn_, now + budget_.until_room(now)) + between_retries(now);
  next_turn_ = std::min<time_point>(next_turn_, now + longest_wait);
  const auto wait = std::chrono::duration<double, std::milli>(next_turn_ - now) * (0.75 + 0.5 * draw);
  const milliseconds rounded{std::max<std::int64_t>(1, std::llround(wait.count()))};
  last_back_ = std::max<time_point>(last_back_, now + rounded);
  return rounded;
}

/// How long the budget takes for one more retry, by the attempts that began of late.
std::chrono::nanoseconds RetryThrottle::between_retries(time_point now) const {
  const RetryBudgetSettings& settings = budget_.settings();
  const double window_s = std::chrono::duration<double>(settings.window).count();
  const double a_second = std::max(settings.share * static_cast<double>(budget_.counts(now).executions) / window_s,
                                   settings.min_retries_per_second);
  return std::chrono::nanoseconds{std::llround(1e9 / a_second)};
}

std::optional<std::int64_t> RetryThrottle::take_end(time_point now) {
  if (held_back_ == 0 || now < last_back_ + asks_again_within) return std::nullopt;
  const std::int64_t count = held_back_;
  held_back_ = 0;
  return count;
}

}  // namespace dogged::runtime
