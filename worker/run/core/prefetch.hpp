// How many tasks beyond those that run a worker may hold ready. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace dogged::runtime {

/// A claimed task waits at most about this long for a thread, so that holding it keeps no other worker idle.
inline constexpr std::chrono::microseconds prefetch_window{20'000};
inline constexpr std::size_t max_prefetch = 1000;

/// How many tasks `concurrency` threads can begin within the window at `average_run`. None while the average is unknown
/// (zero), and none if tasks run longer than the window.
[[nodiscard]] inline std::size_t prefetch(std::size_t concurrency, std::chrono::nanoseconds average_run) {
  if (average_run <= std::chrono::nanoseconds{0} || average_run > prefetch_window) return 0;
  const auto rounds = static_cast<std::size_t>(std::chrono::nanoseconds{prefetch_window} / average_run);
  return std::min(concurrency * rounds, max_prefetch);
}

}  // namespace dogged::runtime
