// See due.hpp.
#include "claim/core/due.hpp"

#include <algorithm>
#include <ostream>

#include "base/invariant.hpp"

namespace dogged::runtime {
namespace {

constexpr milliseconds while_others_promote{50};

}  // namespace

TimePoint DueTime::asks_at() const noexcept {
  switch (state_) {
    case State::unknown:
    case State::missed:
    case State::overdue:
      return TimePoint::min();
    case State::none:
      return ask_at_;
    case State::known:
      return std::min(due_at_, ask_at_);
  }
  return TimePoint::min();
}

DueTime::Ask DueTime::before_claim(TimePoint now) const noexcept {
  switch (state_) {
    case State::missed:
      return Ask::due_time;
    case State::overdue:
      return Ask::promote;
    case State::unknown:
    case State::none:
    case State::known:
      break;
  }
  if (now >= due_at_) return Ask::promote;
  return now >= ask_at_ ? Ask::due_time : Ask::nothing;
}

DueTime::Ask DueTime::before_wait(TimePoint now) const noexcept {
  const Ask ask = before_claim(now);
  return ask == Ask::nothing && state_ == State::unknown ? Ask::due_time : ask;
}

void DueTime::on_unknown() noexcept {
  if (state_ == State::none || state_ == State::known) state_ = State::unknown;
}

void DueTime::on_scheduled(TimePoint at) noexcept {
  due_at_ = std::min(due_at_, at);
  if (state_ == State::none) state_ = State::known;
}

bool DueTime::on_promoted(std::size_t count, TimePoint now, milliseconds ask_again) {
  require_invariant(before_claim(now) == Ask::promote, "the claimer promotes once a task is due");
  const bool was_overdue = state_ == State::overdue;
  due_at_ = never;
  ask_at_ = now + ask_again;
  if (count > 0) {
    state_ = State::unknown;  // another batch may be due
    return false;
  }
  state_ = was_overdue ? State::known : State::missed;
  if (was_overdue) due_at_ = now + while_others_promote;
  return was_overdue;
}

void DueTime::on_due_time(std::optional<milliseconds> due_in, TimePoint now, milliseconds ask_again) noexcept {
  ask_at_ = now + ask_again;
  due_at_ = never;
  if (!due_in) {
    state_ = State::none;
  } else if (*due_in <= milliseconds{0}) {
    state_ = State::overdue;
  } else {
    state_ = State::known;
    due_at_ = now + std::min(*due_in, longest_ahead);
  }
}

void DueTime::ask_within(milliseconds time, TimePoint now) noexcept { ask_at_ = std::min(ask_at_, now + time); }

std::string_view to_text(DueTime::State state) noexcept {
  switch (state) {
    case DueTime::State::unknown:
      return "unknown";
    case DueTime::State::none:
      return "none";
    case DueTime::State::known:
      return "known";
    case DueTime::State::missed:
      return "missed";
    case DueTime::State::overdue:
      break;
  }
  return "overdue";
}

std::string_view to_text(DueTime::Ask ask) noexcept {
  switch (ask) {
    case DueTime::Ask::nothing:
      return "nothing";
    case DueTime::Ask::promote:
      return "promote";
    case DueTime::Ask::due_time:
      break;
  }
  return "due time";
}

std::ostream& operator<<(std::ostream& out, DueTime::State state) { return out << to_text(state); }
std::ostream& operator<<(std::ostream& out, DueTime::Ask ask) { return out << to_text(ask); }

}  // namespace dogged::runtime
