// Virtual time: the order of events, in one thread, by one seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <utility>

#include "runtime/time.hpp"

namespace dogged::sim {

using runtime::milliseconds;
using runtime::TimePoint;
using Duration = runtime::SteadyClock::duration;

class Scheduler {
 public:
  explicit Scheduler(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] TimePoint now() const noexcept { return now_; }

  void at(TimePoint time, std::function<void()> what) {
    events_.emplace(std::pair{std::max(time, now_), ++count_}, std::move(what));
  }
  void after(Duration delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }

  /// Lets everything happen that does until `end`.
  void run_until(TimePoint end) {
    while (!events_.empty() && events_.begin()->first.first <= end) {
      auto event = events_.extract(events_.begin());
      now_ = event.key().first;
      event.mapped()();
    }
    now_ = std::max(now_, end);
  }

  /// Uniform in [low, high].
  [[nodiscard]] std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  [[nodiscard]] bool chance(int percent) { return pick(0, 99) < percent; }
  [[nodiscard]] Duration between(Duration low, Duration high) { return Duration{pick(low.count(), high.count())}; }

 private:
  std::mt19937_64 random_;
  TimePoint now_{std::chrono::hours{1}};
  std::uint64_t count_ = 0;
  std::multimap<std::pair<TimePoint, std::uint64_t>, std::function<void()>> events_;
};

}  // namespace dogged::sim
