// The offset between this host's clock and the server's. A statement gives the server's time. The server read its clock
// between the request and the answer: in the middle, give or take half of that time.
#pragma once

#include <chrono>
#include <cstdint>

namespace dogged::db {

struct ClockOffset {
  std::chrono::microseconds ahead{0};  ///< this host's clock minus the server's
  std::chrono::microseconds uncertainty{0};
};

/// The host's clock; another one in tests.
using HostClock = std::chrono::system_clock::time_point (*)();

/// Made before the statement is sent.
class ClockMeasurement {
 public:
  explicit ClockMeasurement(HostClock clock = std::chrono::system_clock::now)
      : asked_at_(clock()), since_(std::chrono::steady_clock::now()) {}

  /// `server_us`: the server's time in an answer that has just arrived, in microseconds since 1970.
  [[nodiscard]] ClockOffset offset_from(std::int64_t server_us) const {
    using std::chrono::microseconds;
    const auto half = std::chrono::ceil<microseconds>((std::chrono::steady_clock::now() - since_) / 2);
    const auto asked = std::chrono::floor<microseconds>(asked_at_.time_since_epoch());
    return {asked + half - microseconds{server_us}, half};
  }

 private:
  std::chrono::system_clock::time_point asked_at_;
  std::chrono::steady_clock::time_point since_;  // steady, because nobody can set it while the answer is under way
};

}  // namespace dogged::db
