// See lease.hpp.
#include "lease/core/lease.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

#include "base/invariant.hpp"

namespace dogged::runtime {

Lease::Lease(std::int64_t id, milliseconds length, SteadyClock::time_point asked_at)
    : id_(id), length_(length), held_until_(asked_at + length), renewed_at_(asked_at) {}

milliseconds Lease::until_next_renewal(milliseconds heartbeat, bool holds_tasks) const noexcept {
  return holds_tasks ? heartbeat : std::min(2 * heartbeat, length_ / 3);
}

bool Lease::is_renewed_steadily(SteadyClock::time_point now, milliseconds heartbeat) const noexcept {
  const SteadyClock::duration gap = std::max(last_gap_, now - renewed_at_);
  const bool was_early = last_gap_ < heartbeat;  // at a stop, the keeper renews the lease at once
  return (was_early ? std::max(gap, gap_before_) : gap) <= std::min<SteadyClock::duration>(3 * heartbeat, length_ / 2);
}

Lease::Turn Lease::note_renewed(SteadyClock::time_point asked_at, SteadyClock::time_point now) {
  require_invariant(asked_at <= now, "a renewal is asked for before it is answered");
  if (state_ == State::ended) return Turn::none;
  const bool was_lapsed = state_ == State::lapsed || now >= held_until_;
  held_until_ = std::max(held_until_, asked_at + length_);
  gap_before_ = std::exchange(last_gap_, asked_at - renewed_at_);
  renewed_at_ = asked_at;
  if (!was_lapsed) return Turn::none;
  state_ = State::regained;
  return Turn::regained;
}

Lease::Turn Lease::note_ended() {
  return std::exchange(state_, State::ended) == State::ended ? Turn::none : Turn::ended;
}

Lease::Turn Lease::lapse_if_due(SteadyClock::time_point now) {
  if (!may_lapse() || now < held_until_) return Turn::none;
  state_ = State::lapsed;
  return Turn::lapsed;
}

bool stops_handlers(Lease::Turn turn) noexcept {
  switch (turn) {
    case Lease::Turn::none:
    case Lease::Turn::regained:  // the end of the incarnation stops handlers that began since the lapse
      return false;
    case Lease::Turn::lapsed:
    case Lease::Turn::ended:
      break;
  }
  return true;
}

bool frees_reports(Lease::Turn turn) noexcept {
  switch (turn) {
    case Lease::Turn::none:
    case Lease::Turn::lapsed:
      return false;
    case Lease::Turn::regained:
    case Lease::Turn::ended:
      break;
  }
  return true;
}

std::string_view to_text(Lease::State state) noexcept {
  switch (state) {
    case Lease::State::held:
      return "held";
    case Lease::State::lapsed:
      return "lapsed";
    case Lease::State::regained:
      return "regained";
    case Lease::State::ended:
      break;
  }
  return "ended";
}

std::string_view to_text(Lease::Turn turn) noexcept {
  switch (turn) {
    case Lease::Turn::none:
      return "none";
    case Lease::Turn::lapsed:
      return "lapsed";
    case Lease::Turn::regained:
      return "regained";
    case Lease::Turn::ended:
      break;
  }
  return "ended";
}

std::ostream& operator<<(std::ostream& out, Lease::State state) { return out << to_text(state); }
std::ostream& operator<<(std::ostream& out, Lease::Turn turn) { return out << to_text(turn); }

}  // namespace dogged::runtime
