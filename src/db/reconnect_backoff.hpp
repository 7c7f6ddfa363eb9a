// The backoff between two tries to reach a server that is away: doubled from 100 ms on. The jitter keeps a fleet from
// coming back all at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <random>

#include <dogged/policy.hpp>

namespace dogged::db {

/// Not thread-safe.
class ReconnectBackoff {
 public:
  explicit ReconnectBackoff(milliseconds longest = std::chrono::seconds{5})
      : policy_{.base = std::min(milliseconds{100}, longest), .max_retries = most_doublings, .max_delay = longest} {}

  /// After another failure: how long to wait.
  [[nodiscard]] milliseconds next() {
    failures_ = std::min(failures_ + 1, most_doublings);
    const double draw = std::uniform_real_distribution<double>{0.0, 1.0}(generator_);
    return next_delay(policy_, failures_, draw)->delay;
  }

  /// Whether something failed since the last reset.
  [[nodiscard]] bool is_failing() const noexcept { return failures_ > 0; }
  void reset() noexcept { failures_ = 0; }

 private:
  static constexpr int most_doublings = 7;  // 100 ms · 2^6 is over every maximum already

  Exponential policy_;
  int failures_ = 0;  // in a row
  std::mt19937_64 generator_{std::random_device{}()};
};

}  // namespace dogged::db
