// Virtual time: the order of events, in one thread, by one seed.
//
// Each incident draws from a stream of its own. So a run without one of its incidents keeps the others, and a failure
// can be shrunk.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "callback.hpp"

namespace dogged::sim {

using runtime::milliseconds;
using runtime::TimePoint;
using Duration = runtime::SteadyClock::duration;

/// Random numbers: SplitMix64, which begins anew at no cost.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  [[nodiscard]] std::uint64_t operator()() {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }
  /// Uniform in [low, high].
  [[nodiscard]] std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>((*this)() % static_cast<std::uint64_t>(high - low + 1));
  }
  [[nodiscard]] bool chance(int percent) { return pick(0, 99) < percent; }
  [[nodiscard]] Duration between(Duration low, Duration high) { return Duration{pick(low.count(), high.count())}; }

 private:
  std::uint64_t state_;
};

class Scheduler {
 public:
  explicit Scheduler(std::uint64_t seed) : seed_(seed), random_(Random{seed}()) {}

  /// Numbers that depend on the seed, `of` and `number` alone.
  [[nodiscard]] Random stream(std::uint64_t of, std::uint64_t number) const {
    return Random{Random{Random{Random{seed_}() ^ of}() ^ number}()};
  }

  [[nodiscard]] TimePoint now() const noexcept { return now_; }

  void at(TimePoint time, Callback what) {
    events_.push_back({std::max(time, now_), ++count_, std::move(what)});
    std::push_heap(events_.begin(), events_.end(), ComesLater{});
  }
  void after(Duration delay, Callback what) { at(now_ + delay, std::move(what)); }

  /// Lets everything happen that does until `end`.
  void run_until(TimePoint end) {
    while (!events_.empty() && events_.front().time <= end) {
      std::pop_heap(events_.begin(), events_.end(), ComesLater{});
      const Event event = std::move(events_.back());
      events_.pop_back();
      now_ = event.time;
      event.what();
    }
    now_ = std::max(now_, end);
  }

  [[nodiscard]] std::int64_t pick(std::int64_t low, std::int64_t high) { return random_.pick(low, high); }
  [[nodiscard]] bool chance(int percent) { return random_.chance(percent); }
  [[nodiscard]] Duration between(Duration low, Duration high) { return random_.between(low, high); }

 private:
  struct Event {
    TimePoint time;
    std::uint64_t number;
    Callback what;
  };
  struct ComesLater {
    bool operator()(const Event& a, const Event& b) const {
      return a.time != b.time ? a.time > b.time : a.number > b.number;
    }
  };

  const std::uint64_t seed_;
  Random random_;
  TimePoint now_{std::chrono::hours{1}};
  std::uint64_t count_ = 0;
  std::vector<Event> events_;  // a heap
};

}  // namespace dogged::sim
