// The next action of the lease keeper: heartbeats, and cancellations that it hears of or looks for.
#include "lease/core/keeper_plan.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using Step = KeeperPlan::Step;
using dogged::test::start;

namespace {

constexpr milliseconds heartbeat{1000};
constexpr milliseconds poll_interval{2500};
constexpr milliseconds progress_interval{1000};

}  // namespace

TEST_CASE("a keeper renews the lease, listens, looks for cancellations, and then waits for the next heartbeat") {
  KeeperPlan plan{{.poll_interval = poll_interval}, start};
  CHECK(plan.next(start, true) == KeeperPlan::Action{Step::beat});
  plan.on_renewed(start, heartbeat);
  CHECK(plan.next(start, true) == KeeperPlan::Action{Step::listen});
  plan.on_listening();
  CHECK(plan.next(start, true) == KeeperPlan::Action{Step::look});
  CHECK(plan.next(start, true) == KeeperPlan::Action{Step::wait, start + heartbeat});
  plan.on_cancel_requested();
  CHECK(plan.next(start, true) == KeeperPlan::Action{Step::look});
  plan.on_cancel_requested();  // while that look is under way, which may not see it
  CHECK(plan.next(start, true) == KeeperPlan::Action{Step::look});
}

TEST_CASE("a keeper without notifications looks at each poll interval") {
  KeeperPlan plan{{.poll_interval = poll_interval, .listens = false}, start};
  plan.on_renewed(start, 10s);
  CHECK(plan.next(start, true) == KeeperPlan::Action{Step::look});
  CHECK(plan.next(start, true) == KeeperPlan::Action{Step::wait, start + poll_interval});
  CHECK(plan.next(start + poll_interval, true) == KeeperPlan::Action{Step::look});
  plan.on_failure();
  CHECK(plan.next(start + poll_interval, true) == KeeperPlan::Action{Step::look});
}

TEST_CASE("a keeper asks nothing more under a lease that was ended") {
  KeeperPlan plan{{}, start};
  plan.on_ended();
  plan.on_failure();
  plan.on_cancel_requested();
  CHECK(plan.next(start + 1h, true) == KeeperPlan::Action{Step::end});
}

TEST_CASE("a keeper writes progress as soon as it may, and then at most once a second") {
  KeeperPlan plan{{.poll_interval = poll_interval, .listens = false}, start};
  plan.on_renewed(start, 10s);
  CHECK(plan.next(start, false) == KeeperPlan::Action{Step::wait, start + poll_interval});
  plan.on_progress();
  CHECK(plan.next(start, false) == KeeperPlan::Action{Step::write});
  plan.on_failure();  // what was to be written is still there
  CHECK(plan.next(start, false) == KeeperPlan::Action{Step::write});
  plan.on_progress_written(start + 100ms);
  CHECK(plan.next(start + 100ms, false).step == Step::wait);
  plan.on_progress();
  CHECK(plan.next(start + 200ms, false) == KeeperPlan::Action{Step::wait, start + 1100ms});
  CHECK(plan.next(start + 1100ms, false) == KeeperPlan::Action{Step::write});
  CHECK(plan.on_progress_refused(start + 1100ms));
  CHECK(plan.next(start + 1100ms, false) == KeeperPlan::Action{Step::wait, start + poll_interval});  // nothing is left
  plan.on_progress();
  CHECK(plan.next(start + 1100ms, false) == KeeperPlan::Action{Step::wait, start + 2100ms});
  CHECK(plan.next(start + 2100ms, false) == KeeperPlan::Action{Step::write});
}

TEST_CASE("a refusal of progress is told of once, and again after a write") {
  KeeperPlan plan{{}, start};
  const auto is_told = [&plan](TimePoint now) {
    plan.on_progress();
    return plan.on_progress_refused(now);
  };
  CHECK(is_told(start));
  CHECK_FALSE(is_told(start + 1s));
  plan.on_progress();
  plan.on_progress_written(start + 2s);
  CHECK(is_told(start + 3s));
}

TEST_CASE("a keeper that is to stop writes progress once more if it is connected, and ends whatever else is due") {
  const auto steps = [](bool has_progress, bool is_connected) {
    KeeperPlan plan{{}, start};
    if (has_progress) plan.on_progress();
    std::vector<Step> taken;
    while (taken.empty() || taken.back() != Step::end) {
      plan.on_draining();
      plan.on_stopping(is_connected);
      const bool writes_last = is_connected && taken.empty();
      REQUIRE(plan.state() == (writes_last ? KeeperPlan::State::writes_last : KeeperPlan::State::ends));
      taken.push_back(plan.next(start + 1h, true).step);
      if (taken.back() != Step::end) plan.on_failure();
      REQUIRE(taken.size() < 4);
    }
    return taken;
  };
  CHECK(steps(true, true) == std::vector{Step::write_last, Step::end});
  CHECK(steps(false, true) == std::vector{Step::end});
  CHECK(steps(true, false) == std::vector{Step::end});
}

