// See certainty.hpp.
#include "claim/core/certainty.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

#include "base/invariant.hpp"

namespace dogged::runtime {
namespace {

constexpr milliseconds give_back_again_after{250};

}  // namespace

Certainty::Ask Certainty::next(TimePoint now) const noexcept {
  switch (state_) {
    case State::sure:
      return Ask::nothing;
    case State::in_doubt:
      return Ask::begin_session;
    case State::reconciling:
    case State::some_locked:
      return now >= give_back_at_ ? Ask::give_back : Ask::nothing;
  }
  return Ask::nothing;
}

TimePoint Certainty::asks_at() const noexcept { return state_ == State::in_doubt ? TimePoint::min() : give_back_at_; }

void Certainty::on_failure() noexcept { state_ = State::in_doubt; }

void Certainty::on_session_begun() {
  require_invariant(state_ == State::in_doubt, "a claim session begins because of a doubt");
  state_ = State::reconciling;
  give_back_at_ = TimePoint::min();
}

void Certainty::on_given_back(std::vector<TaskId> locked, TimePoint now) {
  require_invariant(state_ == State::reconciling || state_ == State::some_locked,
                    "unknown tasks are given back after a session has begun");
  unreleased_ = std::move(locked);
  state_ = unreleased_.empty() ? State::sure : State::some_locked;
  give_back_at_ = unreleased_.empty() ? never : now + give_back_again_after;
}

void Certainty::on_locked(TaskId id, TimePoint now) {
  unreleased_.push_back(id);
  if (state_ != State::sure && state_ != State::some_locked) return;  // otherwise all unknown tasks are given back soon
  state_ = State::some_locked;
  give_back_at_ = std::min(give_back_at_, now + give_back_again_after);  // earlier locked tasks keep their time
}

std::string_view to_text(Certainty::State state) noexcept {
  switch (state) {
    case Certainty::State::sure:
      return "sure";
    case Certainty::State::in_doubt:
      return "in doubt";
    case Certainty::State::reconciling:
      return "reconciling";
    case Certainty::State::some_locked:
      break;
  }
  return "some locked";
}

std::string_view to_text(Certainty::Ask ask) noexcept {
  switch (ask) {
    case Certainty::Ask::nothing:
      return "nothing";
    case Certainty::Ask::begin_session:
      return "begin session";
    case Certainty::Ask::give_back:
      break;
  }
  return "give back";
}

std::ostream& operator<<(std::ostream& out, Certainty::State state) { return out << to_text(state); }
std::ostream& operator<<(std::ostream& out, Certainty::Ask ask) { return out << to_text(ask); }

}  // namespace dogged::runtime
