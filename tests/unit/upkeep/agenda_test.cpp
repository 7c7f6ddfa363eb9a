// Upkeep's next work, and its time.
#include "upkeep/agenda.hpp"

#include <optional>
#include <vector>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using runtime::Agenda;
using runtime::Lease;
using runtime::milliseconds;
using runtime::Outlook;
using runtime::TimePoint;
using Rescue = Agenda::Rescue;
using dogged::test::start;

namespace {

constexpr Agenda::Settings every_second{.heartbeat = 1s};
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
    Agenda agenda{every_second, start};
    CHECK(agenda.decide({.has_to_rescue = one.has_to_rescue, .lapses_in = one.lapses_in}, lease_of_30_s(), start) ==
          one.expected);
    CHECK_FALSE(agenda.lets_renew());
  }
}

TEST_CASE(
    "a worker whose own lease was not renewed steadily lets the others renew for a heartbeat, and until its own is") {
  Agenda agenda{every_second, start};
  const TimePoint found = start + 10s;
  CHECK(agenda.decide(lapsed, lease_of_30_s(), found) == Rescue::none);
  CHECK(agenda.lets_renew());
  agenda.note_looked(lapsed, false, found);
  CHECK(agenda.looks_at() == found + 1s);
  // A heartbeat is over, and its own lease was not renewed since.
  CHECK(agenda.decide(lapsed, lease_of_30_s(), found + 5s) == Rescue::none);
  // The worker's own lease was renewed, and a heartbeat is not over.
  CHECK(agenda.decide(lapsed, renewed_at(found + 500ms), found + 999ms) == Rescue::none);
  CHECK(agenda.decide(lapsed, renewed_at(found + 500ms), found + 1s) == Rescue::after_ending_lapsed);
  CHECK_FALSE(agenda.lets_renew());
}

TEST_CASE("the others are let renew once for each time that leases are found lapsed, however unsteady it all is") {
  Agenda agenda{every_second, start};
  CHECK(agenda.decide(lapsed, lease_of_30_s(), start + 10s) == Rescue::none);
  const Lease renewed_once = renewed_at(start + 11s);
  CHECK(agenda.decide(lapsed, renewed_once, start + 20s) == Rescue::after_ending_lapsed);
  // A claim under way held the end of the lease up.
  CHECK(agenda.decide(lapsed, renewed_once, start + 25s) == Rescue::after_ending_lapsed);
  CHECK(agenda.decide({}, renewed_once, start + 26s) == Rescue::none);
  CHECK(agenda.decide(lapsed, renewed_once, start + 27s) == Rescue::none);
  CHECK(agenda.lets_renew());
}

TEST_CASE("while the others are let renew, what is held under ended leases is rescued all the same") {
  Agenda agenda{every_second, start};
  CHECK(agenda.decide({.has_to_rescue = true, .lapses_in = -1ms}, lease_of_30_s(), start + 10s) ==
        Rescue::of_ended_leases);
}

TEST_CASE(
    "upkeep looks when the next lease lapses, at least each heartbeat of the first workers, and soon for locked "
    "tasks") {
  const auto looks_after = [](const Outlook& found, bool left_tasks) {
    Agenda agenda{every_second, start};
    agenda.note_looked(found, left_tasks, start);
    return agenda.looks_at() - start;
  };
  CHECK(looks_after({}, false) == 1s);
  CHECK(looks_after({.comes_first = false}, false) == 6s);
  CHECK(looks_after({.lapses_in = 300ms}, false) == 301ms);
  CHECK(looks_after({.lapses_in = 300ms, .comes_first = false}, false) == 301ms);
  CHECK(looks_after({.lapses_in = 1h}, false) == 1s);
  CHECK(looks_after({.lapses_in = 1h, .comes_first = false}, false) == 6s);
  CHECK(looks_after({.lapses_in = -1h}, false) == 50ms);
  CHECK(looks_after({.lapses_in = 1h, .comes_first = false}, true) == 250ms);
}

