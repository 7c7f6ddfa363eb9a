// The messages for the claimer, in each state: which of them end its wait, and which keep a wait from beginning.
#include "claim/core/mailbox.hpp"

#include <chrono>
#include <vector>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using dogged::test::start;
using Effect = Mailbox::Effect;
using State = Mailbox::State;

namespace {

constexpr TimePoint until = start + 1s;
constexpr Told due_later{.due_at = until};

const std::vector<Told> messages{{.has_ready = true},      {.has_rescued = true},
                                 {.server_is_back = true}, {.has_expired = true},
                                 {.due_at = until - 1ns},  {.has_ready = true, .due_at = until + 1s}};
const std::vector<State> states{State::nothing_new, State::has_room, State::has_messages, State::waits,
                                State::waits_for_room};

bool is_wait(State state) { return state == State::waits || state == State::waits_for_room; }

Mailbox mailbox_in(State state) {
  Mailbox mailbox;
  switch (state) {
    case State::nothing_new:
      break;
    case State::has_room:
      (void)mailbox.note_room();
      break;
    case State::has_messages:
      (void)mailbox.note(due_later);
      break;
    case State::waits:
      REQUIRE(mailbox.begin_wait(until, false));
      break;
    case State::waits_for_room:
      REQUIRE(mailbox.begin_wait(until, true));
      break;
  }
  REQUIRE(mailbox.state() == state);
  return mailbox;
}

}  // namespace

TEST_CASE("whatever is told ends a wait once, and is given once") {
  for (const Told& message : messages) {
    for (const State state : states) {
      CAPTURE(state);
      Mailbox mailbox = mailbox_in(state);
      CHECK(mailbox.note(message) == (is_wait(state) ? Effect::ends_wait : Effect::none));
      CHECK(mailbox.state() == State::has_messages);
      CHECK(mailbox.note(message) == Effect::none);
      CHECK(mailbox.note_room() == Effect::none);
      CHECK(mailbox.state() == State::has_messages);
      Told expected = message;
      if (state == State::has_messages) expected.due_at = std::min(message.due_at, due_later.due_at);
      CHECK(mailbox.take() == expected);
      CHECK(mailbox.state() == State::nothing_new);
      CHECK(mailbox.take() == Told{});
    }
  }
}

TEST_CASE("a task that is due only after the end of a wait does not end it, and is told all the same") {
  for (const State state : states) {
    CAPTURE(state);
    Mailbox mailbox = mailbox_in(state);
    CHECK(mailbox.note(due_later) == Effect::none);
    CHECK(mailbox.state() == (is_wait(state) ? state : State::has_messages));
    CHECK(mailbox.note({.due_at = until + 1s}) == Effect::none);
    CHECK(mailbox.take() == due_later);
  }
}

TEST_CASE("room ends the wait of a claimer that waits for room, and of no other") {
  for (const State state : states) {
    CAPTURE(state);
    Mailbox mailbox = mailbox_in(state);
    CHECK(mailbox.note_room() == (state == State::waits_for_room ? Effect::ends_wait : Effect::none));
    const bool is_news = state == State::nothing_new || state == State::waits_for_room;
    CHECK(mailbox.state() == (is_news ? State::has_room : state));
    CHECK(mailbox.note_room() == Effect::none);
  }
}

TEST_CASE(
    "no wait begins where something was told since the claimer's last look, and room counts for a wait for room") {
  for (const State state : states) {
    for (const bool for_room : {false, true}) {
      CAPTURE(state, for_room);
      Mailbox mailbox = mailbox_in(state);
      const bool keeps_from_waiting = state == State::has_messages || (state == State::has_room && for_room);
      CHECK(mailbox.begin_wait(until, for_room) == !keeps_from_waiting);
      CHECK(mailbox.state() == (keeps_from_waiting ? state : for_room ? State::waits_for_room : State::waits));
      (void)mailbox.take();
      CHECK(mailbox.begin_wait(until, for_room));
    }
  }
}
