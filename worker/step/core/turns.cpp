// See turns.hpp.
#include "step/core/turns.hpp"

#include <ostream>

#include "base/invariant.hpp"

namespace dogged::runtime {

Turns::Entry Turns::next(bool stop_requested) const noexcept {
  switch (state_) {
    case State::free:
      return Entry::take;
    case State::taken:
      return stop_requested ? Entry::leave : Entry::wait;
    case State::away:
      break;
  }
  return stop_requested ? Entry::leave : Entry::take;
}

void Turns::on_taken() {
  require_invariant(state_ != State::taken, "one handler asks at a time");
  state_ = State::taken;
}

void Turns::on_ended(bool is_away) {
  require_invariant(state_ == State::taken, "a turn ends that was taken");
  state_ = is_away ? State::away : State::free;
}

Turns::Sequel Turns::after(Failure failure, bool stop_requested) noexcept {
  switch (failure) {
    case Failure::connection_lost:
    case Failure::passes:
      return stop_requested ? Sequel::fail : Sequel::try_again;
    case Failure::lasts:
      return Sequel::fail;
    case Failure::defect:
      break;
  }
  return Sequel::end_worker;
}

std::string_view to_text(Turns::State state) noexcept {
  switch (state) {
    case Turns::State::free:
      return "free";
    case Turns::State::taken:
      return "taken";
    case Turns::State::away:
      break;
  }
  return "away";
}

std::string_view to_text(Turns::Entry entry) noexcept {
  switch (entry) {
    case Turns::Entry::take:
      return "take";
    case Turns::Entry::wait:
      return "wait";
    case Turns::Entry::leave:
      break;
  }
  return "leave";
}

std::string_view to_text(Turns::Sequel sequel) noexcept {
  switch (sequel) {
    case Turns::Sequel::try_again:
      return "try again";
    case Turns::Sequel::fail:
      return "fail";
    case Turns::Sequel::end_worker:
      break;
  }
  return "end worker";
}

std::ostream& operator<<(std::ostream& out, Turns::State state) { return out << to_text(state); }
std::ostream& operator<<(std::ostream& out, Turns::Entry entry) { return out << to_text(entry); }
std::ostream& operator<<(std::ostream& out, Turns::Sequel sequel) { return out << to_text(sequel); }

}  // namespace dogged::runtime
