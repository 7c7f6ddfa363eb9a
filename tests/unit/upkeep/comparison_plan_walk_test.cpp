// A walk through the plan for comparisons: every sequence of workers that begin and declare late, looks, comparisons,
// refusals and failures up to a length.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"
#include "upkeep/core/comparison_plan.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using dogged::test::start;

namespace {

struct ComparisonWorld {
  static constexpr milliseconds heartbeat{1000};
  static constexpr milliseconds again_after{10'000};

  struct Worker {
    TimePoint began_at;
    TimePoint declares_at;
    bool is_compared = false;
  };

  ComparisonPlan plan{heartbeat, again_after};
  TimePoint now = start;
  std::string trace = {};
  std::vector<Worker> workers = {};  // in the order in which they began
  TimePoint compared_at = start;
  TimePoint compares_again_at = start;
  bool must_compare = false;  // a worker may have begun, or a comparison was refused

  /// The worker has compared its declarations when it began.
  ComparisonWorld() {
    plan.on_looked({.newest_began_ago = 1h}, start, start);
    plan.on_compared();
  }

  bool event(int number) {
    switch (number) {
      case 0:
        return begin(0s);
      case 1:
        return begin(11s);
      case 2:
        plan.on_worker_began();
        must_compare = true;
        return true;
      case 3:
        look(0s);
        return true;
      case 4:
        look(5s);
        return true;
      case 5:
        return compare();
      case 6:
        if (plan.state() != ComparisonPlan::State::due) return false;
        plan.on_refused(now);
        compares_again_at = now + again_after;
        must_compare = true;
        return true;
      case 7:
        plan.on_failure();
        must_compare = true;
        return true;
      case 8:
        now += 4s;
        return true;
      case 9:
        now += 10min;
        return true;
      default:
        return false;
    }
  }

  bool begin(SteadyClock::duration until_declared) {
    if (workers.size() == 2) return false;
    workers.push_back({now, now + until_declared});
    return true;
  }

  void look(SteadyClock::duration takes) {
    const TimePoint asked_at = now;
    const TimePoint newest = workers.empty() ? start - 1h : workers.back().began_at;
    now += takes;
    const Outlook found{.newest_began_ago = std::chrono::floor<milliseconds>(asked_at - newest)};
    plan.on_looked(found, asked_at, now);
    if (plan.state() == ComparisonPlan::State::due || now < compares_again_at) return;
    REQUIRE_FALSE(must_compare);
    // The workers that had declared by the look were compared with, and the last comparison was not long ago.
    for (const Worker& worker : workers) REQUIRE((worker.is_compared || worker.declares_at > asked_at));
    REQUIRE(asked_at < compared_at + 10min);
  }

  bool compare() {
    if (plan.state() != ComparisonPlan::State::due) return false;
    REQUIRE(now >= compares_again_at);
    plan.on_compared();
    must_compare = false;
    compared_at = now;
    for (Worker& worker : workers) worker.is_compared = worker.is_compared || worker.declares_at <= now;
    return true;
  }

  void check() const {
    INFO(trace);
    ComparisonWorld calm = *this;  // all are compared with in the end, and then there are no more comparisons
    calm.now = std::max(calm.now, compares_again_at) + 12 * heartbeat;
    calm.look(0s);
    (void)calm.compare();
    calm.now += heartbeat;
    calm.look(0s);
    (void)calm.compare();
    for (const Worker& worker : calm.workers) REQUIRE(worker.is_compared);
    calm.now += 12 * heartbeat;
    calm.look(0s);
    REQUIRE(calm.plan.state() == ComparisonPlan::State::compared);
  }
};

int walk_comparisons(const ComparisonWorld& world, int depth) {
  if (depth == 0) return 0;
  int count = 0;
  for (int event = 0; event < 10; ++event) {
    ComparisonWorld next = world;
    next.trace += static_cast<char>('a' + event);
    INFO(next.trace);
    if (!next.event(event)) continue;
    next.check();
    count += 1 + walk_comparisons(next, depth - 1);
  }
  return count;
}

}  // namespace

TEST_CASE(
    "in all sequences of beginnings, declarations, looks, refusals and failures, each worker is compared with after it "
    "has declared its tasks, and comparisons come to an end",
    "[one_thread]") {
  CHECK(walk_comparisons(ComparisonWorld{}, 5) > 20'000);
}
