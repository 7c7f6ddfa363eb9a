// See chores_plan.hpp.
#include "upkeep/core/chores_plan.hpp"

#include <algorithm>
#include <ostream>

namespace dogged::runtime {

ChoresPlan::Action ChoresPlan::next(TimePoint now) noexcept {
  if (is_stopping_) return {.step = Step::end};
  if (state_ == State::resting && now >= due_at_) state_ = State::making;
  switch (state_) {
    case State::resting:
      return {.step = Step::wait, .until = due_at_};
    case State::making:
      return {.step = Step::make_partitions};
    case State::retaining:
      return {.step = Step::apply_retention, .extent = extent_};
    case State::tidying:
      return {.step = Step::tidy};
    case State::finished:
      break;
  }
  return {.step = Step::disconnect};
}

/// The extent stays `everything` until a retention has thinned every day that it met. So thinning that was postponed or
/// broke off need not wait for the next dropped day.
void ChoresPlan::on_retention_applied(const std::vector<retention::Step>& steps) noexcept {
  const auto is_left = [](const retention::Step& step) { return !step.is_done(); };
  const auto is_left_thinning = [&](const retention::Step& step) { return step.is_thinning && is_left(step); };
  has_left_days_ = std::any_of(steps.begin(), steps.end(), is_left);
  const bool has_left_thinning = std::any_of(steps.begin(), steps.end(), is_left_thinning);
  extent_ = has_left_thinning ? retention::Extent::everything : retention::Extent::days;
  state_ = State::tidying;
}

void ChoresPlan::on_tidied(bool found_rows, TimePoint now) noexcept {
  if (found_rows) return;
  due_at_ = now + (has_left_days_ ? settings_.again_if_left : settings_.interval);
  state_ = State::finished;
}

void ChoresPlan::on_failure() noexcept {
  if (state_ == State::retaining) extent_ = retention::Extent::everything;
  state_ = State::resting;
}

std::string_view to_text(ChoresPlan::State state) noexcept {
  switch (state) {
    case ChoresPlan::State::resting:
      return "resting";
    case ChoresPlan::State::making:
      return "making";
    case ChoresPlan::State::retaining:
      return "retaining";
    case ChoresPlan::State::tidying:
      return "tidying";
    case ChoresPlan::State::finished:
      break;
  }
  return "finished";
}

std::string_view to_text(ChoresPlan::Step step) noexcept {
  switch (step) {
    case ChoresPlan::Step::wait:
      return "wait";
    case ChoresPlan::Step::make_partitions:
      return "make partitions";
    case ChoresPlan::Step::apply_retention:
      return "apply retention";
    case ChoresPlan::Step::tidy:
      return "tidy";
    case ChoresPlan::Step::disconnect:
      return "disconnect";
    case ChoresPlan::Step::end:
      break;
  }
  return "end";
}

std::ostream& operator<<(std::ostream& out, ChoresPlan::State state) { return out << to_text(state); }
std::ostream& operator<<(std::ostream& out, ChoresPlan::Step step) { return out << to_text(step); }

std::ostream& operator<<(std::ostream& out, const ChoresPlan::Action& action) {
  out << to_text(action.step);
  if (action.step == ChoresPlan::Step::wait) out << " until " << action.until.time_since_epoch().count();
  if (action.extent == retention::Extent::everything) out << " to everything";
  return out;
}

}  // namespace dogged::runtime
