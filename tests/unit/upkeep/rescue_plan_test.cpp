// Whether upkeep rescues, and whether lapsed leases are ended first.
#include "upkeep/core/rescue_plan.hpp"

#include <optional>
#include <vector>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using dogged::runtime::Lease;
using dogged::runtime::milliseconds;
using dogged::runtime::Outlook;
using dogged::runtime::RescuePlan;
using dogged::runtime::TimePoint;
using dogged::test::start;
using Rescue = RescuePlan::Rescue;

namespace {

constexpr Outlook lapsed{.lapses_in = -5ms};

/// Renewed at `start`, and not since: unsteady from 3 s on.
Lease lease_of_30_s() { return {1, 30s, start}; }

Lease renewed_at(TimePoint last) { return {1, 30s, last}; }

}  // namespace

TEST_CASE("upkeep ends leases exactly where one has lapsed, and rescues exactly where there is something to rescue") {
  struct Case {
    std::optional<milliseconds> lapses_in;
    bool has_to_rescue;
    Rescue expected;
  };
  const std::vector<Case> cases{
      {std::nullopt, false, Rescue::none},
      {std::nullopt, true, Rescue::of_ended_leases},
      {1ms, false, Rescue::none},
      {1ms, true, Rescue::of_ended_leases},
      {0ms, false, Rescue::none},
      {0ms, true, Rescue::of_ended_leases},
      {-1ms, false, Rescue::after_ending_lapsed},
      {-1ms, true, Rescue::after_ending_lapsed},
  };
  for (const Case& one : cases) {
    RescuePlan plan{1s};
    CHECK(plan.on_looked({.has_to_rescue = one.has_to_rescue, .lapses_in = one.lapses_in}, lease_of_30_s(), start) ==
          one.expected);
    CHECK(plan.state() == RescuePlan::State::trusts);
  }
}

TEST_CASE(
    "a worker whose own lease was not renewed steadily lets the others renew for a heartbeat, and until its own is") {
  RescuePlan plan{1s};
  const TimePoint found = start + 10s;
  CHECK(plan.on_looked(lapsed, lease_of_30_s(), found) == Rescue::none);
  CHECK(plan.state() == RescuePlan::State::lets_renew);
  // A heartbeat is over, and its own lease was not renewed since.
  CHECK(plan.on_looked(lapsed, lease_of_30_s(), found + 5s) == Rescue::none);
  // The worker's own lease was renewed, and a heartbeat is not over.
  CHECK(plan.on_looked(lapsed, renewed_at(found + 500ms), found + 999ms) == Rescue::none);
  CHECK(plan.on_looked(lapsed, renewed_at(found + 500ms), found + 1s) == Rescue::after_ending_lapsed);
  CHECK(plan.state() == RescuePlan::State::ends);
}

TEST_CASE("the others are let renew once for each time that leases are found lapsed, however unsteady it all is") {
  RescuePlan plan{1s};
  CHECK(plan.on_looked(lapsed, lease_of_30_s(), start + 10s) == Rescue::none);
  const Lease renewed_once = renewed_at(start + 11s);
  CHECK(plan.on_looked(lapsed, renewed_once, start + 20s) == Rescue::after_ending_lapsed);
  // A claim under way held the end of the lease up.
  CHECK(plan.on_looked(lapsed, renewed_once, start + 25s) == Rescue::after_ending_lapsed);
  CHECK(plan.on_looked({}, renewed_once, start + 26s) == Rescue::none);
  CHECK(plan.on_looked(lapsed, renewed_once, start + 27s) == Rescue::none);
  CHECK(plan.state() == RescuePlan::State::lets_renew);
}

TEST_CASE("a worker that has ended leases while steady still lets the others renew once it is unsteady") {
  RescuePlan plan{1s};
  CHECK(plan.on_looked(lapsed, lease_of_30_s(), start) == Rescue::after_ending_lapsed);
  CHECK(plan.on_looked(lapsed, lease_of_30_s(), start + 10s) == Rescue::none);
  CHECK(plan.state() == RescuePlan::State::lets_renew);
}

TEST_CASE("while the others are let renew, what is held under ended leases is rescued all the same") {
  RescuePlan plan{1s};
  CHECK(plan.on_looked({.has_to_rescue = true, .lapses_in = -1ms}, lease_of_30_s(), start + 10s) ==
        Rescue::of_ended_leases);
}
