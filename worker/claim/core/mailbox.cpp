// See mailbox.hpp.
#include "claim/core/mailbox.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

namespace dogged::runtime {
namespace {

void add(Told& sum, const Told& told) noexcept {
  sum.has_ready |= told.has_ready;
  sum.has_rescued |= told.has_rescued;
  sum.due_at = std::min(sum.due_at, told.due_at);
  sum.server_is_back |= told.server_is_back;
  sum.has_expired |= told.has_expired;
}

}  // namespace

Mailbox::Effect Mailbox::note(const Told& told) noexcept {
  add(told_, told);
  switch (state_) {
    case State::nothing_new:
    case State::has_room:
    case State::has_messages:
      break;
    case State::waits:
    case State::waits_for_room:
      if (told == Told{.due_at = told.due_at} && told.due_at >= waits_until_) return Effect::none;
      state_ = State::has_messages;
      return Effect::ends_wait;
  }
  state_ = State::has_messages;
  return Effect::none;
}

Mailbox::Effect Mailbox::note_room() noexcept {
  switch (state_) {
    case State::nothing_new:
      state_ = State::has_room;
      return Effect::none;
    case State::waits_for_room:
      state_ = State::has_room;
      return Effect::ends_wait;
    case State::has_room:
    case State::has_messages:
    case State::waits:
      break;
  }
  return Effect::none;
}

Told Mailbox::take() noexcept {
  state_ = State::nothing_new;
  return std::exchange(told_, {});
}

bool Mailbox::begin_wait(TimePoint until, bool for_room) noexcept {
  if (state_ == State::has_messages || (for_room && state_ == State::has_room)) return false;
  state_ = for_room ? State::waits_for_room : State::waits;
  waits_until_ = until;
  return true;
}

std::string_view to_text(Mailbox::State state) noexcept {
  switch (state) {
    case Mailbox::State::nothing_new:
      return "nothing new";
    case Mailbox::State::has_room:
      return "has room";
    case Mailbox::State::has_messages:
      return "has messages";
    case Mailbox::State::waits:
      return "waits";
    case Mailbox::State::waits_for_room:
      break;
  }
  return "waits for room";
}

std::ostream& operator<<(std::ostream& out, Mailbox::State state) { return out << to_text(state); }

}  // namespace dogged::runtime
