// See batch.hpp.
#include "report/core/batch.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

#include "base/invariant.hpp"
#include "lifecycle/lifecycle.hpp"

namespace dogged::runtime {
namespace {

/// How long it is at `now` until the task runs again, for a report with a next_run.
std::chrono::microseconds until_next_run(const Report& report, TimePoint now) {
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(now - report.finished_at);
  return std::chrono::microseconds{report.transition.next_run->delay} - since;
}

/// Whether the task would expire before its retry. As in complete.sql, no attempt has ended before its claim, even if
/// the server's clock was set back since.
///
/// The retry's delay counts from the sending, because the database judged the report then. The database says later how
/// long the task has still to live. If the delay counted from that later time, a retry just before the expiry would be
/// too late for the database alone. The completer sent such a report again for ever (seed 91,005 of the simulation).
bool is_too_late(const Report& report, const Holder& holder, TimePoint sent_at) {
  if (!report.transition.next_run || !holder.expires_in_us) return false;
  const std::chrono::microseconds delay = report.transition.next_run->delay;
  return until_next_run(report, sent_at).count() > *holder.expires_in_us ||
         delay.count() > holder.expires_after_claim_us.value_or(0);
}

/// Decides a report again, after the task's cancellation was found to be requested.
void put_under_cancel(Report& report) {
  report.transition = lifecycle::under_cancel(std::move(report.transition));
  report.policy_text = {};
  report.retry_after.reset();
  report.circuit_event.kind = detail::CircuitEvent::Kind::abandon;
}

/// Decides a report again, after the next run was found to fall after the task's expires_at.
void put_under_expiry(Report& report) {
  report.transition = lifecycle::under_expiry(std::move(report.transition));
  report.policy_text = {};
  report.retry_after.reset();
}

/// Settles a report whose handler's own transaction was committed after all.
void put_under_commit(Report& report) {
  lifecycle::Transition& to = report.transition;
  if (to.next_run && to.next_run->spends_retry) --to.retry_count;
  to = {.status = lifecycle::Status::succeeded,
        .outcome = lifecycle::Outcome::succeeded,
        .retry_count = to.retry_count,
        .losses = to.losses};
  report.policy_text = {};
  report.circuit_event.kind = detail::CircuitEvent::Kind::success;
}

/// Whether a report carries values that the handler gave, which PostgreSQL might refuse.
bool has_extras(const Report& report) {
  return !report.result_json.empty() || !report.error_message.empty() || !report.error_details_json.empty();
}

void strip(Report& report, std::string_view reason) {
  const bool has_more_than_message = !report.result_json.empty() || !report.error_details_json.empty();
  report.result_json.clear();
  report.error_details_json.clear();
  report.error_message =
      has_more_than_message ? "left out, because PostgreSQL refused it: " + std::string{reason} : std::string{};
}

}  // namespace

Verdict verdict_of(const Report& report, const Holder& holder, std::int64_t worker, TimePoint sent_at) {
  if (holder.is_mine) {
    if (holder.cancel_requested) return Verdict::cancelled_first;
    return is_too_late(report, holder, sent_at) ? Verdict::expired_first : Verdict::locked;
  }
  const bool is_on_record = holder.recorded_for == worker && holder.outcome == report.transition.outcome;
  if (is_on_record) return Verdict::on_record;
  const bool has_committed =
      report.record == Record::perhaps_committed && holder.outcome == lifecycle::Outcome::succeeded;
  return has_committed ? Verdict::committed : Verdict::fenced;
}

ReportBatch::ReportBatch(std::vector<Report> reports) : reports_(std::move(reports)) {
  require_invariant(!reports_.empty(), "a batch has a report");
  taken_.reserve(reports_.size());
  const auto on_record = std::stable_partition(reports_.begin(), reports_.end(),
                                               [](const Report& report) { return report.record != Record::on_record; });
  for (auto report = on_record; report != reports_.end(); ++report) taken_.push_back({&*report, report->finished_at});
  const auto to_send = static_cast<std::size_t>(on_record - reports_.begin());
  if (to_send > 0) parts_.push_back({0, to_send});
}

ReportBatch::State ReportBatch::state() const noexcept {
  if (parts_.empty()) return State::ended;
  return refused_.empty() ? State::sending : State::explaining;
}

std::span<const Report> ReportBatch::part() const {
  require_invariant(!parts_.empty(), "a batch that has ended has no part to send");
  return std::span{reports_}.subspan(parts_.back().begin, parts_.back().end - parts_.back().begin);
}

std::vector<const Report*> ReportBatch::not_taken() const {
  std::vector<const Report*> not_taken;
  for (const Report& report : part()) {
    if (refused_.contains(report.id)) not_taken.push_back(&report);
  }
  return not_taken;
}

void ReportBatch::on_sent(std::unordered_set<TaskId> refused, TimePoint sent_at) {
  require_invariant(state() == State::sending, "a part is sent once");
  refused_ = std::move(refused);
  sent_at_ = sent_at;
  if (refused_.empty()) return settle_part({}, sent_at);
  std::unordered_set<TaskId> sent;
  for (const Report& report : part()) sent.insert(report.id);
  require_invariant(std::ranges::all_of(refused_, [&](TaskId id) { return sent.contains(id); }),
                    "an answer refuses only reports of the part that was sent");
}

void ReportBatch::on_explained(const std::vector<Verdict>& verdicts, TimePoint asked_at) {
  require_invariant(state() == State::explaining, "only a part with reports that were not taken is explained");
  settle_part(verdicts, asked_at);
}

void ReportBatch::settle_part(const std::vector<Verdict>& verdicts, TimePoint asked_at) {
  const Range range = parts_.back();
  std::size_t explained = 0;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    Report& report = reports_[i];
    if (!refused_.contains(report.id)) {
      taken_.push_back({&report, sent_at_});
      continue;
    }
    require_invariant(explained < verdicts.size(), "each report that was not taken has a verdict");
    switch (verdicts[explained++]) {
      case Verdict::fenced:
        break;
      case Verdict::on_record:
        taken_.push_back({&report, asked_at});
        break;
      case Verdict::committed:
        put_under_commit(report);
        taken_.push_back({&report, asked_at});
        break;
      case Verdict::cancelled_first:
        put_under_cancel(report);
        again_.push_back(std::move(report));
        break;
      case Verdict::expired_first:
        put_under_expiry(report);
        again_.push_back(std::move(report));
        break;
      case Verdict::locked:
        again_.push_back(std::move(report));
        break;
    }
  }
  require_invariant(explained == verdicts.size(), "each verdict is that of a report that was not taken");
  refused_.clear();
  parts_.pop_back();
}

