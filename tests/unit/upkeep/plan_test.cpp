// Upkeep's next action, and its order.
#include "upkeep/core/plan.hpp"

#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using dogged::runtime::Lease;
using dogged::runtime::milliseconds;
using dogged::runtime::Outlook;
using dogged::runtime::TimePoint;
using dogged::runtime::UpkeepPlan;
using dogged::test::start;

namespace {

using UpkeepStep = UpkeepPlan::Step;

constexpr UpkeepPlan::Settings each_second{.heartbeat = 1s};
constexpr Outlook nothing_found{.newest_began_ago = 1h};

void answer(UpkeepPlan& plan, const Outlook& found, TimePoint at = start) {
  const Lease own{1, 30s, at};
  REQUIRE_FALSE(plan.on_looked(found, own, at));
}

/// A plan that has looked and compared at `start`, and then `found` something.
UpkeepPlan plan_after(const Outlook& found) {
  UpkeepPlan plan{each_second, start};
  REQUIRE(plan.next(start).step == UpkeepStep::look);
  answer(plan, found);
  return plan;
}

std::string text_of(const UpkeepPlan::Action& action) {
  std::ostringstream text;
  text << action;
  return text.str();
}

}  // namespace

TEST_CASE("upkeep without work looks, compares declarations, and waits for the next heartbeat") {
  UpkeepPlan plan{each_second, start};
  CHECK(plan.next(start) == UpkeepPlan::Action{.step = UpkeepStep::look});
  answer(plan, nothing_found);
  CHECK(plan.next(start) == UpkeepPlan::Action{.step = UpkeepStep::compare});
  plan.on_compared();
  CHECK(plan.next(start) == UpkeepPlan::Action{.step = UpkeepStep::wait, .until = start + 1s, .all_answered = true});
  CHECK(plan.next(start + 1ms) == UpkeepPlan::Action{.step = UpkeepStep::wait, .until = start + 1s});
  CHECK(plan.next(start + 1s) == UpkeepPlan::Action{.step = UpkeepStep::look, .look_back = 61s});
}

TEST_CASE("lapsed leases are ended, their tasks are rescued, and another look finds what is due after that") {
  UpkeepPlan plan = plan_after({.lapses_in = -5ms});
  CHECK(plan.state() == UpkeepPlan::State::end_leases);
  CHECK(plan.next(start).step == UpkeepStep::end_leases);
  plan.on_leases_ended();
  CHECK(plan.next(start).step == UpkeepStep::rescue);
  plan.on_rescued(false);
  CHECK(plan.next(start).step == UpkeepStep::look);
  answer(plan, nothing_found);
  CHECK(plan.next(start).step == UpkeepStep::compare);
}

TEST_CASE("the tasks of leases that were ended before are rescued, and no lease is ended") {
  UpkeepPlan plan = plan_after({.has_to_rescue = true, .lapses_in = 1h});
  CHECK(plan.next(start).step == UpkeepStep::rescue);
  plan.on_rescued(true);
  CHECK(plan.next(start).step == UpkeepStep::look);
  answer(plan, {.has_to_rescue = true});
  CHECK(plan.next(start).step == UpkeepStep::compare);
  plan.on_compared();
  CHECK(plan.next(start).until == start + 250ms);
}

TEST_CASE("upkeep says once that the others have time to renew their leases") {
  UpkeepPlan plan{each_second, start};
  const Lease unsteady{1, 30s, start - 10s};
  (void)plan.next(start);
  CHECK(plan.on_looked({.lapses_in = -5ms}, unsteady, start));
  CHECK(plan.next(start).step == UpkeepStep::compare);
  CHECK(plan.next(start).until == start + 1s);
  CHECK(plan.next(start + 1s).step == UpkeepStep::look);
  CHECK_FALSE(plan.on_looked({.lapses_in = -5ms}, unsteady, start + 1s));
}

