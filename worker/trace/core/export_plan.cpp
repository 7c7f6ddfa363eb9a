// See export_plan.hpp.
#include "trace/core/export_plan.hpp"

#include <ostream>
#include <utility>

#include "base/invariant.hpp"

namespace dogged::runtime {
namespace {

bool is_passing(int status) { return status == 0 || status == 429 || status == 502 || status == 503 || status == 504; }

}  // namespace

ExportPlan::Action ExportPlan::next(const Queued& queued, TimePoint now) noexcept {
  switch (state_) {
    case State::gathering: {
      if (queued.spans == 0) return {Step::wait};
      const TimePoint due = queued.oldest_at + settings_.schedule_delay;
      if (queued.spans >= settings_.most_in_batch || now >= due) return {Step::take};
      return {Step::wait, due};
    }
    case State::trying_again:
      if (now >= again_at_) return {Step::send_again};
      return {Step::wait, again_at_};
    case State::trying_last:
      if (now < gives_up_at_) return {Step::send_again};
      break;
    case State::flushing:
      if (now < gives_up_at_ && queued.spans > 0) return {Step::take};
      break;
    case State::ended:
      break;
  }
  state_ = State::ended;
  return {Step::end};
}

void ExportPlan::on_stopping(TimePoint gives_up_at) noexcept {
  switch (state_) {
    case State::gathering:
      state_ = State::flushing;
      break;
    case State::trying_again:
      state_ = State::trying_last;
      break;
    case State::trying_last:
    case State::flushing:
    case State::ended:
      return;
  }
  gives_up_at_ = gives_up_at;
}

ExportPlan::Verdict ExportPlan::on_answer(const ExportAnswer& answer, TimePoint now, double draw) {
  require_invariant(state_ != State::ended, "an answer comes to a request that was sent");
  const bool is_stopping = state_ == State::trying_last || state_ == State::flushing;
  state_ = is_stopping ? State::flushing : State::gathering;
  const int retry = std::exchange(retries_, 0) + 1;
  if (answer.status >= 200 && answer.status < 300) return Verdict::taken;
  if (!is_passing(answer.status)) return Verdict::refused;
  const auto delay = next_delay(settings_.retry, retry, draw);
  if (is_stopping || !delay) return Verdict::failed;
  state_ = State::trying_again;
  retries_ = retry;
  again_at_ = now + answer.retry_after.value_or(delay->delay);
  return Verdict::try_again;
}

std::string_view to_text(ExportPlan::State state) noexcept {
  switch (state) {
    case ExportPlan::State::gathering:
      return "gathering";
    case ExportPlan::State::trying_again:
      return "trying again";
    case ExportPlan::State::trying_last:
      return "trying last";
    case ExportPlan::State::flushing:
      return "flushing";
    case ExportPlan::State::ended:
      break;
  }
  return "ended";
}

std::string_view to_text(ExportPlan::Step step) noexcept {
  switch (step) {
    case ExportPlan::Step::wait:
      return "wait";
    case ExportPlan::Step::take:
      return "take";
    case ExportPlan::Step::send_again:
      return "send again";
    case ExportPlan::Step::end:
      break;
  }
  return "end";
}

std::string_view to_text(ExportPlan::Verdict verdict) noexcept {
  switch (verdict) {
    case ExportPlan::Verdict::taken:
      return "taken";
    case ExportPlan::Verdict::refused:
      return "refused";
    case ExportPlan::Verdict::failed:
      return "failed";
    case ExportPlan::Verdict::try_again:
      break;
  }
  return "try again";
}

std::ostream& operator<<(std::ostream& out, ExportPlan::State state) { return out << to_text(state); }
std::ostream& operator<<(std::ostream& out, ExportPlan::Step step) { return out << to_text(step); }
std::ostream& operator<<(std::ostream& out, ExportPlan::Verdict verdict) { return out << to_text(verdict); }

std::ostream& operator<<(std::ostream& out, const ExportPlan::Action& action) {
  out << to_text(action.step);
  return action.until == never ? out : out << " until " << action.until.time_since_epoch().count();
}

}  // namespace dogged::runtime
