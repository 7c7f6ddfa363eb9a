// A walk through upkeep's plan, beside a small model of the database. The walk takes every sequence of lapses,
// refusals, failures, expiries, ticks and waits up to a length.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"
#include "upkeep/core/plan.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using dogged::test::start;

namespace {

using Duration = SteadyClock::duration;

constexpr milliseconds between_looks{1000};
constexpr int most_other_actions = 6;  // one turn of each kind of work: a rescue takes four actions

struct Fleet {
  enum class Ticks { fire, refused, locked };

  UpkeepPlan plan{{.heartbeat = between_looks, .compares_again_after = 1200ms}, start};
  TimePoint now = start;
  TimePoint until = start;  // of the last wait
  std::string trace = {};
  // The database
  std::optional<TimePoint> lapses_at = {};  // another worker's lease
  bool has_to_rescue = false;
  bool is_locked = false;  // a task that upkeep has to rescue
  int expired = 0;         // batches of tasks
  TimePoint expired_at{};
  int due_ticks = 0;  // batches
  Ticks ticks = Ticks::fire;
  bool refuses_comparison = false;
  int fails_in = 0;  // this statement of the next ones fails; 0: none
  // The duties of upkeep, as it has been told or has found
  TimePoint may_look_at = start;  // after a failure; never: upkeep has not tried to connect since
  bool must_look = true;
  bool must_end_leases = false;
  bool must_rescue = false;
  bool must_expire = false;
  bool must_fire = false;
  bool must_compare = false;
  bool is_uncompared = true;
  TimePoint compares_again_at = start;
  TimePoint fires_again_at = start;
  std::optional<TimePoint> left_at = {};  // the last rescue has left a task
  TimePoint first_left_at{};              // since the last rescue that has left none
  bool has_worked = false;                // since the last failure, or since it was told that all is answered
  int actions_without_ticks = 0;          // while ticks were due
  int actions_without_look = 0;           // while a lapse was due to be looked for

  /// Carries out the plan until it waits.
  void act() {
    for (int steps = 0; steps < 40; ++steps) {
      const UpkeepPlan::Action action = plan.next(now);
      if (action.step == UpkeepPlan::Step::wait) return check_wait(action);
      if (action.all_answered) REQUIRE(std::exchange(has_worked, false));
      now += action.step == UpkeepPlan::Step::expire ? 400ms : 1ms;
      count(action.step);
      if (fails_in > 0 && --fails_in == 0) {
        fail();
      } else {
        carry_out(action);
      }
    }
    FAIL("upkeep comes to wait");
  }

  void count(UpkeepPlan::Step step) {
    const bool fires = step == UpkeepPlan::Step::fire_ticks;
    actions_without_ticks = must_fire && !fires && now > fires_again_at ? actions_without_ticks + 1 : 0;
    REQUIRE(actions_without_ticks <= most_other_actions);
    const bool awaits_look = must_look && now > may_look_at && step != UpkeepPlan::Step::look;
    actions_without_look = awaits_look ? actions_without_look + 1 : 0;
    REQUIRE(actions_without_look <= 4);  // a batch of ticks, one of expired tasks, a comparison, ticks
  }

  void carry_out(const UpkeepPlan::Action& action) {
    using Step = UpkeepPlan::Step;
    if (action.step != Step::connect) has_worked = true;
    switch (action.step) {
      case Step::fire_ticks:
        return fire();
      case Step::connect:
        REQUIRE(now - 1ms < may_look_at);
        if (may_look_at == never) may_look_at = now - 1ms + between_looks;
        return;
      case Step::look:
        return look(action.look_back);
      case Step::end_leases:
        REQUIRE(must_end_leases);
        must_end_leases = false;
        lapses_at.reset();
        has_to_rescue = must_rescue = true;
        return plan.on_leases_ended();
      case Step::rescue:
        REQUIRE(must_rescue);
        must_rescue = false;
        has_to_rescue = is_locked;
        must_look = true;
        if (is_locked && !left_at) first_left_at = now;
        left_at = is_locked ? std::optional{now} : std::nullopt;
        return plan.on_rescued(is_locked);
      case Step::expire:
        return expire(action.look_back);
      case Step::compare:
        return compare();
      case Step::wait:
      case Step::end:
        break;
    }
    FAIL("upkeep is not stopping");
  }

  void fire() {
    REQUIRE(must_fire);
    REQUIRE(now > fires_again_at);
    switch (ticks) {
      case Ticks::fire: {
        const bool has_fired = due_ticks > 0;
        if (has_fired) --due_ticks;
        must_fire = due_ticks > 0;
        return plan.on_fired(has_fired ? 50 : 0, due_in(), now);
      }
      case Ticks::refused:
        fires_again_at = now + 1s;
        return plan.on_ticks_refused(now);
      case Ticks::locked:
        must_fire = due_ticks > 0;
        fires_again_at = now + 100ms;
        return plan.on_fired(0, due_in(), now);
    }
  }

  [[nodiscard]] std::optional<milliseconds> due_in() const { return due_ticks > 0 ? std::optional{0ms} : std::nullopt; }

