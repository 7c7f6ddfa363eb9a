// Which statements rescue the tasks of lost workers, in which order.
#include "upkeep/core/rescue_tasks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"

using dogged::runtime::RescueTasks;
using RescueStep = RescueTasks::Step;
using RescueAction = RescueTasks::Action;
using Catch::Detail::stringify;

namespace {

constexpr std::int64_t tasks_at_once = 3;
constexpr int batch_size = 2;

/// A claim, and how many of its tasks still run under the lost worker.
struct LostClaim {
  int free = 0;
  int locked = 0;  // by a session that ends them later
  int ended = 0;
};

struct LostWorker {
  std::vector<LostClaim> claims = {};
  bool is_marked = false;
};

enum class RescueFate { answered, locked, refused };

/// Claims have numbers from 1 on, and workers from 10 on in tens.
std::int64_t id_of_worker(std::size_t index) { return 10 * (static_cast<std::int64_t>(index) + 1); }

struct RescueWorld {
  RescueTasks plan{tasks_at_once};
  std::vector<LostWorker> workers = {};
  std::string trace = {};
  std::size_t actions = 0;
  std::int64_t last_worker = 0;
  std::set<std::int64_t> refused = {};
  std::set<std::int64_t> left_to_another = {};
  std::map<std::int64_t, std::set<std::int64_t>> emptied =
      {};  // claims whose last batch has rescued nothing, by worker

  [[nodiscard]] LostWorker& worker(std::int64_t id) { return workers.at(static_cast<std::size_t>(id / 10 - 1)); }

  [[nodiscard]] std::vector<std::int64_t> to_rescue() const {
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      if (!workers[i].is_marked) ids.push_back(id_of_worker(i));
    }
    return ids;
  }

  static bool can_happen(RescueFate fate, const RescueAction& action) {
    switch (fate) {
      case RescueFate::answered:
        return true;
      case RescueFate::locked:
        return action.step == RescueStep::rescue_batch || action.step == RescueStep::mark_rescued;
      case RescueFate::refused:
        break;
    }
    return action.worker != 0;
  }

  void carry_out(const RescueAction& action, RescueFate fate) {
    trace += stringify(action) + (fate == RescueFate::locked    ? ": locked; "
                                  : fate == RescueFate::refused ? ": refused; "
                                                                : "; ");
    ++actions;
    check(action);
    if (fate == RescueFate::locked) {
      left_to_another.insert(action.worker);
      return plan.on_locked();
    }
    if (fate == RescueFate::refused) {
      refused.insert(action.worker);
      return plan.on_refused();
    }
    switch (action.step) {
      case RescueStep::list_workers:
      case RescueStep::list_left:
        return plan.on_workers(to_rescue());
      case RescueStep::list_claims:
        return plan.on_claims(claims_of(action.worker));
      case RescueStep::rescue_batch:
        return rescue_batch(action);
      case RescueStep::mark_rescued:
        return mark_rescued(action.worker);
      case RescueStep::done:
        FAIL("done is the end");
    }
  }

  std::vector<RescueTasks::Claim> claims_of(std::int64_t id) {
    std::vector<RescueTasks::Claim> claims;
    for (const LostClaim& claim : worker(id).claims) {
      claims.push_back({static_cast<std::int64_t>(claims.size()) + 1, claim.free + claim.locked + claim.ended});
    }
    return claims;
  }

  void rescue_batch(const RescueAction& action) {
    std::size_t tasks = 0;
    for (const std::int64_t number : action.claims) {
      LostClaim& claim = worker(action.worker).claims.at(static_cast<std::size_t>(number - 1));
      for (; claim.free > 0 && tasks < batch_size; ++tasks) {
        --claim.free;
        ++claim.ended;
      }
    }
    for (const std::int64_t number : action.claims) {
      if (tasks == 0) emptied[action.worker].insert(number);
    }
    plan.on_batch(tasks);
  }

  void mark_rescued(std::int64_t id) {
    LostWorker& lost = worker(id);
    for (const LostClaim& claim : lost.claims) REQUIRE(claim.free == 0);
    REQUIRE(emptied[id].size() == lost.claims.size());
    lost.is_marked =
        std::none_of(lost.claims.begin(), lost.claims.end(), [](const LostClaim& claim) { return claim.locked > 0; });
    plan.on_marked();
  }

  /// The action is one of this moment.
  void check(const RescueAction& action) {
    INFO(trace);
    REQUIRE(actions <= most_actions());
    if (action.worker == 0) return;
    REQUIRE(action.worker >= last_worker);  // no worker gets a second turn
    REQUIRE((action.step == RescueStep::list_claims) == (action.worker > last_worker));
    last_worker = action.worker;
    REQUIRE(!refused.contains(action.worker));
    REQUIRE(!left_to_another.contains(action.worker));
    if (action.step != RescueStep::rescue_batch) return;
    REQUIRE(!action.claims.empty());
    std::int64_t before_the_last = 0;
    const std::vector<RescueTasks::Claim> claims = claims_of(action.worker);
    for (const std::int64_t number : action.claims) {
      REQUIRE(before_the_last < tasks_at_once);
      before_the_last += claims.at(static_cast<std::size_t>(number - 1)).tasks;
      REQUIRE(!emptied[action.worker].contains(number));
    }
  }

