// See incarnation.hpp.
#include "runtime/core/incarnation.hpp"

#include <ostream>

#include "base/invariant.hpp"

namespace dogged::runtime {

void Incarnation::on_seen(const Seen& seen) {
  if (state_ == State::draining) return;
  if (seen.has_defect) return drain(End::defect);
  if (seen.stop_requested) return drain(End::stop_requested);
  switch (seen.lease) {
    case Lease::State::lapsed:
      state_ = State::in_doubt;
      return;
    case Lease::State::regained:  // its handlers were asked to stop, or noticed by the clock that the lease had lapsed
    case Lease::State::ended:
      return drain(End::lease_lost);
    case Lease::State::held:
      require_invariant(state_ == State::running, "a lease that has lapsed is regained or ended, and not held");
      if (seen.carries_too_many) drain(End::too_many_abandoned);
  }
}

void Incarnation::drain(End end) noexcept {
  state_ = State::draining;
  end_ = end;
}

milliseconds Incarnation::grace(milliseconds grace) const {
  require_invariant(state_ == State::draining, "only an incarnation that drains gives its handlers time");
  switch (end_) {
    case End::stop_requested:
    case End::too_many_abandoned:
      return grace;
    case End::none:
    case End::lease_lost:
    case End::defect:
      break;
  }
  return milliseconds{0};
}

std::string_view to_text(Incarnation::State state) noexcept {
  switch (state) {
    case Incarnation::State::running:
      return "running";
    case Incarnation::State::in_doubt:
      return "in doubt";
    case Incarnation::State::draining:
      break;
  }
  return "draining";
}

std::string_view to_text(Incarnation::End end) noexcept {
  switch (end) {
    case Incarnation::End::none:
      return "none";
    case Incarnation::End::stop_requested:
      return "stop requested";
    case Incarnation::End::too_many_abandoned:
      return "too many abandoned";
    case Incarnation::End::lease_lost:
      return "lease lost";
    case Incarnation::End::defect:
      break;
  }
  return "defect";
}

std::ostream& operator<<(std::ostream& out, Incarnation::State state) { return out << to_text(state); }
std::ostream& operator<<(std::ostream& out, Incarnation::End end) { return out << to_text(end); }

}  // namespace dogged::runtime
