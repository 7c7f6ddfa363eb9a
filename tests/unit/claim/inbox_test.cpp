// Messages of other threads to the claimer wake its thread. mailbox_test.cpp walks through what ends a wait.
#include "claim/inbox.hpp"

#include <chrono>
#include <functional>
#include <utility>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;

namespace {

bool is_woken(const ClaimInbox& inbox) { return inbox.wake().is_readable(); }

}  // namespace

TEST_CASE("each message to the claimer wakes its thread from a wait, and is the one that the claimer takes") {
  const std::pair<std::function<void(ClaimInbox&)>, Told> ways_to_tell[] = {
      {[](ClaimInbox& inbox) { inbox.note_ready(); }, {.has_ready = true}},
      {[](ClaimInbox& inbox) { inbox.note_rescued(); }, {.has_rescued = true}},
      {[](ClaimInbox& inbox) { inbox.note_server_is_back(); }, {.server_is_back = true}},
      {[](ClaimInbox& inbox) { inbox.note_expired(); }, {.has_expired = true}},
      {[](ClaimInbox& inbox) { inbox.note_room(); }, {}},
  };
  for (const auto& [tell, told] : ways_to_tell) {
    ClaimInbox inbox;
    REQUIRE(inbox.begin_wait(SteadyClock::now() + 1h, true));
    CHECK_FALSE(is_woken(inbox));
    tell(inbox);
    CHECK(is_woken(inbox));
    CHECK(inbox.take() == told);
  }
}

TEST_CASE("a message to a claimer that does not wait wakes no thread, and keeps the next wait from beginning") {
  ClaimInbox inbox;
  inbox.note_ready();
  inbox.note_room();
  CHECK_FALSE(is_woken(inbox));
  CHECK_FALSE(inbox.begin_wait(SteadyClock::now() + 1h, false));
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
}
