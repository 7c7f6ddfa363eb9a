// In which order a worker shuts down: every outcome of every step.
#include "runtime/core/shutdown.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using Step = Shutdown::Step;
using dogged::test::start;

namespace {

constexpr Shutdown::Times usual_times{.grace = 30s, .stop_grace = 5s};

/// The steps of a shutdown in which `fails` says which of them fail.
std::vector<Step> steps(const std::function<bool(Step)>& fails) {
  Shutdown shutdown{usual_times};
  std::vector<Step> steps;
  while (shutdown.next(start).step != Step::ended) {
    steps.push_back(shutdown.next(start).step);
    REQUIRE(steps.size() < 20);
    shutdown.on_done(!fails(steps.back()));
  }
  return steps;
}

std::ptrdiff_t place_of(const std::vector<Step>& steps, Step step) {
  return std::find(steps.begin(), steps.end(), step) - steps.begin();
}

bool has(const std::vector<Step>& steps, Step step) {
  return place_of(steps, step) < static_cast<std::ptrdiff_t>(steps.size());
}

/// Each set of steps that may fail.
void for_all_failures(const std::function<void(const std::vector<Step>& steps, unsigned failures)>& check) {
  for (unsigned failures = 0; failures < 1U << 10U; ++failures) {
    check(steps([&](Step step) { return (failures >> static_cast<unsigned>(step) & 1U) != 0; }), failures);
  }
}

/// Each way through a shutdown: each outcome of each step, whatever the steps before it gave. Gives how many there are.
int walk_shutdown(const Shutdown& shutdown, std::vector<Step> before) {
  CAPTURE(before);
  const Step step = shutdown.next(start).step;
  REQUIRE((step == Step::ended || !has(before, step)));  // no step is repeated, so that the worker ends
  if (step == Step::record_interrupted) REQUIRE(has(before, Step::sign_off));
  before.push_back(step);
  int ways = 0;
  for (const bool success : {true, false}) {
    Shutdown next = shutdown;
    if (step == Step::ended) {
      REQUIRE_THROWS_AS(next.on_done(success), std::logic_error);
    } else {
      next.on_done(success);
      ways += walk_shutdown(next, before);
    }
  }
  return std::max(ways, 1);
}

constexpr bool failed(unsigned failures, Step step) { return (failures >> static_cast<unsigned>(step) & 1U) != 0; }

}  // namespace

TEST_CASE("a worker whose handlers finish in time sets no stop token") {
  const std::vector<Step> expected{Step::stop_claiming,      Step::give_back,      Step::let_finish,
                                   Step::give_up_handlers,   Step::write_reports,  Step::sign_off,
                                   Step::record_interrupted, Step::finish_reports, Step::wake_others};
  CHECK(steps([](Step) { return false; }) == expected);
}

TEST_CASE("whatever fails, no attempt is recorded as interrupted before the worker has tried to sign off") {
  for_all_failures([](const std::vector<Step>& steps, unsigned failures) {
    CAPTURE(failures);
    CHECK(place_of(steps, Step::stop_claiming) < place_of(steps, Step::give_back));
    CHECK(place_of(steps, Step::give_up_handlers) < place_of(steps, Step::write_reports));
    CHECK(place_of(steps, Step::write_reports) < place_of(steps, Step::sign_off));
    CHECK(place_of(steps, Step::sign_off) < place_of(steps, Step::record_interrupted));
    CHECK(place_of(steps, Step::record_interrupted) < place_of(steps, Step::finish_reports));
    CHECK(has(steps, Step::finish_reports));
  });
}

TEST_CASE("whichever step of a shutdown fails, none is repeated, and the worker ends for good") {
  CHECK(walk_shutdown(Shutdown{usual_times}, {}) > 500);
}

TEST_CASE("stop tokens are set exactly if handlers run on after the grace period") {
  for_all_failures([](const std::vector<Step>& steps, unsigned failures) {
    CAPTURE(failures);
    CHECK(has(steps, Step::stop_handlers) == failed(failures, Step::let_finish));
  });
}

TEST_CASE("other workers are woken unless nothing was interrupted and PostgreSQL does not answer") {
  for_all_failures([](const std::vector<Step>& steps, unsigned failures) {
    CAPTURE(failures);
    CHECK(has(steps, Step::wake_others) == (failed(failures, Step::let_finish) || !failed(failures, Step::sign_off)));
  });
}

TEST_CASE("each wait of a shutdown has its own time, counted from when it begins") {
  Shutdown shutdown{usual_times};
  std::vector<std::pair<Step, TimePoint>> waits;
  for (auto now = start; shutdown.next(now).step != Step::ended; now += 1min) {
    const Shutdown::Action action = shutdown.next(now);
    if (action.until != never) waits.emplace_back(action.step, TimePoint{action.until - now});
    shutdown.on_done(false);
  }
  CHECK(waits == std::vector<std::pair<Step, TimePoint>>{{Step::give_back, TimePoint{5s}},
                                                         {Step::let_finish, TimePoint{30s}},
                                                         {Step::stop_handlers, TimePoint{5s}},
                                                         {Step::write_reports, TimePoint{5s}},
                                                         {Step::finish_reports, TimePoint{5s}}});
}

TEST_CASE("within a limit running attempts have at most that time in all, and the stop grace comes before the grace") {
  constexpr int most_units = 4;
  for (int limit = 0; limit <= 2 * most_units + 1; ++limit) {
    for (int grace = 0; grace <= most_units; ++grace) {
      for (int stop_grace = 0; stop_grace <= most_units; ++stop_grace) {
        CAPTURE(limit, grace, stop_grace);
        int left = limit;  // hands out one unit after the other
        Shutdown::Times expected;
        for (; left > 0 && expected.stop_grace < stop_grace * 1s; --left) expected.stop_grace += 1s;
        for (; left > 0 && expected.grace < grace * 1s; --left) expected.grace += 1s;
        REQUIRE(Shutdown::times_within(limit * 1s, {.grace = grace * 1s, .stop_grace = stop_grace * 1s}) == expected);
      }
    }
  }
}

TEST_CASE("without a limit running attempts have all the time that the settings give them, however long") {
  constexpr milliseconds longest = milliseconds::max();
  CHECK(Shutdown::times_within(longest, usual_times) == usual_times);
  CHECK(Shutdown::times_within(longest, {.grace = longest, .stop_grace = 5s}) ==
        Shutdown::Times{.grace = longest - 5s, .stop_grace = 5s});
  CHECK(Shutdown::times_within(longest, {.grace = longest, .stop_grace = longest}) ==
        Shutdown::Times{.grace = 0s, .stop_grace = longest});
}

TEST_CASE("a negative time of a shutdown is a mistake of dogged") {
  CHECK_THROWS_AS(Shutdown::times_within(-1ms, usual_times), std::logic_error);
  CHECK_THROWS_AS(Shutdown::times_within(30s, {.grace = -1ms, .stop_grace = 5s}), std::logic_error);
  CHECK_THROWS_AS(Shutdown::times_within(30s, {.grace = 30s, .stop_grace = -1ms}), std::logic_error);
}