ReportBatch::Remedy ReportBatch::on_refused(std::string_view reason) {
  require_invariant(!parts_.empty(), "a batch that has ended has no part to refuse");
  on_failure();
  const Range range = parts_.back();
  if (range.end - range.begin > 1) {
    const std::size_t middle = range.begin + (range.end - range.begin) / 2;
    parts_.back() = {middle, range.end};
    parts_.push_back({range.begin, middle});
    return Remedy::halved;
  }
  Report& report = reports_[range.begin];
  if (!has_extras(report)) return Remedy::none;
  strip(report, reason);
  return Remedy::stripped;
}

void ReportBatch::on_failure() noexcept {
  has_failed_ = true;
  refused_.clear();
}

std::vector<Attempt> ReportBatch::unsettled() const {
  std::vector<Attempt> attempts;
  for (const Report& report : again_) attempts.push_back({report.id, report.attempt});
  for (const auto& [begin, end] : parts_) {
    for (std::size_t i = begin; i < end; ++i) attempts.push_back({reports_[i].id, reports_[i].attempt});
  }
  return attempts;
}

std::vector<ReportBatch::Taken> ReportBatch::take_taken() { return std::exchange(taken_, {}); }

std::vector<Report> ReportBatch::take_again() {
  require_invariant(state() == State::ended, "what is to be sent again is known once a batch has ended");
  return std::exchange(again_, {});
}

Rerun rerun_of(const ReportBatch::Taken& taken) {
  if (!taken.report->transition.next_run) return {};
  const std::chrono::microseconds left = until_next_run(*taken.report, taken.sent_at);
  return left.count() > 0 ? Rerun{Rerun::When::later, left} : Rerun{Rerun::When::at_once};
}

std::string_view to_text(ReportBatch::State state) noexcept {
  switch (state) {
    case ReportBatch::State::sending:
      return "sending";
    case ReportBatch::State::explaining:
      return "explaining";
    case ReportBatch::State::ended:
      return "ended";
  }
  return "unknown";
}

std::string_view to_text(ReportBatch::Remedy remedy) noexcept {
  switch (remedy) {
    case ReportBatch::Remedy::halved:
      return "halved";
    case ReportBatch::Remedy::stripped:
      return "stripped";
    case ReportBatch::Remedy::none:
      return "none";
  }
  return "unknown";
}

std::string_view to_text(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::locked:
      return "locked";
    case Verdict::cancelled_first:
      return "cancelled first";
    case Verdict::expired_first:
      return "expired first";
    case Verdict::on_record:
      return "on record";
    case Verdict::committed:
      return "committed";
    case Verdict::fenced:
      return "fenced";
  }
  return "unknown";
}

std::string_view to_text(Rerun::When when) noexcept {
  switch (when) {
    case Rerun::When::none:
      return "none";
    case Rerun::When::at_once:
      return "at once";
    case Rerun::When::later:
      return "later";
  }
  return "unknown";
}

std::ostream& operator<<(std::ostream& out, ReportBatch::State state) { return out << to_text(state); }

std::ostream& operator<<(std::ostream& out, ReportBatch::Remedy remedy) { return out << to_text(remedy); }

std::ostream& operator<<(std::ostream& out, Verdict verdict) { return out << to_text(verdict); }

std::ostream& operator<<(std::ostream& out, const Rerun& rerun) {
  out << to_text(rerun.when);
  if (rerun.when == Rerun::When::later) out << ", in " << rerun.in.count() << " us";
  return out;
}

std::ostream& operator<<(std::ostream& out, const ReportBatch::Taken& taken) {
  return out << *taken.report << ", sent at " << taken.sent_at.time_since_epoch().count();
}

}  // namespace dogged::runtime
