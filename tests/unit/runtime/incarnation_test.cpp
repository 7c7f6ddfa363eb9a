// When a run of the worker's services ends, and how: every state, and everything that a look can find.
#include "runtime/core/incarnation.hpp"

#include <array>
#include <optional>
#include <stdexcept>
#include <vector>

#include "support/catch.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using runtime::Incarnation;
using runtime::Lease;
using End = Incarnation::End;
using State = Incarnation::State;

namespace {

constexpr std::array lease_states{Lease::State::held, Lease::State::lapsed, Lease::State::regained,
                                  Lease::State::ended};

std::vector<Incarnation::Seen> everything_seen() {
  std::vector<Incarnation::Seen> all;
  for (const bool defect : {false, true}) {
    for (const bool stop : {false, true}) {
      for (const bool too_many : {false, true}) {
        for (const Lease::State lease : lease_states) all.push_back({defect, stop, too_many, lease});
      }
    }
  }
  return all;
}

Incarnation in_doubt() {
  Incarnation incarnation;
  incarnation.on_seen({.lease = Lease::State::lapsed});
  REQUIRE(incarnation.state() == State::in_doubt);
  return incarnation;
}

/// Why an incarnation that has not ended yet ends now.
End expected_end(const Incarnation::Seen& seen) {
  if (seen.has_defect) return End::defect;
  if (seen.stop_requested) return End::stop_requested;
  if (seen.lease == Lease::State::ended || seen.lease == Lease::State::regained) return End::lease_lost;
  return seen.carries_too_many && seen.lease == Lease::State::held ? End::too_many_abandoned : End::none;
}

/// A lease that has lapsed is regained or ended.
bool is_impossible(State before, const Incarnation::Seen& seen) {
  return before == State::in_doubt && seen.lease == Lease::State::held && !seen.has_defect && !seen.stop_requested;
}

}  // namespace

TEST_CASE("an incarnation ends for the gravest reason that is seen, and is in doubt while its lease is lapsed") {
  for (const bool doubted : {false, true}) {
    for (const Incarnation::Seen& seen : everything_seen()) {
      Incarnation incarnation = doubted ? in_doubt() : Incarnation{};
      CAPTURE(doubted, seen.has_defect, seen.stop_requested, seen.carries_too_many, seen.lease);
      if (is_impossible(incarnation.state(), seen)) {
        CHECK_THROWS_AS(incarnation.on_seen(seen), std::logic_error);
        continue;
      }
      incarnation.on_seen(seen);
      CHECK(incarnation.end() == expected_end(seen));
      CHECK((incarnation.state() == State::draining) == (incarnation.end() != End::none));
      if (seen.lease == Lease::State::lapsed && incarnation.end() == End::none) {
        CHECK(incarnation.state() == State::in_doubt);
      }
    }
  }
}

TEST_CASE("whatever an incarnation sees, the first look that ends it decides, and its doubt lasts until then") {
  const std::vector<Incarnation::Seen> looks = everything_seen();
  std::size_t walks = 0;
  for (const Incarnation::Seen& first : looks) {
    for (const Incarnation::Seen& second : looks) {
      for (const Incarnation::Seen& third : looks) {
        Incarnation incarnation;
        State state = State::running;
        End end = End::none;
        for (const Incarnation::Seen& seen : {first, second, third}) {
          if (is_impossible(state, seen)) break;
          incarnation.on_seen(seen);
          if (end == End::none) end = expected_end(seen);
          if (end != End::none) state = State::draining;
          if (end == End::none && seen.lease == Lease::State::lapsed) state = State::in_doubt;
          if (incarnation.state() != state || incarnation.end() != end) {
            FAIL("walk " << walks << ": " << incarnation.state() << ", " << incarnation.end());
          }
        }
        ++walks;
      }
    }
  }
  CHECK(walks == 32 * 32 * 32);
}

TEST_CASE("running attempts have time to finish only where the worker ends in order") {
  const auto grace_after = [](const Incarnation::Seen& seen) {
    Incarnation incarnation;
    incarnation.on_seen(seen);
    return incarnation.grace(30s);
  };
  CHECK(grace_after({.stop_requested = true}) == 30s);
  CHECK(grace_after({.carries_too_many = true}) == 30s);
  CHECK(grace_after({.lease = Lease::State::ended}) == 0s);
  CHECK(grace_after({.has_defect = true}) == 0s);
}
