// See keeper_plan.hpp.
#include "lease/core/keeper_plan.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

#include "base/invariant.hpp"

namespace dogged::runtime {

KeeperPlan::Action KeeperPlan::next(TimePoint now, bool holds_tasks) noexcept {
  switch (state_) {
    case State::writes_last:
      state_ = State::ends;
      return {has_progress_ ? Step::write_last : Step::end};
    case State::ends:
      return {Step::end};
    case State::works:
    case State::drains:
      break;
  }
  if (now >= beat_at_) return {Step::beat};
  if (hearing_.is_deaf()) return {Step::listen};
  if (now >= look_at_) {
    look_at_ = now + settings_.poll_interval;
    if (holds_tasks) return {Step::look};
  }
  if (has_progress_ && now >= write_at_) return {Step::write};
  const TimePoint next = std::min(beat_at_, look_at_);
  return {Step::wait, has_progress_ ? std::min(next, write_at_) : next};
}

void KeeperPlan::on_draining() noexcept {
  if (state_ != State::works) return;
  state_ = State::drains;
  beat_at_ = TimePoint::min();
}

void KeeperPlan::on_stopping(bool is_connected) noexcept {
  if (state_ == State::works || state_ == State::drains) state_ = is_connected ? State::writes_last : State::ends;
}

void KeeperPlan::on_renewed(TimePoint asked_at, milliseconds after) {
  require_invariant(state_ != State::ends, "a lease that was ended is not renewed");
  beat_at_ = asked_at + after;
}

void KeeperPlan::on_progress_written(TimePoint now) {
  note_write(now);
  is_refused_ = false;
}

bool KeeperPlan::on_progress_refused(TimePoint now) {
  note_write(now);
  return !std::exchange(is_refused_, true);
}

void KeeperPlan::note_write(TimePoint now) {
  require_invariant(has_progress_, "the keeper writes only what handlers have said");
  has_progress_ = false;
  write_at_ = now + settings_.progress_interval;
}

void KeeperPlan::on_listening() {
  hearing_.on_listening();
  look_at_ = TimePoint::min();
}

/// Notifications may have been missed, and a look may have failed.
void KeeperPlan::on_failure() noexcept {
  hearing_.on_failure();
  look_at_ = TimePoint::min();
}

std::string_view to_text(KeeperPlan::State state) noexcept {
  switch (state) {
    case KeeperPlan::State::works:
      return "works";
    case KeeperPlan::State::drains:
      return "drains";
    case KeeperPlan::State::writes_last:
      return "writes last";
    case KeeperPlan::State::ends:
      break;
  }
  return "ends";
}

std::string_view to_text(KeeperPlan::Step step) noexcept {
  switch (step) {
    case KeeperPlan::Step::beat:
      return "beat";
    case KeeperPlan::Step::listen:
      return "listen";
    case KeeperPlan::Step::look:
      return "look";
    case KeeperPlan::Step::write:
      return "write";
    case KeeperPlan::Step::write_last:
      return "write last";
    case KeeperPlan::Step::wait:
      return "wait";
    case KeeperPlan::Step::end:
      break;
  }
  return "end";
}

std::ostream& operator<<(std::ostream& out, KeeperPlan::State state) { return out << to_text(state); }
std::ostream& operator<<(std::ostream& out, KeeperPlan::Step step) { return out << to_text(step); }
std::ostream& operator<<(std::ostream& out, const KeeperPlan::Action& action) {
  out << to_text(action.step);
  if (action.step == KeeperPlan::Step::wait) out << " until " << action.until.time_since_epoch().count();
  return out;
}

}  // namespace dogged::runtime
