// How far this host's clock is off the server's, measured beside a statement that tells the server's time: the server's
// clock was read at some moment between asking and the answer, in the middle, give or take half of it.
#pragma once

#include <chrono>
#include <cstdint>

namespace dogged::db {

struct ClockOffset {
  std::chrono::microseconds ahead{0};  ///< this host's clock less the server's
  std::chrono::microseconds uncertainty{0};
};

/// The host's clock; another one in tests.
using HostClock = std::chrono::system_clock::time_point (*)();

/// Made before the statement is sent.
class ClockMeasurement {
 public:
  explicit ClockMeasurement(HostClock clock = std::chrono::system_clock::now)
      : asked_at_(clock()), since_(std::chrono::steady_clock::now()) {}

  /// `server_us`: what the answer, which has just come, gives as the server's time, in microseconds since 1970.
  [[nodiscard]] ClockOffset offset_from(std::int64_t server_us) const {
    using std::chrono::microseconds;
    const auto half = std::chrono::ceil<microseconds>((std::chrono::steady_clock::now() - since_) / 2);
    const auto asked = std::chrono::floor<microseconds>(asked_at_.time_since_epoch());
    return {asked + half - microseconds{server_us}, half};
  }

 private:
  std::chrono::system_clock::time_point asked_at_;
  std::chrono::steady_clock::time_point since_;  // which no one sets while the answer is under way
};

}  // namespace dogged::db
