// The worker's own clock. This clock orders events in this process; all time of tasks is the database's.
#pragma once

#include <chrono>

namespace dogged::runtime {

using SteadyClock = std::chrono::steady_clock;
using TimePoint = SteadyClock::time_point;
using milliseconds = std::chrono::milliseconds;

constexpr TimePoint never = TimePoint::max();

/// The database gives no longer delay. A later time was set by hand, and would overflow the clock.
constexpr milliseconds longest_ahead = std::chrono::hours{24 * 3650};

}  // namespace dogged::runtime