TEST_CASE("between two batches of expired tasks due ticks are fired and due looks are taken, and comparisons wait") {
  UpkeepPlan plan = plan_after({.has_expired = true, .tick_due_in = 10ms});
  CHECK(plan.next(start) == UpkeepPlan::Action{.step = UpkeepStep::expire});
  plan.on_expired(1000);
  CHECK(plan.next(start + 1ms).step == UpkeepStep::expire);
  plan.on_expired(1000);
  const TimePoint later = start + 1s;
  CHECK(plan.next(later).step == UpkeepStep::fire_ticks);
  plan.on_fired(50, 0ms, later);
  CHECK(plan.next(later).step == UpkeepStep::look);
  answer(plan, {.lapses_in = 1h, .tick_due_in = 0ms}, later);
  CHECK(plan.next(later).step == UpkeepStep::expire);
  plan.on_expired(0);
  CHECK(plan.next(later).step == UpkeepStep::compare);
  plan.on_compared();
  CHECK(plan.next(later).step == UpkeepStep::fire_ticks);
}

TEST_CASE("ticks that are due without end do not keep a due look waiting") {
  UpkeepPlan plan = plan_after({.tick_due_in = 0ms});
  plan.on_compared();
  TimePoint now = start;
  int fired = 0;
  for (UpkeepPlan::Action action = plan.next(now); action.step != UpkeepStep::look; action = plan.next(now)) {
    if (action.step == UpkeepStep::compare) continue;
    REQUIRE(action.step == UpkeepStep::fire_ticks);
    REQUIRE(now <= start + 1s);
    now += 100ms;
    plan.on_fired(50, -1ms, now);
    ++fired;
  }
  CHECK(fired == 10);
}

TEST_CASE("upkeep says after each round that the database has answered, also where work never ends") {
  UpkeepPlan plan = plan_after({.tick_due_in = 0ms});
  CHECK(plan.next(start).step == UpkeepStep::compare);
  plan.on_compared();
  for (int round = 0; round < 3; ++round) {
    CHECK(plan.next(start) == UpkeepPlan::Action{.step = UpkeepStep::fire_ticks, .all_answered = true});
    plan.on_fired(50, -1ms, start);
  }
  CHECK(plan.next(start) == UpkeepPlan::Action{.step = UpkeepStep::fire_ticks, .all_answered = true});
  plan.on_failure();
  CHECK(plan.next(start) == UpkeepPlan::Action{.step = UpkeepStep::fire_ticks});
}

TEST_CASE("ticks and comparisons that PostgreSQL refuses are tried again later, and hold up no look") {
  UpkeepPlan plan = plan_after({.lapses_in = 1h, .tick_due_in = 0ms});
  CHECK(plan.next(start).step == UpkeepStep::compare);
  plan.on_comparison_refused(start);
  CHECK(plan.next(start).step == UpkeepStep::fire_ticks);
  plan.on_ticks_refused(start);
  CHECK(plan.next(start) == UpkeepPlan::Action{.step = UpkeepStep::wait, .until = start + 1s, .all_answered = true});
  CHECK(plan.next(start + 1s).step == UpkeepStep::fire_ticks);
  plan.on_ticks_refused(start + 1s);
  CHECK(plan.next(start + 1s).step == UpkeepStep::look);
  answer(plan, {.lapses_in = 1h}, start + 1s);
  CHECK(plan.next(start + 1s).step == UpkeepStep::wait);
  CHECK(plan.next(start + 10s).step == UpkeepStep::look);
  answer(plan, {.lapses_in = 1h}, start + 10s);
  CHECK(plan.next(start + 10s).step == UpkeepStep::compare);
}

TEST_CASE("after a failure upkeep reaches the server, and looks once the others had a heartbeat to renew") {
  UpkeepPlan plan = plan_after({.lapses_in = -5ms});
  CHECK(plan.next(start).step == UpkeepStep::end_leases);
  plan.on_failure();
  CHECK(plan.next(start).step == UpkeepStep::connect);
  CHECK(plan.next(start) == UpkeepPlan::Action{.step = UpkeepStep::wait, .until = start + 1s});
  CHECK(plan.next(start + 1s).step == UpkeepStep::look);
}

