// The retry budget: its bounds for any sequence of calls, and what retry() makes of it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <dogged/retry.hpp>

#include "retry_world.hpp"
#include "support/catch.hpp"
#include "support/property.hpp"

using namespace std::chrono_literals;
using namespace dogged;

namespace {

using time_point = RetryBudget::time_point;

constexpr time_point start = time_point{} + 1000h;
constexpr RetryBudgetSettings one_retry{.share = 0.1, .min_retries_per_second = 0.1, .window = 10s};

void execute(RetryBudget& budget, int count, time_point now) {
  for (int i = 0; i < count; ++i) budget.note_execution(now);
}

/// How many retries are admitted at once.
int admitted(RetryBudget& budget, time_point now) {
  int count = 0;
  while (count < 10'000 && budget.try_retry(now)) ++count;
  return count;
}

void require_refused(const RetryBudgetSettings& bad, const std::string& message) {
  try {
    const RetryBudget budget{bad};
    FAIL("was accepted; expected: " + message);
  } catch (const InvalidInput& error) {
    CHECK(error.what() == message);
  }
}

}  // namespace

TEST_CASE("settings of a budget out of their limits are refused with the field, the value and the limit") {
  const std::string share_limit = "; it must be over 0 and up to 1: 0.2 is one retry in five executions";
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  require_refused({.share = 0}, "share is 0" + share_limit);
  require_refused({.share = -0.1}, "share is -0.1" + share_limit);
  require_refused({.share = 1.5}, "share is 1.5" + share_limit);
  require_refused({.share = nan}, "share is nan" + share_limit);
  require_refused({.share = infinity}, "share is inf" + share_limit);
  const std::string rate_limit = "; it must be 0.1 to 1000000: at least one retry in the window of 10s";
  require_refused({.min_retries_per_second = 0}, "min_retries_per_second is 0" + rate_limit);
  require_refused({.min_retries_per_second = 0.09}, "min_retries_per_second is 0.09" + rate_limit);
  require_refused({.min_retries_per_second = -1}, "min_retries_per_second is -1" + rate_limit);
  require_refused({.min_retries_per_second = 1000001}, "min_retries_per_second is 1000001" + rate_limit);
  require_refused({.min_retries_per_second = nan}, "min_retries_per_second is nan" + rate_limit);
  require_refused({.min_retries_per_second = infinity}, "min_retries_per_second is inf" + rate_limit);
  require_refused({.window = 999ms}, "window is 999ms; it must be 1s to 1h");
  require_refused({.window = 1h + 1ms}, "window is 1h1ms; it must be 1s to 1h");
  require_refused({.window = -1s}, "window is -1s; it must be 1s to 1h");
  CHECK_NOTHROW(RetryBudget{});
  CHECK_NOTHROW(RetryBudget{{.share = 1, .min_retries_per_second = 1e6, .window = 1h}});
  CHECK_NOTHROW(RetryBudget{{.share = std::numeric_limits<double>::min(), .min_retries_per_second = 1, .window = 1s}});
  CHECK_NOTHROW(RetryBudget{{.min_retries_per_second = 1.0 / 3, .window = 3s}});
}

TEST_CASE("retries are a share of executions, and first attempts are never asked") {
  RetryBudget budget{one_retry};
  execute(budget, 100, start);
  CHECK(admitted(budget, start) == 10);
  CHECK(budget.counts(start).executions == 100);
  CHECK(budget.counts(start).retries == 10);
  execute(budget, 9, start);
  CHECK_FALSE(budget.try_retry(start));
  execute(budget, 1, start);
  CHECK(budget.try_retry(start));
}

TEST_CASE("a share that is no exact number admits what it says") {
  RetryBudget budget{{.share = 0.29, .min_retries_per_second = 0.1}};
  execute(budget, 100, start);
  CHECK(admitted(budget, start) == 29);
}

TEST_CASE("a budget that saw nothing admits its minimum, and the larger of the two holds, not their sum") {
  RetryBudget quiet{{.share = 0.2, .min_retries_per_second = 3}};
  CHECK(admitted(quiet, start) == 30);
  RetryBudget busy{{.share = 0.2, .min_retries_per_second = 3}};
  execute(busy, 149, start);
  CHECK(admitted(busy, start) == 30);
  execute(busy, 51, start);
  CHECK(admitted(busy, start) == 10);
}

TEST_CASE("executions and retries are forgotten after a window, and not before") {
  RetryBudget budget{one_retry};
  execute(budget, 100, start);
  CHECK(admitted(budget, start) == 10);
  CHECK_FALSE(budget.try_retry(start + 10s));
  CHECK(budget.counts(start + 10s).retries == 10);
  CHECK(budget.counts(start + 11s).retries == 0);
  CHECK(budget.counts(start + 11s).executions == 0);
  CHECK(admitted(budget, start + 11s) == 1);
}

TEST_CASE("after a refusal there is room when it was said, and not a tenth of the window sooner") {
  RetryBudget budget{one_retry};
  CHECK(budget.until_room(start) == 0ms);
  CHECK(budget.try_retry(start + 300ms));
  const milliseconds wait = budget.until_room(start + 4s);
  CHECK(wait == 7s);
  CHECK_FALSE(budget.try_retry(start + 4s + wait - 1ms));
  CHECK(budget.try_retry(start + 4s + wait));
}

TEST_CASE("a clock that goes back counts as the latest time that was seen") {
  RetryBudget budget{one_retry};
  CHECK(budget.try_retry(start));
  CHECK_FALSE(budget.try_retry(start - 1h));
  execute(budget, 10, start - 1h);
  CHECK(budget.counts(start).executions == 10);
}

TEST_CASE("a budget counts before the clock's beginning as after it") {
  RetryBudget budget{one_retry};
  const time_point before = time_point{} - 500ms;
  CHECK(budget.try_retry(before));
  CHECK_FALSE(budget.try_retry(time_point{} + 9s));
  CHECK(budget.try_retry(time_point{} + 10s));
}

TEST_CASE("threads that share a budget get no more than it has, and no less") {
  RetryBudget budget{{.share = 0.5, .min_retries_per_second = 1}};
  std::atomic<int> total{0};
  const auto work = [&] {
    for (int i = 0; i < 2000; ++i) {
      budget.note_execution(start);
      if (budget.try_retry(start)) ++total;
    }
    while (budget.try_retry(start)) ++total;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  CHECK(total == 4000);
}

namespace {

/// An execution or a retry, to be counted anew without slots.
struct Event {
  time_point at;
  bool is_retry;
};

double counted(const std::vector<Event>& events, bool is_retry, time_point after, time_point until) {
  return static_cast<double>(std::count_if(events.begin(), events.end(), [&](const Event& event) {
    return event.is_retry == is_retry && event.at > after && event.at <= until;
  }));
}

/// Steps that are short and long against the window and its tenths.
milliseconds any_step(milliseconds window) {
  const auto up_to = [](std::int64_t most) { return milliseconds{test::any_in_range(0, most + 1)}; };
  switch (test::any_of(4)) {
    case 0:
      return 0ms;
    case 1:
      return up_to(10);
    case 2:
      return up_to(window.count() / 10);
    default:
      return up_to(window.count() * 2);
  }
}

RetryBudgetSettings any_settings() {
  RetryBudgetSettings settings;
  settings.share = test::any_in_range(1, 101) / 100.0;
  settings.window = milliseconds{test::any_in_range(1000, 20'001)};
  settings.min_retries_per_second = test::any_in_range(1, 8) / std::chrono::duration<double>(settings.window).count();
  return settings;
}

}  // namespace

TEST_CASE("no window holds more retries than the budget, and none is refused that it has room for") {
  const bool holds = test::holds([] {
    const RetryBudgetSettings settings = any_settings();
    const milliseconds tenth = settings.window / 10;
    const double reserve = settings.min_retries_per_second * std::chrono::duration<double>(settings.window).count();
    RetryBudget budget{settings};
    std::vector<Event> events;
    time_point now = start;
    for (int step = 0; step < 60; ++step) {
      now += any_step(settings.window);
      for (int left = test::any_in_range(0, 6); left > 0; --left) {
        budget.note_execution(now);
        events.push_back({now, false});
      }
      const milliseconds wait = budget.until_room(now);
      const bool is_admitted = budget.try_retry(now);
      RC_ASSERT(is_admitted == (wait == 0ms));
      RC_ASSERT(wait <= settings.window + tenth + 1ms);
      // Counted is at least the window, and at most a tenth (and a rounding) more.
      const time_point least = now - settings.window;
      const time_point most = least - tenth - 1ms;
      if (is_admitted) {
        events.push_back({now, true});
        const double room = std::max(reserve, settings.share * counted(events, false, most, now));
        RC_ASSERT(counted(events, true, least, now) <= room + 1e-6);
      } else {
        const double room = std::max(reserve, settings.share * counted(events, false, least, now));
        RC_ASSERT(counted(events, true, most, now) + 1 > room - 1e-6);
      }
    }
  });
  CHECK(holds);
}

TEST_CASE("a refused retry is admitted when it asks again at the time that it was told") {
  const bool holds = test::holds([] {
    const RetryBudgetSettings settings = any_settings();
    RetryBudget budget{settings};
    time_point now = start;
    for (int step = 0; step < 40; ++step) {
      now += any_step(settings.window);
      for (int left = test::any_in_range(0, 6); left > 0; --left) budget.note_execution(now);
      if (budget.try_retry(now)) continue;
      now += budget.until_room(now);
      RC_ASSERT(budget.try_retry(now));
    }
  });
  CHECK(holds);
}

namespace {

const auto always_fails = [] { throw std::runtime_error{"down"}; };

}  // namespace

TEST_CASE("a retry that its budget has no room for ends with the last error, and says so") {
  retry_world::World world;
  RetryBudget budget{one_retry};
  auto options = world.options();
  options.budget = &budget;
  const auto first = retry(fixed(1s).with_max_retries(3), always_fails, options);
  CHECK(first.end == RetryEnd::budget_spent);
  CHECK(std::string{to_text(first.end)} == "budget_spent");
  CHECK(first.attempts == 2);
  CHECK(world.waits == std::vector<milliseconds>{1s});
  CHECK_THROWS_WITH(first.value(), "down");
  CHECK(retry(fixed(1s), always_fails, options).attempts == 1);
  CHECK(budget.counts(world.now).executions == 3);
  CHECK(budget.counts(world.now).retries == 1);
}

TEST_CASE("a failure that would not be retried anyway takes no room of a budget") {
  retry_world::World world;
  RetryBudget budget;
  auto options = world.options();
  options.budget = &budget;
  const auto never = [](const std::exception&) { return false; };
  CHECK(retry_if(fixed(1s), always_fails, never, options).end == RetryEnd::not_retryable);
  CHECK(retry(NoRetry{}, always_fails, options).end == RetryEnd::retries_spent);
  options.deadline = world.now + 1s;
  CHECK(retry(fixed(1s), always_fails, options).end == RetryEnd::deadline);
  CHECK(budget.counts(world.now).retries == 0);
  CHECK(budget.counts(world.now).executions == 3);
}

TEST_CASE("where all calls fail, a budget bounds what the other side is asked") {
  retry_world::World world;
  RetryBudget budget{{.share = 0.2, .min_retries_per_second = 0.1}};
  auto options = world.options();
  options.budget = &budget;
  options.wait = [](std::chrono::nanoseconds, const std::stop_token&) { return true; };
  int calls = 0;
  const auto counted_call = [&] {
    ++calls;
    throw std::runtime_error{"down"};
  };
  for (int i = 0; i < 1000; ++i) CHECK_FALSE(retry(fixed(1s).with_max_retries(20), counted_call, options));
  // Every fifth call is a retry: 1000 first attempts are four fifths of the calls.
  CHECK(calls >= 1240);
  CHECK(calls <= 1250);
}