  void look(std::optional<milliseconds> back) {
    REQUIRE(now > may_look_at);  // the others had a heartbeat's time to renew
    must_look = false;
    if (expired > 0) REQUIRE((!back || now - expired_at <= *back));  // none is forgotten
    Outlook found{.has_to_rescue = has_to_rescue, .has_expired = expired > 0, .newest_began_ago = 1h};
    if (lapses_at) found.lapses_in = std::chrono::duration_cast<milliseconds>(*lapses_at - now);
    found.tick_due_in = due_in();
    must_fire = due_ticks > 0;
    fires_again_at = now;
    const bool is_again = plan.state() == UpkeepPlan::State::look_again;
    const Lease own{1, 30s, now};
    REQUIRE_FALSE(plan.on_looked(found, own, now));
    must_expire = must_expire || expired > 0;
    must_compare = must_compare || (is_uncompared && now >= compares_again_at);
    if (is_again) return;
    must_end_leases = lapses_at && *lapses_at < now;
    must_rescue = has_to_rescue;
  }

  void expire(std::optional<milliseconds> back) {
    REQUIRE(must_expire);
    if (expired > 0) REQUIRE((!back || now - expired_at <= *back));
    const bool has_ended = expired > 0;
    if (has_ended) --expired;
    if (!has_ended) must_expire = false;
    plan.on_expired(has_ended ? 1000 : 0);
  }

  void compare() {
    REQUIRE(must_compare);
    REQUIRE_FALSE(must_expire);
    must_compare = false;
    if (refuses_comparison) {
      compares_again_at = now + 1200ms;
      return plan.on_comparison_refused(now);
    }
    is_uncompared = false;
    plan.on_compared();
  }

  void fail() {
    may_look_at = never;
    must_look = must_end_leases = must_rescue = must_expire = must_compare = has_worked = false;
    is_uncompared = true;
    left_at.reset();
    plan.on_failure();
    now += 3s;  // until the service has recovered: longer than between two looks
  }

  void check_wait(const UpkeepPlan::Action& wait) {
    INFO(wait.until - now);
    until = wait.until;
    REQUIRE(until > now);
    REQUIRE(until <= now + between_looks);  // one of the first two never stops looking
    REQUIRE(wait.all_answered == has_worked);
    has_worked = false;
    REQUIRE_FALSE(must_end_leases);
    REQUIRE_FALSE(must_rescue);
    REQUIRE_FALSE(must_expire);
    REQUIRE_FALSE(must_compare);
    REQUIRE(may_look_at != never);
    if (must_fire) REQUIRE((ticks != Ticks::fire || now < fires_again_at));
    if (must_fire) REQUIRE(until <= fires_again_at);
    if (now < may_look_at) {
      REQUIRE(until <= may_look_at);
      return;
    }
    REQUIRE_FALSE(must_look);
    if (lapses_at) REQUIRE(until <= *lapses_at + 1ms);
    if (left_at) REQUIRE(until <= *left_at + std::max<Duration>(250ms, 2 * (*left_at - first_left_at)) + 2ms);
  }

  bool event(int number) {
    switch (number) {
      case 0:
        now = std::max(now, until);
        act();
        return true;
      case 1:
        now += 70ms;
        return true;
      case 2:
        now += 1500ms;
        return true;
      case 3:  // a worker begins, and dies
        if (lapses_at) return false;
        lapses_at = now + 400ms;
        must_look = is_uncompared = true;
        plan.on_told({.worker_began = true}, now);
        return true;
      case 4:
        is_locked = !is_locked;
        return true;
      case 5:
        if (expired > 0) return false;
        expired = 2;
        expired_at = now;
        return true;
      case 6:
        if (due_ticks > 0) return false;
        due_ticks = 6;
        must_fire = true;
        fires_again_at = now;
        plan.on_told({.schedules_changed = true}, now);
        return true;
      case 7:
        ticks = static_cast<Ticks>((static_cast<int>(ticks) + 1) % 3);
        return true;
      case 8:
        if (fails_in > 0) return false;
        fails_in = 1;
        return true;
      case 9:
        refuses_comparison = !refuses_comparison;
        return true;
      case 10:  // in the middle of a rescue, or after a look
        if (fails_in > 0) return false;
        fails_in = 3;
        return true;
      default:
        return false;
    }
  }
};

int walk_all(const Fleet& fleet, int depth) {
  if (depth == 0) return 0;
  int count = 0;
  for (int event = 0; event < 11; ++event) {
    Fleet next = fleet;
    next.trace += static_cast<char>('a' + event);
    INFO(next.trace);
    if (!next.event(event)) continue;
    Fleet settled = next;
    settled.act();
    count += 1 + walk_all(next, depth - 1);
  }
  return count;
}

}  // namespace

TEST_CASE(
    "in all sequences of lapses, refusals and failures, upkeep does all that is due, keeps no work waiting for "
    "another, "
    "and never spins",
    "[one_thread]") {
  CHECK(walk_all(Fleet{}, 5) > 50'000);
}