TEST_CASE("a keeper that has lost its connection when it is to stop writes no progress over a new one") {
  KeeperPlan plan{{}, start};
  plan.on_progress();
  plan.on_stopping(false);
  plan.on_stopping(true);
  CHECK(plan.next(start, true) == KeeperPlan::Action{Step::end});
}

TEST_CASE("a keeper writes no progress under a lease that was ended") {
  KeeperPlan plan{{}, start};
  plan.on_progress();
  plan.on_ended();
  plan.on_stopping(true);
  CHECK(plan.next(start, true) == KeeperPlan::Action{Step::end});
}

namespace {

/// A keeper, a database in which cancellations are requested, and a connection that fails.
struct World {
  explicit World(bool can_listen)
      : plan({.poll_interval = poll_interval, .listens = can_listen}, start), listens(can_listen) {}

  KeeperPlan plan;
  bool listens;
  TimePoint now = start;
  TimePoint renewed_at = start - heartbeat;
  bool holds_tasks = true;
  bool hears = false;                          // LISTEN is in force on the present connection
  std::optional<TimePoint> requested_at = {};  // a cancellation that the keeper does not know
  bool has_progress = false;                   // that is not written
  bool is_draining = false;
  bool has_said_so = false;  // a heartbeat has, since the worker drains
  std::optional<TimePoint> written_at = {};
  std::string trace = {};

  /// Carries out the plan until it waits. False if it would go on for ever.
  void act() {
    for (int steps = 0; steps < 6; ++steps) {
      if (is_draining) plan.on_draining();
      if (has_progress) plan.on_progress();
      const KeeperPlan::Action action = plan.next(now, holds_tasks);
      switch (action.step) {
        case Step::beat:
          REQUIRE((now >= renewed_at + heartbeat || (is_draining && !has_said_so)));
          has_said_so = is_draining;
          renewed_at = now;
          plan.on_renewed(now, heartbeat);
          break;
        case Step::listen:
          REQUIRE(listens);
          hears = true;
          plan.on_listening();
          break;
        case Step::look:
          REQUIRE(holds_tasks);
          requested_at.reset();
          break;
        case Step::write:
          REQUIRE(has_progress);
          if (written_at) REQUIRE(now >= *written_at + progress_interval);
          REQUIRE(now < renewed_at + heartbeat);  // a renewal comes first
          has_progress = false;
          written_at = now;
          plan.on_progress_written(now);
          break;
        case Step::wait:
          return check_wait(action.until);
        case Step::write_last:
        case Step::end:
          FAIL("the keeper is not to stop, and the lease was not ended");
      }
    }
    FAIL("a keeper comes to wait");
  }

  void check_wait(TimePoint until) {
    REQUIRE(until > now);
    REQUIRE(until <= renewed_at + heartbeat);  // a renewal that is due is not put off
    REQUIRE(hears == listens);
    REQUIRE(has_said_so == is_draining);
    REQUIRE(plan.state() == (is_draining ? KeeperPlan::State::drains : KeeperPlan::State::works));
    if (has_progress) REQUIRE(until <= written_at.value() + progress_interval);
    if (!requested_at || !holds_tasks) return;
    REQUIRE_FALSE(listens);  // it was told, or has looked since it listens
    REQUIRE(now < *requested_at + poll_interval);
  }

  bool event(int number) {
    switch (number) {
      case 0:
        now += 400ms;
        return true;
      case 1:
        now += 3s;
        return true;
      case 2:  // the next statement fails, or the connection while it waits
        hears = false;
        plan.on_failure();
        return true;
      case 3:
        if (requested_at || !holds_tasks) return false;
        requested_at = now;
        if (hears) plan.on_cancel_requested();
        return true;
      case 4:
        if (requested_at) return false;  // the task to be cancelled stays
        holds_tasks = !holds_tasks;
        return true;
      case 5:
        if (has_progress) return false;
        has_progress = true;
        return true;
      case 6:
        return !std::exchange(is_draining, true);
      default:
        act();
        return true;
    }
  }
};

int walk(const World& world, int depth) {
  if (depth == 0) return 0;
  int count = 0;
  for (int event = 0; event < 8; ++event) {
    World next = world;
    next.trace += static_cast<char>('a' + event);
    INFO(next.trace);
    if (!next.event(event)) continue;
    World settled = next;
    settled.act();
    count += 1 + walk(next, depth - 1);
  }
  return count;
}

}  // namespace

TEST_CASE(
    "in all sequences of events, a keeper renews in time, says at once that its worker drains, learns of "
    "cancellations, and writes progress in time",
    "[one_thread]") {
  for (const bool listens : {true, false}) {
    CAPTURE(listens);
    CHECK(walk(World{listens}, 6) > 20'000);
  }
}
