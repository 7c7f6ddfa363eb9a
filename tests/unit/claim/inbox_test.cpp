// Messages of other threads to the claimer, and when they end its wait.
#include "claim/inbox.hpp"

#include <chrono>
#include <functional>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;

namespace {

bool is_woken(const ClaimInbox& inbox) { return inbox.wake().is_readable(); }

const std::function<void(ClaimInbox&)> ways_to_tell[] = {
    [](ClaimInbox& inbox) { inbox.note_ready(); },          [](ClaimInbox& inbox) { inbox.note_rescued(); },
    [](ClaimInbox& inbox) { inbox.note_server_is_back(); }, [](ClaimInbox& inbox) { inbox.note_expired(); },
    [](ClaimInbox& inbox) { inbox.note_due(1ms); },
};

}  // namespace

TEST_CASE("whatever is told ends a wait, and what was told before keeps one from beginning") {
  for (const auto& tell : ways_to_tell) {
    ClaimInbox waiting;
    REQUIRE(waiting.begin_wait(SteadyClock::now() + 1h, false));
    CHECK_FALSE(is_woken(waiting));
    tell(waiting);
    CHECK(is_woken(waiting));

    ClaimInbox busy;
    tell(busy);
    CHECK_FALSE(is_woken(busy));
    CHECK_FALSE(busy.begin_wait(SteadyClock::now() + 1h, false));
    (void)busy.take();
    CHECK(busy.begin_wait(SteadyClock::now() + 1h, false));
  }
}

TEST_CASE("a finished task ends the wait of a claimer that waits for room, and of no other") {
  ClaimInbox for_room;
  REQUIRE(for_room.begin_wait(SteadyClock::now() + 1h, true));
  for_room.note_room();
  CHECK(is_woken(for_room));

  ClaimInbox drained;
  REQUIRE(drained.begin_wait(SteadyClock::now() + 1h, false));
  drained.note_room();
  CHECK_FALSE(is_woken(drained));

  ClaimInbox before;
  before.note_room();
  CHECK_FALSE(before.begin_wait(SteadyClock::now() + 1h, true));
  CHECK(before.begin_wait(SteadyClock::now() + 1h, false));
}

TEST_CASE("a retry that is due after the end of a wait does not end it, and is told all the same") {
  ClaimInbox inbox;
  REQUIRE(inbox.begin_wait(SteadyClock::now() + 1s, false));
  inbox.note_due(1h);
  CHECK_FALSE(is_woken(inbox));
  inbox.note_due(2h);
  const TimePoint due_at = inbox.take().due_at;
  CHECK(due_at > SteadyClock::now() + 59min);
  CHECK(due_at < SteadyClock::now() + 61min);
  CHECK(inbox.take().due_at == never);
}

TEST_CASE("a message that comes while the claimer does not wait is given once") {
  ClaimInbox inbox;
  inbox.note_ready();
  inbox.note_expired();
  const Told told = inbox.take();
  CHECK(told.has_ready);
  CHECK(told.has_expired);
  CHECK_FALSE(told.has_rescued);
  CHECK_FALSE(told.server_is_back);
  CHECK_FALSE(inbox.take().has_ready);
}
