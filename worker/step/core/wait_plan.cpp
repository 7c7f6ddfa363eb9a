// See wait_plan.hpp.
#include "step/core/wait_plan.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <ostream>

#include "base/invariant.hpp"

namespace dogged::runtime {
namespace {

/// In the order of the enum.
constexpr std::array<std::string_view, 7> answer_texts{"over", "suspended", "cancelled", "at_limit",
                                                       "busy", "lost",      "other_kind"};

}  // namespace

WaitPlan::Action WaitPlan::next(TimePoint now, bool stop_requested) const noexcept {
  if (step_ != Step::pause) return {step_};
  if (stop_requested) return {Step::stopped};
  if (now >= asks_again_at_) return {Step::ask};
  return {Step::pause, asks_again_at_};
}

void WaitPlan::on_answer(Answer answer, TimePoint now) noexcept {
  switch (answer) {
    case Answer::over:
      step_ = Step::over;
      return;
    case Answer::suspended:
      step_ = Step::suspended;
      return;
    case Answer::cancelled:
      step_ = Step::cancelled;
      return;
    case Answer::at_limit:
      step_ = Step::at_limit;
      return;
    case Answer::lost:
      step_ = Step::lost;
      return;
    case Answer::other_kind:
      step_ = Step::other_kind;
      return;
    case Answer::busy:
      step_ = Step::pause;
      asks_again_at_ = now + pause_while_busy;
      return;
  }
}

WaitPlan::Answer wait_answer_from_text(std::string_view text) {
  const auto found = std::find(answer_texts.begin(), answer_texts.end(), text);
  require_invariant(found != answer_texts.end(), "wait_durably gives a state that is known");
  return static_cast<WaitPlan::Answer>(found - answer_texts.begin());
}

std::string_view to_text(WaitPlan::Answer answer) noexcept { return answer_texts[static_cast<std::size_t>(answer)]; }

std::string_view to_text(WaitPlan::Step step) noexcept {
  switch (step) {
    case WaitPlan::Step::ask:
      return "ask";
    case WaitPlan::Step::pause:
      return "pause";
    case WaitPlan::Step::over:
      return "over";
    case WaitPlan::Step::suspended:
      return "suspended";
    case WaitPlan::Step::cancelled:
      return "cancelled";
    case WaitPlan::Step::at_limit:
      return "at limit";
    case WaitPlan::Step::stopped:
      return "stopped";
    case WaitPlan::Step::other_kind:
      return "other kind";
    case WaitPlan::Step::lost:
      break;
  }
  return "lost";
}

std::ostream& operator<<(std::ostream& out, WaitPlan::Answer answer) { return out << to_text(answer); }
std::ostream& operator<<(std::ostream& out, WaitPlan::Step step) { return out << to_text(step); }
std::ostream& operator<<(std::ostream& out, const WaitPlan::Action& action) {
  out << to_text(action.step);
  if (action.step == WaitPlan::Step::pause) out << " until " << action.until.time_since_epoch().count();
  return out;
}

}  // namespace dogged::runtime
