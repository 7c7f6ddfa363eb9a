// When the claimer makes due tasks ready, and when it asks for the next due time.
#include "claim/core/due.hpp"

#include <chrono>
#include <optional>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using Ask = DueTime::Ask;
using State = DueTime::State;
using dogged::test::start;

namespace {

constexpr milliseconds again = 1s;

DueTime in_state(State state) {
  DueTime due{start};
  switch (state) {
    case State::unknown:
      due.on_scheduled(start);
      due.on_promoted(1, start, again);
      break;
    case State::none:
      due.on_due_time(std::nullopt, start, again);
      break;
    case State::known:
      due.on_due_time(300ms, start, again);
      break;
    case State::missed:
      due.on_scheduled(start);
      due.on_promoted(0, start, again);
      break;
    case State::overdue:
      due.on_due_time(0ms, start, again);
      break;
  }
  REQUIRE(due.state() == state);
  return due;
}

constexpr State all_states[] = {State::unknown, State::none, State::known, State::missed, State::overdue};

}  // namespace

TEST_CASE("at first nothing is known of due times, and the database is asked before the first claim") {
  const DueTime due{start};
  CHECK(due.state() == State::unknown);
  CHECK(due.before_claim(start) == Ask::due_time);
}

TEST_CASE("each state of the due time asks for its own thing, now and when its times have come") {
  struct Expected {
    State state;
    Ask claim_now, wait_now, claim_at_due, claim_at_again;
  };
  const Expected all[] = {
      {State::unknown, Ask::nothing, Ask::due_time, Ask::nothing, Ask::due_time},
      {State::none, Ask::nothing, Ask::nothing, Ask::nothing, Ask::due_time},
      {State::known, Ask::nothing, Ask::nothing, Ask::promote, Ask::promote},
      {State::missed, Ask::due_time, Ask::due_time, Ask::due_time, Ask::due_time},
      {State::overdue, Ask::promote, Ask::promote, Ask::promote, Ask::promote},
  };
  for (const Expected& expected : all) {
    INFO(to_text(expected.state));
    const DueTime due = in_state(expected.state);
    CHECK(due.before_claim(start) == expected.claim_now);
    CHECK(due.before_wait(start) == expected.wait_now);
    CHECK(due.before_claim(start + 300ms) == expected.claim_at_due);
    CHECK(due.before_claim(start + again) == expected.claim_at_again);
  }
}

TEST_CASE("a claimer with nothing to ask now never waits past the time of its next question") {
  for (const State state : all_states) {
    INFO(to_text(state));
    const DueTime due = in_state(state);
    if (due.before_wait(start) != Ask::nothing) continue;
    CHECK(due.asks_at() > start);
    CHECK(due.before_wait(due.asks_at()) != Ask::nothing);
    CHECK(due.before_wait(due.asks_at() - 1ns) == Ask::nothing);
  }
}

TEST_CASE("a task that is due earlier is never forgotten, whatever was known") {
  for (const State state : all_states) {
    INFO(to_text(state));
    DueTime due = in_state(state);
    due.on_scheduled(start + 100ms);
    CHECK(due.before_wait(start + 100ms) != Ask::nothing);
    DueTime told = in_state(state);
    told.on_unknown();
    CHECK(told.before_wait(start) != Ask::nothing);
  }
}

TEST_CASE("a promotion that finds nothing makes the claimer ask, and one that finds a batch makes it look for more") {
  DueTime due = in_state(State::known);
  CHECK_FALSE(due.on_promoted(0, start + 300ms, again));
  CHECK(due.state() == State::missed);
  due.on_due_time(0ms, start + 300ms, again);
  CHECK_FALSE(due.on_promoted(1000, start + 300ms, again));
  CHECK(due.state() == State::unknown);
}

TEST_CASE("while another session has locked the due tasks, the claimer tries again in 50 ms, and does not spin") {
  DueTime due = in_state(State::overdue);
  CHECK(due.on_promoted(0, start, again));
  CHECK(due.before_wait(start) == Ask::nothing);
  CHECK(due.asks_at() == start + 50ms);
  CHECK(due.before_claim(start + 50ms) == Ask::promote);
}

TEST_CASE("a due time in the far future, set by hand, does not overflow the clock") {
  DueTime due{start};
  due.on_due_time(milliseconds::max(), start, again);
  CHECK(due.asks_at() == start + again);
  CHECK(due.before_claim(start + 24h) == Ask::due_time);
}
