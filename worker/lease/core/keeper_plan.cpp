// See keeper_plan.hpp.
#include "lease/core/keeper_plan.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

namespace dogged::runtime {

KeeperPlan::Action KeeperPlan::next(TimePoint now, bool holds_tasks) noexcept {
  if (state_ == State::ended) return {Step::end};
  if (is_stopping_) return {std::exchange(may_write_last_, false) && has_progress_ ? Step::write_last : Step::end};
  if (now >= beat_at_) return {Step::beat};
  if (state_ == State::deaf && settings_.listens) return {Step::listen};
  if (now >= look_at_) {
    look_at_ = now + settings_.poll_interval;
    if (holds_tasks) return {Step::look};
  }
  if (has_progress_ && now >= write_at_) return {Step::write};
  const TimePoint next = std::min(beat_at_, look_at_);
  return {Step::wait, has_progress_ ? std::min(next, write_at_) : next};
}

void KeeperPlan::on_draining() noexcept {
  if (!std::exchange(is_draining_, true)) beat_at_ = TimePoint::min();
}

void KeeperPlan::on_stopping(bool is_connected) noexcept {
  if (!std::exchange(is_stopping_, true)) may_write_last_ = is_connected;
}

void KeeperPlan::on_progress_written(TimePoint now) noexcept {
  has_progress_ = false;
  is_refused_ = false;
  write_at_ = now + settings_.progress_interval;
}

bool KeeperPlan::on_progress_refused(TimePoint now) noexcept {
  has_progress_ = false;
  write_at_ = now + settings_.progress_interval;
  return !std::exchange(is_refused_, true);
}

void KeeperPlan::on_listening() noexcept {
  state_ = State::listening;
  look_at_ = TimePoint::min();
}

/// Notifications may have been missed, and a look may have failed.
void KeeperPlan::on_failure() noexcept {
  if (state_ == State::listening) state_ = State::deaf;
  look_at_ = TimePoint::min();
}

std::string_view to_text(KeeperPlan::State state) noexcept {
  switch (state) {
    case KeeperPlan::State::deaf:
      return "deaf";
    case KeeperPlan::State::listening:
      return "listening";
    case KeeperPlan::State::ended:
      break;
  }
  return "ended";
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
std::ostream& operator<<(std::ostream& out, const KeeperPlan::Action& action) { return out << to_text(action.step); }

}  // namespace dogged::runtime
