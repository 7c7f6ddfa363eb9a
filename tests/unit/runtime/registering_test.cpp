// How a worker registers under its name: all sequences of answers, failures, a stop, and doings of other workers.
#include "runtime/core/registering.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using dogged::runtime::Registering;
using dogged::runtime::TimePoint;
using dogged::test::start;
using Occasion = Registering::Occasion;
using RegisteringStep = Registering::Step;

namespace {

constexpr std::array occasions{Occasion::start, Occasion::restart, Occasion::lease_lost};

bool is_end(RegisteringStep step) {
  return step == RegisteringStep::refuse || step == RegisteringStep::fail || step == RegisteringStep::stop;
}

/// A worker that registers, the database, and other workers with the same name.
struct RegisteringWorld {
  explicit RegisteringWorld(Occasion of) : occasion(of), registering(of) {}

  Occasion occasion;
  Registering registering;
  TimePoint now = start;
  bool stop_requested = false;
  std::optional<Registering::Holder> holder = {};  // in the database
  std::int64_t last_id = 0;

  bool is_prepared = false;
  bool has_asked = false;
  bool has_row = false;
  bool is_registered = false;
  bool has_failed = false;
  bool has_seen_life = false;                    // of the holder, between two looks
  std::optional<Registering::Holder> seen = {};  // since the last failure
  std::optional<TimePoint> looked_at = {};       // and has not asked since
  std::string trace = {};

  [[nodiscard]] Registering::Action next() const { return registering.next(now, stop_requested); }

  void carry_out() {
    const Registering::Action action = next();
    switch (action.step) {
      case RegisteringStep::prepare:
        registering.on_prepared();
        is_prepared = true;
        return;
      case RegisteringStep::ask:
        require(is_prepared || occasion == Occasion::lease_lost);
        has_asked = true;
        looked_at.reset();
        if (holder) {
          registering.on_name_taken();
        } else {
          registering.on_registered();
          has_row = true;
          is_registered = occasion == Occasion::lease_lost;
        }
        return;
      case RegisteringStep::find_holder: {
        const bool is_told = registering.on_holder(holder, now);
        require(is_told == (holder && !seen));
        if (!holder) return;
        has_seen_life = seen && *seen != *holder;
        seen = holder;
        looked_at = now;
        return;
      }
      case RegisteringStep::wait:
        now = action.until;
        return;
      case RegisteringStep::declare:
        registering.on_declared();
        is_registered = true;
        return;
      default:
        FAIL("nothing is left to do after " << trace);
    }
  }

  void fail() {
    registering.on_failure();
    has_asked = true;
    has_failed = true;
    is_prepared = has_row = is_registered = false;
    seen.reset();
    looked_at.reset();
  }

  bool event(int number) {
    const RegisteringStep step = next().step;
    switch (number) {
      case 0:
        if (is_end(step) || step == RegisteringStep::registered) return false;
        carry_out();
        return true;
      case 1:
        if (is_end(step) || step == RegisteringStep::wait || step == RegisteringStep::registered) return false;
        fail();
        return true;
      case 2:
        if (!holder) return false;
        ++holder->heartbeat_at_us;
        return true;
      case 3:
        if (!holder) return false;
        holder.reset();
        return true;
      case 4:
        if (holder || has_row) return false;
        holder = Registering::Holder{++last_id, 1};
        return true;
      case 5:
        if (stop_requested) return false;
        stop_requested = true;
        return true;
      default:
        return false;
    }
  }

  void require(bool holds) const {
    if (!holds) FAIL("after " << trace << " of a " << occasion << ": " << next());
  }

  void check() const {
    const Registering::Action action = next();
    require((action.step == RegisteringStep::registered) == is_registered);
    require((action.step == RegisteringStep::refuse) == has_seen_life);
    require((action.step == RegisteringStep::fail) == (occasion == Occasion::start && has_failed));
    const bool heeds_stop = stop_requested && (has_asked || occasion == Occasion::lease_lost);
    require((action.step == RegisteringStep::declare) == (has_row && !is_registered));
    const bool has_ended = has_row || has_seen_life || (occasion == Occasion::start && has_failed);
    require((action.step == RegisteringStep::stop) == (heeds_stop && !has_ended));
    if (has_ended || heeds_stop) return;
    const bool waits = looked_at && now < *looked_at + Registering::between_tries;
    require((action.step == RegisteringStep::wait) == waits);
    if (waits) require(action.until == *looked_at + Registering::between_tries);
    // The worker registers once the name is free and the database answers.
    RegisteringWorld calm = *this;
    calm.holder.reset();
    for (int steps = 0; steps < 5 && !calm.is_registered; ++steps) calm.carry_out();
    require(calm.is_registered);
  }
};

int walk_registering(const RegisteringWorld& world, int length) {
  if (length == 0) return 0;
  int count = 0;
  for (int event = 0; event < 6; ++event) {
    RegisteringWorld next = world;
    if (!next.event(event)) continue;
    next.trace += static_cast<char>('a' + event);
    next.check();
    count += 1 + walk_registering(next, length - 1);
  }
  return count;
}

}  // namespace

TEST_CASE(
    "a worker registers once its name is free, is refused only where another worker with the name lives, heeds a stop, "
    "and gives up for a failure only when its program starts") {
  for (const Occasion occasion : occasions) {
    RegisteringWorld world{occasion};
    world.check();
    CHECK(walk_registering(world, 8) > 5'000);
  }
}

TEST_CASE("a program that is told to stop before it starts asks once, and says what keeps it from starting") {
  Registering registering{Occasion::start};
  CHECK(registering.next(start, true) == Registering::Action{RegisteringStep::prepare});
  registering.on_prepared();
  CHECK(registering.next(start, true) == Registering::Action{RegisteringStep::ask});
  registering.on_failure();
  CHECK(registering.next(start, true) == Registering::Action{RegisteringStep::fail});
}

TEST_CASE("a worker that waits for its name forgets the holder's heartbeat when the database fails") {
  Registering registering{Occasion::restart};
  registering.on_prepared();
  registering.on_name_taken();
  CHECK(registering.on_holder(Registering::Holder{1, 50}, start));
  registering.on_failure();
  registering.on_prepared();
  registering.on_name_taken();
  CHECK(registering.on_holder(Registering::Holder{1, 40}, start));  // as a standby has it
  CHECK(registering.next(start, false).step == RegisteringStep::wait);
}
