// When the worker compares its declarations with those of other workers.
#include "upkeep/core/comparison_plan.hpp"

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using dogged::runtime::ComparisonPlan;
using dogged::runtime::Outlook;
using dogged::runtime::TimePoint;
using dogged::test::start;

namespace {

ComparisonPlan::State after_look(ComparisonPlan plan, const Outlook& found, TimePoint at) {
  plan.on_looked(found, at, at);
  return plan.state();
}

void compare_at(ComparisonPlan& plan, TimePoint at) {
  plan.on_looked({}, at, at);
  plan.on_compared();
}

}  // namespace

TEST_CASE(
    "declarations are compared at first, after a worker began or a failure, twice for a new worker, and now and then") {
  constexpr Outlook old_workers{.newest_began_ago = 1h};
  ComparisonPlan plan{1s, 10s};
  CHECK(plan.state() == ComparisonPlan::State::awaited);
  CHECK(after_look(plan, old_workers, start) == ComparisonPlan::State::due);
  compare_at(plan, start);
  CHECK(plan.state() == ComparisonPlan::State::compared);
  CHECK(after_look(plan, old_workers, start + 1s) == ComparisonPlan::State::compared);
  plan.on_worker_began();
  CHECK(after_look(plan, old_workers, start + 1s) == ComparisonPlan::State::due);
  compare_at(plan, start + 1s);
  plan.on_failure();
  CHECK(after_look(plan, old_workers, start + 2s) == ComparisonPlan::State::due);
  compare_at(plan, start + 2s);
  // Upkeep was not told of the new worker, which began before the last comparison and may have declared its tasks after
  // it.
  CHECK(after_look(plan, {.newest_began_ago = 12s}, start + 3s) == ComparisonPlan::State::due);
  CHECK(after_look(plan, {.newest_began_ago = 13s}, start + 3s) == ComparisonPlan::State::compared);
  CHECK(after_look(plan, old_workers, start + 2s + 10min - 1ms) == ComparisonPlan::State::compared);
  CHECK(after_look(plan, old_workers, start + 2s + 10min) == ComparisonPlan::State::due);
}

TEST_CASE("a comparison counts from the look that has made it due, and not from its own time") {
  ComparisonPlan plan{1s, 10s};
  plan.on_looked({}, start, start + 5s);
  plan.on_compared();
  CHECK(after_look(plan, {.newest_began_ago = 1h}, start + 10min) == ComparisonPlan::State::due);
}

TEST_CASE("a comparison of declarations that PostgreSQL has refused comes again ten seconds later") {
  constexpr Outlook worker_began{.newest_began_ago = 1s};
  ComparisonPlan plan{1s, 10s};
  plan.on_looked(worker_began, start, start);
  plan.on_refused(start);
  CHECK(after_look(plan, worker_began, start + 10s - 1ms) == ComparisonPlan::State::awaited);
  CHECK(after_look(plan, worker_began, start + 10s) == ComparisonPlan::State::due);
}
