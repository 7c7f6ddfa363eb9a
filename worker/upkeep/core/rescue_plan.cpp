// See rescue_plan.hpp.
#include "upkeep/core/rescue_plan.hpp"

#include <ostream>

namespace dogged::runtime {

RescuePlan::Rescue RescuePlan::on_looked(const Outlook& found, const Lease& own, TimePoint now) noexcept {
  const bool has_lapsed = found.lapses_in.value_or(milliseconds{0}) < milliseconds{0};
  const State next = next_state(has_lapsed, own, now);
  if (next == State::lets_renew && state_ != State::lets_renew) lets_renew_since_ = now;
  state_ = next;
  if (has_lapsed && state_ != State::lets_renew) return Rescue::after_ending_lapsed;
  return found.has_to_rescue ? Rescue::of_ended_leases : Rescue::none;
}

RescuePlan::State RescuePlan::next_state(bool has_lapsed, const Lease& own, TimePoint now) const noexcept {
  if (!has_lapsed) return State::trusts;
  switch (state_) {
    case State::trusts:
      return own.is_renewed_steadily(now, heartbeat_) ? State::trusts : State::lets_renew;
    case State::lets_renew: {
      const bool is_over = now >= lets_renew_since_ + heartbeat_ && own.renewed_at() >= lets_renew_since_;
      return is_over ? State::ends : State::lets_renew;
    }
    case State::ends:
      break;
  }
  return State::ends;
}

std::string_view to_text(RescuePlan::State state) noexcept {
  switch (state) {
    case RescuePlan::State::trusts:
      return "trusts";
    case RescuePlan::State::lets_renew:
      return "lets renew";
    case RescuePlan::State::ends:
      break;
  }
  return "ends";
}

std::string_view to_text(RescuePlan::Rescue rescue) noexcept {
  switch (rescue) {
    case RescuePlan::Rescue::none:
      return "none";
    case RescuePlan::Rescue::of_ended_leases:
      return "of ended leases";
    case RescuePlan::Rescue::after_ending_lapsed:
      break;
  }
  return "after ending lapsed";
}

std::ostream& operator<<(std::ostream& out, RescuePlan::State state) { return out << to_text(state); }
std::ostream& operator<<(std::ostream& out, RescuePlan::Rescue rescue) { return out << to_text(rescue); }

}  // namespace dogged::runtime
