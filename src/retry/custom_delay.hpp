// The delay that a function decides.
#pragma once

#include <algorithm>
#include <optional>

#include <dogged/custom_policy.hpp>

namespace dogged {

/// Passes on what the function throws. `spent`: retries that were made before.
[[nodiscard]] inline std::optional<milliseconds> custom_delay(const DelayFunction& function, int spent,
                                                              const FailedAttempt& failure) {
  const auto delay = function(spent + 1, failure);
  if (!delay) return std::nullopt;
  return std::clamp(*delay, limits::min_delay, limits::max_delay);
}

}  // namespace dogged