  /// Each batch rescues a task, or is the last one of its claims.
  [[nodiscard]] std::size_t most_actions() const {
    std::size_t most = 2;
    for (const LostWorker& lost : workers) {
      most += 2;
      for (const LostClaim& claim : lost.claims) {
        most += 1 + static_cast<std::size_t>(claim.free + claim.locked + claim.ended);
      }
    }
    return most;
  }

  /// What kept one worker's tasks from the rescue has kept no other worker's.
  void check_end() {
    INFO(trace);
    for (std::size_t i = 0; i < workers.size(); ++i) {
      const std::int64_t id = id_of_worker(i);
      if (refused.contains(id) || left_to_another.contains(id)) continue;
      const bool has_locked = std::any_of(workers[i].claims.begin(), workers[i].claims.end(),
                                          [](const LostClaim& claim) { return claim.locked > 0; });
      REQUIRE(workers[i].is_marked != has_locked);
    }
    REQUIRE(plan.has_rescued_all() == to_rescue().empty());
  }
};

/// Gives how many ends there are.
std::size_t walk_rescue(RescueWorld world) {
  const RescueAction action = world.plan.next();
  if (action.step == RescueStep::done) {
    world.check_end();
    return 1;
  }
  std::size_t ends = 0;
  for (const RescueFate fate : {RescueFate::answered, RescueFate::locked, RescueFate::refused}) {
    if (!RescueWorld::can_happen(fate, action)) continue;
    RescueWorld next = world;
    next.carry_out(action, fate);
    ends += walk_rescue(std::move(next));
  }
  return ends;
}

/// With up to `most` claims, of each kind.
std::vector<LostWorker> lost_workers(std::size_t most) {
  static const std::vector<LostClaim> kinds{
      {.free = 1}, {.free = 3}, {.ended = 2}, {.free = 1, .locked = 1}, {.locked = 1}};
  std::vector<LostWorker> all{{}};
  for (std::size_t begin = 0, claims = 1; claims <= most; ++claims) {
    const std::size_t end = all.size();
    for (; begin < end; ++begin) {
      for (const LostClaim& kind : kinds) {
        LostWorker worker = all[begin];
        worker.claims.push_back(kind);
        all.push_back(std::move(worker));
      }
    }
  }
  return all;
}

std::size_t walk_rescue_from(const std::vector<LostWorker>& workers) {
  RescueWorld world;
  world.workers = workers;
  return walk_rescue(std::move(world));
}

}  // namespace

TEST_CASE("each lost task is looked for until a batch finds none, whatever keeps the tasks of another worker",
          "[one_thread]") {
  std::size_t ends = walk_rescue_from({});
  for (const LostWorker& worker : lost_workers(4)) ends += walk_rescue_from({worker});
  const std::vector<LostWorker> with_two_claims = lost_workers(2);
  for (const LostWorker& first : with_two_claims) {
    for (const LostWorker& second : with_two_claims) ends += walk_rescue_from({first, second});
  }
  const std::vector<LostWorker> with_one = lost_workers(1);
  for (const LostWorker& first : with_one) {
    for (const LostWorker& second : with_one) {
      for (const LostWorker& third : with_one) ends += walk_rescue_from({first, second, third});
    }
  }
  CHECK(ends > 100'000);
}

TEST_CASE("a rescue gathers claims until they name enough tasks, and marks the worker after the last batch") {
  RescueTasks plan{5};
  CHECK(plan.next() == RescueAction{.step = RescueStep::list_workers});
  plan.on_workers({7});
  CHECK(plan.next() == RescueAction{.step = RescueStep::list_claims, .worker = 7});
  plan.on_claims({{1, 2}, {2, 2}, {3, 9}, {4, 1}});
  CHECK(plan.next() == RescueAction{.step = RescueStep::rescue_batch, .worker = 7, .claims = {1, 2, 3}});
  plan.on_batch(4);
  CHECK(plan.next() == RescueAction{.step = RescueStep::rescue_batch, .worker = 7, .claims = {1, 2, 3}});
  plan.on_batch(0);
  CHECK(plan.next() == RescueAction{.step = RescueStep::rescue_batch, .worker = 7, .claims = {4}});
  plan.on_batch(0);
  CHECK(plan.next() == RescueAction{.step = RescueStep::mark_rescued, .worker = 7});
  plan.on_marked();
  CHECK(plan.next() == RescueAction{.step = RescueStep::list_left});
  plan.on_workers({});
  CHECK(plan.next() == RescueAction{});
  CHECK(plan.has_rescued_all());
}

TEST_CASE("an answer that a rescue has not asked for ends the worker") {
  RescueTasks plan{5};
  CHECK_THROWS_AS(plan.on_claims({}), std::logic_error);
  CHECK_THROWS_AS(plan.on_batch(1), std::logic_error);
  CHECK_THROWS_AS(plan.on_marked(), std::logic_error);
  CHECK_THROWS_AS(plan.on_locked(), std::logic_error);
  CHECK_THROWS_AS(plan.on_refused(), std::logic_error);
  CHECK_THROWS_AS(plan.has_rescued_all(), std::logic_error);
  plan.on_workers({7});
  CHECK_THROWS_AS(plan.on_workers({7}), std::logic_error);
  CHECK_THROWS_AS(plan.on_locked(), std::logic_error);
}

TEST_CASE("a failed check prints the action of a rescue with its worker and claims") {
  CHECK(stringify(RescueAction{.step = RescueStep::rescue_batch, .worker = 7, .claims = {1, 2}}) ==
        "rescue batch of worker 7, claims 1 2");
  CHECK(stringify(RescueAction{.step = RescueStep::list_left}) == "list left");
}
