// The messages of other threads to the claimer, and which of them end the claimer's wait. Pure: inbox.hpp holds it
// under a lock.
//
//   nothing_new --message--> has_messages      nothing_new --room--> has_room --message--> has_messages
//   nothing_new --begin_wait--> waits          has_room --begin_wait--> waits, if the wait is not for room
//   nothing_new --begin_wait for room--> waits_for_room
//   waits --message--> has_messages            waits_for_room --message--> has_messages, --room--> has_room
//   any --take--> nothing_new
//
// A message between the claimer's decision to wait and the begin of the wait keeps the wait from beginning. A message
// after the begin wakes the claimer's thread. So no message is missed (tests/unit/claim/plan_test.cpp).
#pragma once

#include <iosfwd>
#include <string_view>

#include "base/time.hpp"
#include "claim/core/told.hpp"

namespace dogged::runtime {

class Mailbox {
 public:
  enum class State {
    nothing_new,     ///< since take()
    has_room,        ///< a thread may be free again; there is no message
    has_messages,    ///< and perhaps room
    waits,           ///< the claimer, for messages
    waits_for_room,  ///< the claimer, for messages and for room
  };
  enum class Effect {
    none,
    ends_wait,  ///< the claimer's thread has to be woken, which happens once in a wait
  };

  /// Adds to what the claimer has not taken yet. A task that is due only after the end of the wait does not end it.
  [[nodiscard]] Effect note(const Told& told) noexcept;
  /// A thread may be free again.
  [[nodiscard]] Effect note_room() noexcept;

  /// Gives all messages since the last call. Before each decision of the claimer.
  [[nodiscard]] Told take() noexcept;
  /// The claimer has decided to wait until `until`. False, and no wait begins, if something was noted since take().
  /// Room counts only if `for_room`: otherwise each finished task would wake the claimer of a drained queue.
  [[nodiscard]] bool begin_wait(TimePoint until, bool for_room) noexcept;

  [[nodiscard]] State state() const noexcept { return state_; }

 private:
  State state_ = State::nothing_new;
  TimePoint waits_until_{};
  Told told_ = {};
};

[[nodiscard]] std::string_view to_text(Mailbox::State state) noexcept;
std::ostream& operator<<(std::ostream& out, Mailbox::State state);

}  // namespace dogged::runtime
