// See completer_plan.hpp.
#include "report/core/completer_plan.hpp"

#include <algorithm>
#include <ostream>

#include "base/invariant.hpp"

namespace dogged::runtime {
namespace {

constexpr milliseconds resend_while_locked{10};  // the pause before a batch with reports on locked rows

}  // namespace

CompleterPlan::Action CompleterPlan::next(const Facts& facts, TimePoint now) noexcept {
  const bool are_circuits_due = now >= facts.circuits_at;
  switch (state_) {
    case State::unproven:
      return {Step::prove};
    case State::ready: {
      const bool may_send = facts.has_reports && !facts.is_lease_lapsed;
      const bool sends = may_send && now >= send_at_;
      if (are_circuits_due && (is_turn_of_circuits_ || !sends)) {
        is_turn_of_circuits_ = false;
        return {Step::write_circuits};
      }
      if (sends) {
        is_turn_of_circuits_ = true;
        return {Step::send};
      }
      return {Step::wait, may_send ? std::min(facts.circuits_at, send_at_) : facts.circuits_at};
    }
    case State::finishing:
      state_ = State::ended;
      return {are_circuits_due ? Step::write_circuits : Step::end};
    case State::ended:
      break;
  }
  return {Step::end};
}

void CompleterPlan::on_proved() {
  require_invariant(state_ == State::unproven, "the proof is written once, before anything else");
  state_ = State::ready;
}

void CompleterPlan::on_written(ReportBatches::Resend resend, TimePoint now) {
  require_invariant(state_ == State::ready, "a batch is written that was sent");
  if (resend == ReportBatches::Resend::next) send_at_ = now + resend_while_locked;
}

void CompleterPlan::on_given_up() {
  require_invariant(state_ == State::ready, "a batch is given up that was sent");
  state_ = State::ended;
}

void CompleterPlan::on_finish() noexcept {
  if (state_ == State::unproven) state_ = State::ended;
  if (state_ == State::ready) state_ = State::finishing;
}

std::string_view to_text(CompleterPlan::State state) noexcept {
  switch (state) {
    case CompleterPlan::State::unproven:
      return "unproven";
    case CompleterPlan::State::ready:
      return "ready";
    case CompleterPlan::State::finishing:
      return "finishing";
    case CompleterPlan::State::ended:
      break;
  }
  return "ended";
}

std::string_view to_text(CompleterPlan::Step step) noexcept {
  switch (step) {
    case CompleterPlan::Step::prove:
      return "prove";
    case CompleterPlan::Step::send:
      return "send";
    case CompleterPlan::Step::write_circuits:
      return "write circuits";
    case CompleterPlan::Step::wait:
      return "wait";
    case CompleterPlan::Step::end:
      break;
  }
  return "end";
}

std::ostream& operator<<(std::ostream& out, CompleterPlan::State state) { return out << to_text(state); }
std::ostream& operator<<(std::ostream& out, CompleterPlan::Step step) { return out << to_text(step); }
std::ostream& operator<<(std::ostream& out, const CompleterPlan::Action& action) {
  out << to_text(action.step);
  if (action.step == CompleterPlan::Step::wait) out << " until " << action.until.time_since_epoch().count();
  return out;
}

}  // namespace dogged::runtime
