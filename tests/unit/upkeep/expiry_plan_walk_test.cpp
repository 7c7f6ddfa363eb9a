// A walk through the plan for expired tasks: every sequence of expiries, late commits, looks, slow batches and failures
// up to a length. Beside the plan a model of the database tells which tasks have expired.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"
#include "upkeep/core/expiry_plan.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using dogged::test::start;

namespace {

struct ExpiryWorld {
  struct Expired {
    TimePoint expired_at;
    TimePoint committed_at;  // the transaction that enqueued the task
  };

  ExpiryPlan plan = {};
  TimePoint now = start;
  std::string trace = {};
  std::vector<Expired> tasks = {};  // that no batch has ended
  TimePoint asked_at = start;       // the look whose tasks are ended, or were last
  bool is_of_all = true;            // that look
  TimePoint all_ended_at = start;   // by a look back for ever

  /// A first look has found nothing.
  ExpiryWorld() { plan.on_looked(false, start); }

  bool event(int number) {
    switch (number) {
      case 0:
        return expire(0s);
      case 1:
        return expire(50s);
      case 2:
        return expire(3min);
      case 3:
        look();
        return true;
      case 4:
        return batch(10ms);
      case 5:  // one that waits for other work of upkeep, or for the database
        return batch(40s);
      case 6:
        if (plan.state() != ExpiryPlan::State::ending) return false;
        plan.on_failure();
        return true;
      case 7:
        now += 45s;
        return true;
      case 8:
        now += 5min;
        return true;
      default:
        return false;
    }
  }

  bool expire(SteadyClock::duration until_committed) {
    if (tasks.size() == 2) return false;
    tasks.push_back({now, now + until_committed});
    return true;
  }

  /// The expired tasks that a statement finds if the statement goes back so far.
  [[nodiscard]] std::vector<Expired>::iterator first_within(std::optional<milliseconds> back) {
    return std::find_if(tasks.begin(), tasks.end(), [&](const Expired& task) {
      return task.committed_at <= now && (!back || task.expired_at > now - *back);
    });
  }

  void look() {
    const std::optional<milliseconds> back = plan.look_back(now);
    if (now >= all_ended_at + 10min) REQUIRE_FALSE(back);
    const bool was_idle = plan.state() == ExpiryPlan::State::idle;
    if (was_idle) {
      asked_at = now;
      is_of_all = !back;
    }
    plan.on_looked(first_within(back) != tasks.end(), now);
    if (was_idle && plan.state() == ExpiryPlan::State::idle) finish();
  }

  /// As expire.sql, of one task.
  bool batch(SteadyClock::duration takes) {
    if (plan.state() != ExpiryPlan::State::ending) return false;
    const auto found = first_within(plan.looked_back(now));
    const bool has_found = found != tasks.end();
    if (has_found) tasks.erase(found);
    plan.on_expired(has_found ? 1 : 0);
    if (!has_found) finish();
    now += takes;
    return true;
  }

  /// Upkeep has ended the tasks that the look had to find: all, or those whose transactions did not take too long.
  void finish() {
    REQUIRE(plan.state() == ExpiryPlan::State::idle);
    if (is_of_all) all_ended_at = asked_at;
    for (const Expired& task : tasks) {
      const bool is_late = task.committed_at > task.expired_at + 1min;
      REQUIRE((task.committed_at > asked_at || (is_late && !is_of_all)));
    }
  }

  void check() const {
    INFO(trace);
    // A look goes no further back than it must: it would walk over the index entries of tasks that were ended.
    if (now < all_ended_at + 10min) REQUIRE(plan.look_back(now) <= now - all_ended_at + 1min);
    ExpiryWorld calm = *this;  // each task is ended at the next look after ten minutes, if not before
    for (int round = 0; !calm.tasks.empty(); ++round) {
      REQUIRE(round < 3);
      while (calm.batch(10ms)) {
      }
      calm.now += round == 0 ? 5s : 10min;
      calm.look();
    }
  }
};

int walk_expiry(const ExpiryWorld& world, int depth) {
  if (depth == 0) return 0;
  int count = 0;
  for (int event = 0; event < 9; ++event) {
    ExpiryWorld next = world;
    next.trace += static_cast<char>('a' + event);
    INFO(next.trace);
    if (!next.event(event)) continue;
    next.check();
    count += 1 + walk_expiry(next, depth - 1);
  }
  return count;
}

}  // namespace

TEST_CASE(
    "in all sequences of expiries, late commits, looks, slow batches and failures, no expired task is forgotten, and "
    "looks go no further back than they must",
    "[one_thread]") {
  CHECK(walk_expiry(ExpiryWorld{}, 6) > 20'000);
}
