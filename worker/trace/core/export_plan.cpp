// See export_plan.hpp.
#include "trace/core/export_plan.hpp"

#include <ostream>
#include <utility>

namespace dogged::runtime {
namespace {

bool is_passing(int status) { return status == 0 || status == 429 || status == 502 || status == 503 || status == 504; }

}  // namespace

ExportPlan::Action ExportPlan::next(const Queued& queued, TimePoint now) const noexcept {
  if (gives_up_at_ && now >= *gives_up_at_) return {.kind = Action::Kind::end};
  if (again_at_) {
    if (gives_up_at_ || now >= *again_at_) return {.kind = Action::Kind::send_again};
    return {.until = *again_at_};
  }
  if (queued.spans == 0) return {.kind = gives_up_at_ ? Action::Kind::end : Action::Kind::wait};
  const TimePoint due = queued.oldest_at + settings_.schedule_delay;
  if (gives_up_at_ || queued.spans >= settings_.most_in_batch || now >= due) return {.kind = Action::Kind::take};
  return {.until = due};
}

ExportPlan::Verdict ExportPlan::on_answer(const ExportAnswer& answer, TimePoint now, double draw) {
  again_at_.reset();
  const int retry = std::exchange(retries_, 0) + 1;
  if (answer.status >= 200 && answer.status < 300) return Verdict::taken;
  if (!is_passing(answer.status)) return Verdict::refused;
  const auto delay = next_delay(settings_.retry, retry, draw);
  if (gives_up_at_ || !delay) return Verdict::failed;
  retries_ = retry;
  again_at_ = now + answer.retry_after.value_or(delay->delay);
  return Verdict::try_again;
}

std::string_view to_text(ExportPlan::Action::Kind kind) noexcept {
  switch (kind) {
    case ExportPlan::Action::Kind::wait:
      return "wait";
    case ExportPlan::Action::Kind::take:
      return "take";
    case ExportPlan::Action::Kind::send_again:
      return "send again";
    case ExportPlan::Action::Kind::end:
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

std::ostream& operator<<(std::ostream& out, ExportPlan::Action::Kind kind) { return out << to_text(kind); }
std::ostream& operator<<(std::ostream& out, ExportPlan::Verdict verdict) { return out << to_text(verdict); }

std::ostream& operator<<(std::ostream& out, const ExportPlan::Action& action) {
  out << to_text(action.kind);
  return action.until == never ? out : out << " until " << action.until.time_since_epoch().count();
}

}  // namespace dogged::runtime