TEST_CASE(
    "tasks that a rescue leaves again and again are tried less often, up to once a heartbeat, until none is left") {
  constexpr Outlook nothing_soon{.lapses_in = 1h, .comes_first = false};
  Agenda agenda{every_second, start};
  TimePoint now = start;
  const auto waits = [&](const Outlook& found, bool left_tasks) {
    agenda.note_looked(found, left_tasks, now);
    return std::chrono::duration_cast<milliseconds>(agenda.looks_at() - now);
  };
  for (const milliseconds wait : {250ms, 500ms, 1000ms, 1000ms}) {
    CHECK(waits(nothing_soon, true) == wait);
    for (int early = 0; early < 3; ++early) {  // another lease has lapsed, and a claim under way holds up its end
      CHECK(waits({.lapses_in = -1ms}, true) == 50ms);
      now = agenda.looks_at();
    }
    CHECK(waits(nothing_soon, true) == wait - 150ms);
    now = agenda.looks_at();
  }
  CHECK(waits(nothing_soon, false) == 6s);
  CHECK(waits(nothing_soon, true) == 250ms);

  Agenda quick{{.heartbeat = 100ms}, start};
  quick.note_looked({}, true, start);
  CHECK(quick.looks_at() == start + 100ms);
}

TEST_CASE("after a failure upkeep tries again at once, and does not look before the others had a heartbeat to renew") {
  Agenda agenda{every_second, start};
  CHECK(agenda.may_look(start));
  agenda.note_failed(start + 10s);
  CHECK(agenda.looks_at() == start + 10s);
  CHECK_FALSE(agenda.may_look(start + 10s));
  CHECK(agenda.looks_at() == start + 11s);
  CHECK(agenda.may_look(start + 11s));
}

TEST_CASE("a worker that goes on under another lease does not look before the others had a heartbeat to renew") {
  Agenda agenda{{.heartbeat = 1s, .lets_others_renew = true}, start};
  CHECK_FALSE(agenda.may_look(start));
  CHECK_FALSE(agenda.may_look(start + 999ms));
  CHECK(agenda.may_look(start + 1s));
}

TEST_CASE("a look for what has expired goes back to the last look and a minute more, and every ten minutes for ever") {
  Agenda agenda{every_second, start};
  CHECK_FALSE(agenda.look_back(start).has_value());
  agenda.note_expired(start, std::nullopt);
  CHECK(agenda.look_back(start + 5s) == 65s);
  agenda.note_expired(start + 5s, 65s);
  CHECK(agenda.look_back(start + 6s) == 61s);
  CHECK(agenda.look_back(start + 6s + 1us) == 61'001ms);  // rounded up: nothing between two looks is left out
  CHECK(agenda.look_back(start + 10min - 1ms).has_value());
  CHECK_FALSE(agenda.look_back(start + 10min).has_value());
}

TEST_CASE(
    "declarations are compared at first, after a worker began or a failure, twice for a new worker, and now and then") {
  constexpr Outlook old_workers{.newest_began_ago = 1h};
  Agenda agenda{every_second, start};
  CHECK(agenda.must_compare(old_workers, start));
  agenda.note_compared(start);
  CHECK_FALSE(agenda.must_compare(old_workers, start + 1s));
  agenda.note_worker_began();
  CHECK(agenda.must_compare(old_workers, start + 1s));
  agenda.note_compared(start + 1s);
  agenda.note_failed(start + 2s);
  CHECK(agenda.must_compare(old_workers, start + 2s));
  agenda.note_compared(start + 2s);
  // Upkeep was not told of the new worker, which began before the last comparison and may have declared its tasks after
  // it.
  CHECK(agenda.must_compare({.newest_began_ago = 12s}, start + 3s));
  CHECK_FALSE(agenda.must_compare({.newest_began_ago = 13s}, start + 3s));
  CHECK_FALSE(agenda.must_compare(old_workers, start + 2s + 10min - 1ms));
  CHECK(agenda.must_compare(old_workers, start + 2s + 10min));
}

TEST_CASE(
    "a comparison of declarations that PostgreSQL has refused comes again ten seconds later, and holds up no look") {
  constexpr Outlook worker_began{.newest_began_ago = 1s};
  Agenda agenda{every_second, start};
  agenda.note_looked({}, false, start);
  const TimePoint looks_at = agenda.looks_at();
  agenda.note_comparison_failed(start);
  CHECK(agenda.looks_at() == looks_at);
  CHECK_FALSE(agenda.must_compare(worker_began, start + 10s - 1ms));
  CHECK(agenda.must_compare(worker_began, start + 10s));
}