TEST_CASE("after a failure upkeep goes on firing ticks while the others have time to renew") {
  UpkeepPlan plan = plan_after({.tick_due_in = 0ms});
  plan.on_failure();
  CHECK(plan.next(start).step == UpkeepStep::fire_ticks);
  plan.on_fired(1, 300ms, start);
  CHECK(plan.next(start).step == UpkeepStep::connect);
  CHECK(plan.next(start).until == start + 300ms);
  CHECK(plan.next(start + 300ms).step == UpkeepStep::fire_ticks);
}

TEST_CASE("upkeep looks at once when a worker begins, and fires at once when a schedule is set") {
  UpkeepPlan plan = plan_after(nothing_found);
  CHECK(plan.next(start).step == UpkeepStep::compare);
  plan.on_compared();
  CHECK(plan.next(start).step == UpkeepStep::wait);
  plan.on_told({.worker_began = true, .schedules_changed = true}, start + 1ms);
  CHECK(plan.next(start + 1ms).step == UpkeepStep::fire_ticks);
  plan.on_fired(0, 1h, start + 1ms);
  CHECK(plan.next(start + 1ms).step == UpkeepStep::look);
  answer(plan, nothing_found, start + 1ms);
  CHECK(plan.next(start + 1ms).step == UpkeepStep::compare);
}

TEST_CASE("upkeep that stops rescues the tasks whose leases it has ended, and begins nothing else") {
  UpkeepPlan plan = plan_after({.lapses_in = -5ms, .has_expired = true, .tick_due_in = 0ms});
  CHECK(plan.next(start).step == UpkeepStep::end_leases);
  plan.on_stopping();
  plan.on_leases_ended();
  CHECK(plan.next(start).step == UpkeepStep::rescue);
  plan.on_rescued(false);
  CHECK(plan.next(start).step == UpkeepStep::end);

  UpkeepPlan idle = plan_after({.has_expired = true, .tick_due_in = 0ms});
  idle.on_stopping();
  CHECK(idle.next(start).step == UpkeepStep::end);
}

TEST_CASE("upkeep's actions can be read in a log") {
  CHECK(text_of({.step = UpkeepStep::wait, .until = TimePoint{5ns}}) == "wait until 5");
  CHECK(text_of({.step = UpkeepStep::wait, .until = TimePoint{5ns}, .all_answered = true}) ==
        "wait until 5, all answered");
  CHECK(text_of({.step = UpkeepStep::look}) == "look back for ever");
  CHECK(text_of({.step = UpkeepStep::expire, .look_back = 65s}) == "expire back 65000 ms");
  CHECK(text_of({.step = UpkeepStep::fire_ticks}) == "fire ticks");
  CHECK(text_of({}) == "end");
}

TEST_CASE("the next look goes back to the look after a rescue, and not to the look that asked for the rescue") {
  UpkeepPlan plan = plan_after({.has_to_rescue = true, .lapses_in = 1h});
  CHECK(plan.next(start).step == UpkeepStep::rescue);
  plan.on_rescued(false);
  const TimePoint again_at = start + 5s;
  CHECK(plan.next(again_at).step == UpkeepStep::look);
  answer(plan, nothing_found, again_at);
  CHECK(plan.next(again_at).step == UpkeepStep::compare);
  plan.on_compared();
  CHECK(plan.next(again_at).step == UpkeepStep::wait);
  CHECK(plan.next(again_at + 1s) == UpkeepPlan::Action{.step = UpkeepStep::look, .look_back = 61s});
}

TEST_CASE("after a failure tasks are expired only if another look finds some") {
  const bool finds_some = GENERATE(true, false);
  UpkeepPlan plan = plan_after({.lapses_in = 1h, .has_expired = true});
  CHECK(plan.next(start).step == UpkeepStep::expire);
  plan.on_failure();
  CHECK(plan.next(start).step == UpkeepStep::connect);
  CHECK(plan.next(start).step == UpkeepStep::wait);
  CHECK(plan.next(start + 1s).step == UpkeepStep::look);
  answer(plan, {.lapses_in = 1h, .has_expired = finds_some}, start + 1s);
  CHECK(plan.next(start + 1s).step == (finds_some ? UpkeepStep::expire : UpkeepStep::compare));
}
