// When chores make partitions, apply retention and delete left rows.
#include "upkeep/core/chores_plan.hpp"

#include <deque>
#include <optional>
#include <vector>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using dogged::retention::Extent;
using dogged::retention::Outcome;
using dogged::runtime::ChoresPlan;
using dogged::runtime::TimePoint;
using dogged::test::start;
using Steps = std::vector<dogged::retention::Step>;
using Step = ChoresPlan::Step;

namespace {

const ChoresPlan::Settings settings{.first = 1min, .interval = 1h, .again_if_left = 2min};

ChoresPlan::Action wait_until(TimePoint until) { return {.step = Step::wait, .until = until}; }

Extent extent_of_round(ChoresPlan& plan, TimePoint now) {
  REQUIRE(plan.next(now) == ChoresPlan::Action{.step = Step::make_partitions});
  plan.on_partitions_made();
  const ChoresPlan::Action action = plan.next(now);
  REQUIRE(action.step == Step::apply_retention);
  return action.extent;
}

void finish_round(ChoresPlan& plan, const Steps& retained, TimePoint now) {
  plan.on_retention_applied(retained);
  plan.on_tidied(false, now);
  REQUIRE(plan.next(now) == ChoresPlan::Action{.step = Step::disconnect});
  plan.on_disconnected();
}

}  // namespace

TEST_CASE("a round makes partitions, applies retention, deletes left rows until none is found, and disconnects") {
  ChoresPlan plan{settings, start};
  CHECK(plan.next(start) == wait_until(start + 1min));
  CHECK(plan.next(start + 1min - 1us) == wait_until(start + 1min));
  const TimePoint now = start + 1min;
  CHECK(extent_of_round(plan, now) == Extent::days);
  plan.on_retention_applied({});
  CHECK(plan.next(now) == ChoresPlan::Action{.step = Step::tidy});
  plan.on_tidied(true, now);
  CHECK(plan.next(now) == ChoresPlan::Action{.step = Step::tidy});
  plan.on_tidied(false, now + 3s);
  CHECK(plan.next(now + 3s) == ChoresPlan::Action{.step = Step::disconnect});
  plan.on_disconnected();
  CHECK(plan.next(now + 3s) == wait_until(now + 3s + 1h));
}

TEST_CASE("a round that leaves a step of retention undone is followed soon by another one") {
  for (const Outcome left : {Outcome::postponed, Outcome::busy}) {
    ChoresPlan plan{settings, start};
    const TimePoint now = start + 1min;
    (void)extent_of_round(plan, now);
    finish_round(plan, {{"tasks_done_1", Outcome::dropped}, {"tasks_failed", left}, {"workers", Outcome::forgotten, 3}},
                 now);
    CHECK(plan.next(now) == wait_until(now + 2min));
    CHECK(extent_of_round(plan, now + 2min) == Extent::days);
    finish_round(plan, {{"tasks_failed", Outcome::dropped}}, now + 2min);
    CHECK(plan.next(now + 2min) == wait_until(now + 2min + 1h));
  }
}

TEST_CASE("thinning that a round has left undone is tried in each further round, also if no day is dropped") {
  ChoresPlan plan{settings, start};
  TimePoint now = start + 1min;
  (void)extent_of_round(plan, now);
  finish_round(plan, {{"tasks_done_1", Outcome::postponed, std::nullopt, true}}, now);
  for (int round = 0; round < 2; ++round) {
    now += 2min;
    CHECK(extent_of_round(plan, now) == Extent::everything);
    finish_round(plan, {{"tasks_done_1", Outcome::busy, std::nullopt, true}}, now);
  }
  now += 2min;
  CHECK(extent_of_round(plan, now) == Extent::everything);
  finish_round(plan, {{"tasks_done_1", Outcome::thinned, 5, true}}, now);
  now += 1h;
  CHECK(extent_of_round(plan, now) == Extent::days);
}

TEST_CASE("a round that failed begins anew, and thins what a broken retention may have left") {
  ChoresPlan plan{settings, start};
  TimePoint now = start + 1min;
  REQUIRE(plan.next(now).step == Step::make_partitions);
  plan.on_failure();
  CHECK(extent_of_round(plan, now) == Extent::days);
  plan.on_failure();
  CHECK(extent_of_round(plan, now) == Extent::everything);
  plan.on_retention_applied({});
  plan.on_failure();  // while left rows are deleted
  CHECK(extent_of_round(plan, now) == Extent::days);
}

/// All sequences of up to 9 events: an action succeeds, succeeds and leaves work, fails, or the worker stops.
TEST_CASE("chores that stop end at their next action, in every state, and otherwise never end") {
  enum class Event { done, left, failed, stopped };
  struct Path {
    ChoresPlan plan;
    int events;
    bool is_stopped;
  };
  std::deque<Path> open{{ChoresPlan{settings, start}, 0, false}};
  int walked = 0;
  while (!open.empty()) {
    Path path = open.front();
    open.pop_front();
    ++walked;
    const TimePoint now = start + path.events * 1h;
    const ChoresPlan::Action action = path.plan.next(now);
    REQUIRE((action.step == Step::end) == path.is_stopped);
    if (action.step == Step::wait) REQUIRE(action.until > now);
    if (path.is_stopped || path.events == 9) continue;
    for (const Event event : {Event::done, Event::left, Event::failed, Event::stopped}) {
      Path next{path.plan, path.events + 1, event == Event::stopped};
      const Outcome outcome = event == Event::left ? Outcome::postponed : Outcome::dropped;
      if (event == Event::stopped) {
        next.plan.on_stopping();
      } else if (event == Event::failed) {
        next.plan.on_failure();
      } else if (action.step == Step::make_partitions) {
        next.plan.on_partitions_made();
      } else if (action.step == Step::apply_retention) {
        next.plan.on_retention_applied({{"tasks_done_1", outcome}});
      } else if (action.step == Step::tidy) {
        next.plan.on_tidied(event == Event::left, now);
      } else if (action.step == Step::disconnect) {
        next.plan.on_disconnected();
      }
      open.push_back(std::move(next));
    }
  }
  CHECK(walked > 10'000);
}
