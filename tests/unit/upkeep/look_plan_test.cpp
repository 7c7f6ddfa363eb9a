// When upkeep looks next.
#include "upkeep/core/look_plan.hpp"

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using dogged::runtime::LookPlan;
using dogged::runtime::milliseconds;
using dogged::runtime::Outlook;
using dogged::runtime::TimePoint;
using dogged::test::start;

TEST_CASE(
    "upkeep looks when the next lease lapses, at least each heartbeat of the first workers, and soon for locked "
    "tasks") {
  const auto looks_after = [](const Outlook& found, bool left_tasks) {
    LookPlan plan{1s, false, start};
    plan.on_rescued(left_tasks);
    plan.on_looked(found, false, start);
    return plan.looks_at() - start;
  };
  CHECK(looks_after({}, false) == 1s);
  CHECK(looks_after({.comes_first = false}, false) == 6s);
  CHECK(looks_after({.lapses_in = 300ms}, false) == 301ms);
  CHECK(looks_after({.lapses_in = 300ms, .comes_first = false}, false) == 301ms);
  CHECK(looks_after({.lapses_in = 1h}, false) == 1s);
  CHECK(looks_after({.lapses_in = 1h, .comes_first = false}, false) == 6s);
  CHECK(looks_after({.lapses_in = -1h}, false) == 50ms);
  CHECK(looks_after({.lapses_in = 1h, .comes_first = false}, true) == 250ms);
}

TEST_CASE("while the others are let renew, upkeep looks each heartbeat") {
  LookPlan plan{1s, false, start};
  plan.on_looked({.lapses_in = -5ms, .comes_first = false}, true, start);
  CHECK(plan.looks_at() == start + 1s);
}

TEST_CASE(
    "tasks that a rescue leaves again and again are tried less often, up to once a heartbeat, until none is left") {
  constexpr Outlook nothing_soon{.lapses_in = 1h, .comes_first = false};
  LookPlan plan{1s, false, start};
  TimePoint now = start;
  const auto waits = [&](const Outlook& found, bool left_tasks) {
    plan.on_rescued(left_tasks);
    plan.on_looked(found, false, now);
    return std::chrono::duration_cast<milliseconds>(plan.looks_at() - now);
  };
  for (const milliseconds wait : {250ms, 500ms, 1000ms, 1000ms}) {
    CHECK(waits(nothing_soon, true) == wait);
    for (int early = 0; early < 3; ++early) {  // another lease has lapsed, and a claim under way holds up its end
      CHECK(waits({.lapses_in = -1ms}, true) == 50ms);
      now = plan.looks_at();
    }
    CHECK(waits(nothing_soon, true) == wait - 150ms);
    now = plan.looks_at();
  }
  CHECK(waits(nothing_soon, false) == 6s);
  CHECK(waits(nothing_soon, true) == 250ms);

  LookPlan quick{100ms, false, start};
  quick.on_rescued(true);
  quick.on_looked({}, false, start);
  CHECK(quick.looks_at() == start + 100ms);
}

TEST_CASE("a look without a rescue leaves no task") {
  LookPlan plan{1s, false, start};
  plan.on_rescued(true);
  plan.on_looked({.comes_first = false}, false, start);
  plan.on_looked({.comes_first = false}, false, start + 250ms);
  CHECK(plan.looks_at() == start + 250ms + 6s);
}

TEST_CASE("after a failure upkeep tries again at once, and does not look before the others had a heartbeat to renew") {
  LookPlan plan{1s, false, start};
  CHECK(plan.next(start) == LookPlan::Ask::look);
  plan.on_failure();
  CHECK(plan.looks_at() <= start);
  CHECK(plan.next(start + 10s) == LookPlan::Ask::connect);
  CHECK(plan.looks_at() == start + 11s);
  CHECK(plan.next(start + 10s) == LookPlan::Ask::nothing);
  CHECK(plan.next(start + 11s) == LookPlan::Ask::look);
}

TEST_CASE("the others' heartbeat to renew counts from the first try after the last failure, however late it comes") {
  LookPlan plan{1s, false, start};
  plan.on_failure();
  CHECK(plan.next(start + 1s) == LookPlan::Ask::connect);
  plan.on_failure();  // the try
  plan.on_worker_began(start + 30s);
  CHECK(plan.next(start + 60s) == LookPlan::Ask::connect);
  CHECK(plan.next(start + 61s - 1ms) == LookPlan::Ask::nothing);
  CHECK(plan.next(start + 61s) == LookPlan::Ask::look);
}

TEST_CASE("a worker that goes on under another lease does not look before the others had a heartbeat to renew") {
  LookPlan plan{1s, true, start};
  CHECK(plan.next(start) == LookPlan::Ask::connect);
  CHECK(plan.next(start + 999ms) == LookPlan::Ask::nothing);
  CHECK(plan.next(start + 1s) == LookPlan::Ask::look);
}

TEST_CASE("upkeep looks at once when a worker has begun, unless the others still have time to renew") {
  LookPlan plan{1s, false, start};
  plan.on_looked({}, false, start);
  plan.on_worker_began(start + 1ms);
  CHECK(plan.next(start + 1ms) == LookPlan::Ask::look);
  plan.on_failure();
  plan.on_worker_began(start + 3ms);
  CHECK(plan.next(start + 3ms) == LookPlan::Ask::connect);
  CHECK(plan.looks_at() == start + 1003ms);
}
