// A walk through the plans of looks and rescues: every sequence of looks, renewals, failures and waits up to a length.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"
#include "upkeep/core/look_plan.hpp"
#include "upkeep/core/rescue_plan.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using Rescue = RescuePlan::Rescue;
using dogged::test::start;

namespace {

constexpr milliseconds heartbeat{1000};
constexpr milliseconds length{12'000};

struct World {
  LookPlan looks{heartbeat, false, start};
  RescuePlan rescues{heartbeat};
  TimePoint now = start;
  std::string trace = {};
  TimePoint renewed_at = start;       // the worker's own lease
  TimePoint renewed_before = start;   // the renewal before
  bool has_failed = false;            // and nothing was tried since
  std::optional<TimePoint> tried_at;  // the first time after the last failure; nothing: upkeep has looked since
  bool has_lapsed = false;            // another worker's lease
  bool has_to_rescue = false;

  bool event(int number) {
    switch (number) {
      case 0:
        now = std::max(now, looks.looks_at());
        return look();
      case 1:
        renewed_before = renewed_at;
        renewed_at = now;
        return true;
      case 2:
        looks.on_failure();
        has_failed = true;
        return true;
      case 3:
        if (has_lapsed) return false;
        has_lapsed = true;
        return true;
      case 4:
        if (!has_lapsed) return false;
        has_lapsed = false;  // it was renewed
        return true;
      case 5:
        now += 600ms;
        return true;
      case 6:
        now += 4s;
        return true;
      default:
        return false;
    }
  }

  [[nodiscard]] bool is_steady() const {
    return std::max(renewed_at - renewed_before, now - renewed_at) <= 3 * heartbeat;
  }

  /// A lease cannot be copied; this one knows the same two renewals.
  [[nodiscard]] std::unique_ptr<Lease> own() const {
    auto lease = std::make_unique<Lease>(1, length, renewed_before);
    (void)lease->note_renewed(renewed_at, renewed_at);
    return lease;
  }

  bool look() {
    if (std::exchange(has_failed, false)) tried_at = now;
    switch (looks.next(now)) {
      case LookPlan::Ask::nothing:
        FAIL("the look is due");
        break;
      case LookPlan::Ask::connect:
        REQUIRE(looks.looks_at() > now);
        return true;
      case LookPlan::Ask::look:
        break;
    }
    // The others had a heartbeat's time to renew.
    if (tried_at) REQUIRE(now >= *tried_at + heartbeat);
    tried_at.reset();
    Outlook found{.has_to_rescue = has_to_rescue};
    if (has_lapsed) found.lapses_in = milliseconds{-5};
    const Rescue rescue = rescues.on_looked(found, *own(), now);
    if (has_to_rescue) REQUIRE(rescue != Rescue::none);
    if (!has_lapsed) REQUIRE(rescue != Rescue::after_ending_lapsed);
    if (has_lapsed && is_steady()) {
      REQUIRE((rescue == Rescue::after_ending_lapsed || rescues.state() == RescuePlan::State::lets_renew));
    }
    if (rescue == Rescue::after_ending_lapsed) {
      has_lapsed = false;
      has_to_rescue = false;
    }
    looks.on_looked(Outlook{}, false, now);
    return true;
  }

  void check() const {
    INFO(trace);
    REQUIRE(looks.looks_at() <= now + heartbeat);  // one of the first two never stops looking
    // A lease that stays lapsed is ended, as soon as the worker's own is renewed steadily.
    World calm = *this;
    calm.has_lapsed = true;
    for (int step = 0; calm.has_lapsed; ++step) {
      REQUIRE(step < 5);
      calm.renewed_before = calm.renewed_at;
      calm.renewed_at = calm.now = calm.now + heartbeat;
      (void)calm.look();
    }
    REQUIRE(calm.now <= now + 5 * heartbeat);
  }
};

int walk(const World& world, int depth) {
  if (depth == 0) return 0;
  int count = 0;
  for (int event = 0; event < 7; ++event) {
    World next = world;
    if (!next.event(event)) continue;
    next.trace += static_cast<char>('a' + event);
    next.check();
    count += 1 + walk(next, depth - 1);
  }
  return count;
}

}  // namespace

TEST_CASE("in all sequences of looks, renewals and failures, upkeep gives live workers time, and ends what has lapsed",
          "[one_thread]") {
  CHECK(walk(World{}, 6) > 30'000);
}
