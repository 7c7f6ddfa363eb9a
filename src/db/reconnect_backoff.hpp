// The backoff between two tries to reach a server that is away: doubled from 100 ms on. The jitter keeps a fleet from
// coming back all at once.
#pragma once

#include <chrono>
#include <random>

#include <dogged/delay.hpp>

namespace dogged::db {

/// Not thread-safe.
class ReconnectBackoff {
 public:
  explicit ReconnectBackoff(milliseconds longest = std::chrono::seconds{5}) : longest_(longest) {}

  /// After another failure: how long to wait.
  [[nodiscard]] milliseconds next();

  /// After a success.
  void reset() noexcept { failures_ = 0; }

 private:
  milliseconds longest_;
  int failures_ = 0;  // in a row
  std::mt19937_64 generator_{std::random_device{}()};
};

}  // namespace dogged::db
