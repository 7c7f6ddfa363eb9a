// A queue's retry budget in a worker, over simulated time.
#include "claim/core/retry_throttle.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using runtime::RetryThrottle;
using TimePoint = RetryThrottle::time_point;
using dogged::test::start;

namespace {

/// Carries out a sequence of questions, attempts and pauses: an event for each digit.
class ThrottleRun {
 public:
  explicit ThrottleRun(double share) : settings_{.share = share, .min_retries_per_second = 0.1} {}

  void act(int event) {
    switch (event) {
      case 0:
      case 1:
        return ask(event == 0 ? 0.0 : 0.999);
      case 2:
        throttle_.note_execution(now_);
        return budget_.note_execution(now_);
      case 3:
        now_ = std::max(now_, last_back_);
        return;
      case 4:
        now_ += 7s;
        return;
      default:
        return take_end();
    }
  }

  /// When all have come back, the end is told, and every retry was counted that was made to wait.
  void end() {
    now_ = std::max(now_, last_back_) + 1s;
    take_end();
    CHECK(told_ == deferred_);
    CHECK_FALSE(throttle_.holds_back());
  }

 private:
  void ask(double draw) {
    const auto wait = throttle_.ask(now_, draw);
    REQUIRE(wait.has_value() == !budget_.try_retry(now_));
    if (!wait) return;
    ++deferred_;
    REQUIRE(*wait >= 1ms);
    REQUIRE(*wait <= RetryThrottle::longest_wait * 5 / 4);
    last_back_ = std::max<TimePoint>(last_back_, now_ + *wait);
  }

  void take_end() {
    const auto told = throttle_.take_end(now_);
    REQUIRE(told.has_value() == (deferred_ > told_ && now_ >= last_back_ + 1s));  // not while one may still wait
    told_ += told.value_or(0);
    REQUIRE(throttle_.holds_back() == (deferred_ > told_));
  }

  const RetryBudgetSettings settings_;
  RetryThrottle throttle_{settings_};
  RetryBudget budget_{settings_};  // asked the same questions
  TimePoint now_ = start;
  TimePoint last_back_ = start;
  std::int64_t deferred_ = 0;
  std::int64_t told_ = 0;
};

}  // namespace

TEST_CASE("a retry within the budget begins at once") {
  RetryThrottle throttle{{.share = 0.2, .min_retries_per_second = 10}};
  CHECK(throttle.ask(start, 0.5) == std::nullopt);
  CHECK_FALSE(throttle.holds_back());
}

TEST_CASE("a retry beyond the budget waits, and at least a millisecond") {
  RetryThrottle throttle{{.share = 0.2, .min_retries_per_second = 0.1}};
  REQUIRE(throttle.ask(start, 0.0) == std::nullopt);
  const auto wait = throttle.ask(start, 0.0);
  REQUIRE(wait);
  CHECK(*wait >= 1ms);
  CHECK(throttle.holds_back());
}

TEST_CASE("the end of a shortage is told once, when what was made to wait has asked again") {
  RetryThrottle throttle{{.share = 0.2, .min_retries_per_second = 0.1}};
  (void)throttle.ask(start, 0.5);
  const auto first = throttle.ask(start, 0.5);
  const auto second = throttle.ask(start, 0.5);
  REQUIRE((first && second));
  CHECK(throttle.take_end(start + *second) == std::nullopt);
  CHECK(throttle.take_end(start + *second + 1s) == 2);
  CHECK(throttle.take_end(start + *second + 1s) == std::nullopt);
  CHECK_FALSE(throttle.holds_back());
}

TEST_CASE(
    "in all sequences of questions, attempts and pauses, a retry waits only beyond the budget, no wait is too long, "
    "and each retry that waits is told of once, when all have asked again",
    "[one_thread]") {
  constexpr int events = 6;
  constexpr int length = 6;
  int sequences = 1;
  for (int i = 0; i < length; ++i) sequences *= events;
  for (int sequence = 0; sequence < sequences; ++sequence) {
    for (const double share : {0.2, 1.0}) {  // 1.0: each attempt makes room for a retry
      CAPTURE(sequence, share);
      ThrottleRun run{share};
      for (int rest = sequence, i = 0; i < length; ++i, rest /= events) run.act(rest % events);
      run.end();
    }
  }
}

TEST_CASE("of a thousand retries after an outage each has its turn, at the rate of the budget, and few ask twice") {
  std::mt19937 random{7};
  std::uniform_real_distribution<double> draw{0.0, 1.0};
  RetryThrottle throttle{{.share = 0.1, .min_retries_per_second = 20}};
  std::multimap<TimePoint, int> waiting;  // when, and how often it has asked
  for (int i = 0; i < 1000; ++i) waiting.emplace(start + i * 1ms, 0);
  std::map<std::chrono::seconds, int> begun;  // by seconds
  int asked = 0;
  while (!waiting.empty()) {
    const auto [now, times] = *waiting.begin();
    waiting.erase(waiting.begin());
    REQUIRE(now < start + 10min);
    ++asked;
    if (const auto wait = throttle.ask(now, draw(random))) {
      CHECK(*wait <= RetryThrottle::longest_wait * 5 / 4);
      waiting.emplace(now + *wait, times + 1);
    } else {
      throttle.note_execution(now);
      ++begun[std::chrono::duration_cast<std::chrono::seconds>(now - start)];
    }
  }
  int in_window = 0;
  for (const auto& [second, count] : begun) {
    in_window = 0;
    for (auto other = begun.lower_bound(second - 9s); other != begun.upper_bound(second); ++other)
      in_window += other->second;
    CHECK(in_window <= 220);  // 20 a second for 10 s, and what the seconds at both ends cut
  }
  CHECK(asked < 5000);
}
