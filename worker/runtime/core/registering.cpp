// See registering.hpp.
#include "runtime/core/registering.hpp"

#include <ostream>

#include "base/invariant.hpp"

namespace dogged::runtime {

Registering::Action Registering::next(TimePoint now, bool stop_requested) const noexcept {
  switch (step_) {
    case Step::prepare:
    case Step::ask:
    case Step::find_holder:
    case Step::wait:
      if (stop_requested && (has_asked_ || occasion_ == Occasion::lease_lost)) return {Step::stop};
      if (step_ != Step::wait) return {step_};
      return now < waits_until_ ? Action{Step::wait, waits_until_} : Action{Step::ask};
    case Step::declare:
    case Step::registered:
    case Step::refuse:
    case Step::fail:
    case Step::stop:
      break;
  }
  return {step_};
}

/// A stop does not count before the worker has asked.
void Registering::on_prepared() {
  require_invariant(step_ == Step::prepare, "a worker prepares before it asks");
  step_ = Step::ask;
}

void Registering::on_registered() { note_answer(occasion_ == Occasion::lease_lost ? Step::registered : Step::declare); }

void Registering::on_declared() {
  require_invariant(step_ == Step::declare, "a worker declares its tasks after it has registered");
  note(Step::registered);
}

void Registering::on_name_taken() { note_answer(Step::find_holder); }

/// A wait that is over asks as well.
void Registering::note_answer(Step step) {
  require_invariant(step_ == Step::ask || step_ == Step::wait, "a worker that is registered or refused has asked");
  note(step);
}

bool Registering::on_holder(const std::optional<Holder>& holder, TimePoint now) {
  require_invariant(step_ == Step::find_holder, "the holder of a name is found after the name was taken");
  if (!holder) {
    note(Step::ask);
    return false;
  }
  if (seen_ && *seen_ != *holder) {
    note(Step::refuse);
    return false;
  }
  const bool is_first_look = !seen_;
  seen_ = holder;
  waits_until_ = now + between_tries;
  note(Step::wait);
  return is_first_look;
}

void Registering::on_failure() noexcept {
  seen_.reset();
  note(occasion_ == Occasion::start ? Step::fail : first_step());
}

void Registering::note(Step step) noexcept {
  has_asked_ = true;
  step_ = step;
}

std::string_view to_text(Registering::Occasion occasion) noexcept {
  switch (occasion) {
    case Registering::Occasion::start:
      return "start";
    case Registering::Occasion::restart:
      return "restart";
    case Registering::Occasion::lease_lost:
      break;
  }
  return "lease lost";
}

std::string_view to_text(Registering::Step step) noexcept {
  switch (step) {
    case Registering::Step::prepare:
      return "prepare";
    case Registering::Step::ask:
      return "ask";
    case Registering::Step::find_holder:
      return "find holder";
    case Registering::Step::wait:
      return "wait";
    case Registering::Step::declare:
      return "declare";
    case Registering::Step::registered:
      return "registered";
    case Registering::Step::refuse:
      return "refuse";
    case Registering::Step::fail:
      return "fail";
    case Registering::Step::stop:
      break;
  }
  return "stop";
}

std::ostream& operator<<(std::ostream& out, Registering::Occasion occasion) { return out << to_text(occasion); }
std::ostream& operator<<(std::ostream& out, Registering::Step step) { return out << to_text(step); }
std::ostream& operator<<(std::ostream& out, const Registering::Action& action) {
  out << to_text(action.step);
  if (action.step == Registering::Step::wait) out << " until " << action.until.time_since_epoch().count();
  return out;
}

}  // namespace dogged::runtime
