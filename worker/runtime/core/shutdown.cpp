// See shutdown.hpp.
#include "runtime/core/shutdown.hpp"

#include <algorithm>
#include <ostream>

#include "base/invariant.hpp"

namespace dogged::runtime {

Shutdown::Times Shutdown::times_within(milliseconds limit, const Times& wanted) {
  require_invariant(std::min({limit, wanted.grace, wanted.stop_grace}) >= milliseconds{0},
                    "a shutdown gives running attempts no negative time");
  const milliseconds stop_grace = std::min(wanted.stop_grace, limit);
  return {std::min(wanted.grace, limit - stop_grace), stop_grace};
}

Shutdown::Action Shutdown::next(TimePoint now) const {
  switch (step_) {
    case Step::give_back:
      return {step_, now + time_to_give_back};
    case Step::let_finish:
      return {step_, now + times_.grace};
    case Step::stop_handlers:
      return {step_, now + times_.stop_grace};
    case Step::write_reports:
    case Step::finish_reports:
      return {step_, now + time_to_write};
    case Step::stop_claiming:
    case Step::give_up_handlers:
    case Step::sign_off:
    case Step::record_interrupted:
    case Step::wake_others:
    case Step::ended:
      break;
  }
  return {step_};
}

void Shutdown::on_done(bool success) {
  require_invariant(step_ != Step::ended, "a shutdown that has ended has no step to carry out");
  switch (step_) {
    case Step::stop_claiming:
      step_ = Step::give_back;
      return;
    case Step::give_back:
      step_ = Step::let_finish;
      return;
    case Step::let_finish:
      wakes_others_ = !success;
      step_ = success ? Step::give_up_handlers : Step::stop_handlers;
      return;
    case Step::stop_handlers:
      step_ = Step::give_up_handlers;
      return;
    case Step::give_up_handlers:
      step_ = Step::write_reports;
      return;
    case Step::write_reports:
      step_ = Step::sign_off;
      return;
    case Step::sign_off:
      wakes_others_ = wakes_others_ || success;
      step_ = Step::record_interrupted;
      return;
    case Step::record_interrupted:
      step_ = Step::finish_reports;
      return;
    case Step::finish_reports:
      step_ = wakes_others_ ? Step::wake_others : Step::ended;
      return;
    case Step::wake_others:
    case Step::ended:
      step_ = Step::ended;
  }
}

std::string_view to_text(Shutdown::Step step) noexcept {
  switch (step) {
    case Shutdown::Step::stop_claiming:
      return "stop claiming";
    case Shutdown::Step::give_back:
      return "give back";
    case Shutdown::Step::let_finish:
      return "let finish";
    case Shutdown::Step::stop_handlers:
      return "stop handlers";
    case Shutdown::Step::give_up_handlers:
      return "give up handlers";
    case Shutdown::Step::write_reports:
      return "write reports";
    case Shutdown::Step::sign_off:
      return "sign off";
    case Shutdown::Step::record_interrupted:
      return "record interrupted";
    case Shutdown::Step::finish_reports:
      return "finish reports";
    case Shutdown::Step::wake_others:
      return "wake others";
    case Shutdown::Step::ended:
      break;
  }
  return "ended";
}

std::ostream& operator<<(std::ostream& out, Shutdown::Step step) { return out << to_text(step); }

std::ostream& operator<<(std::ostream& out, const Shutdown::Action& action) {
  out << to_text(action.step);
  return action.until == never ? out : out << " until " << action.until.time_since_epoch().count();
}

std::ostream& operator<<(std::ostream& out, const Shutdown::Times& times) {
  return out << times.grace.count() << " ms, and " << times.stop_grace.count() << " ms after that";
}

}  // namespace dogged::runtime
