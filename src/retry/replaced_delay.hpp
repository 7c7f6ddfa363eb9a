// The wait that an error brings, in place of a policy's delay.
#pragma once

#include <algorithm>

#include <dogged/policy.hpp>

namespace dogged {

/// Cut to 1 ms .. 24 h, and spread as `precision` says. `draw` is uniform in [0, 1).
[[nodiscard]] inline RetryDelay replaced_delay(milliseconds retry_after, Precision precision, double draw) {
  const Fixed once{.interval = std::clamp(retry_after, limits::min_delay, limits::max_delay),
                   .max_retries = 1,
                   .jitter = precision == Precision::exact ? Jitter::none() : Fixed{}.jitter};
  return next_delay(once, 1, draw).value();
}

}  // namespace dogged
