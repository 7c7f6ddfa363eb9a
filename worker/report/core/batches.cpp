// See batches.hpp.
#include "report/core/batches.hpp"

#include <algorithm>
#include <numeric>
#include <ostream>
#include <utility>

#include "base/invariant.hpp"

namespace dogged::runtime {
namespace {

std::size_t bytes_of(const Report& report) {
  return report.result_json.size() + report.error_message.size() + report.error_details_json.size();
}

std::size_t bytes_of_all(const std::vector<Report>& reports) {
  return std::accumulate(reports.begin(), reports.end(), std::size_t{0},
                         [](std::size_t bytes, const Report& report) { return bytes + bytes_of(report); });
}

/// Whether some task has a report in both.
bool share_a_task(const std::vector<Report>& reports, const std::vector<Report>& others) {
  std::unordered_set<TaskId> ids;
  for (const Report& report : reports) ids.insert(report.id);
  return std::any_of(others.begin(), others.end(), [&](const Report& other) { return ids.contains(other.id); });
}

}  // namespace

void ReportBatches::Batch::add(Report&& report) {
  if (report.record != Record::on_record) held.push_back({report.id, report.attempt});
  bytes += bytes_of(report);
  reports.push_back(std::move(report));
}

bool ReportBatches::has_room(const Batch& batch, std::size_t more_reports, std::size_t more_bytes) const noexcept {
  return batch.reports.size() + more_reports <= limits_.reports && batch.bytes + more_bytes <= limits_.bytes;
}

ReportBatches::Batch& ReportBatches::batch_for(const Report& report) {
  const bool fits = !waiting_.empty() && has_room(waiting_.back(), 1, bytes_of(report)) &&
                    !waiting_.back().resent.contains(report.id);
  if (!fits) waiting_.emplace_back().reports.reserve(last_size_);
  return waiting_.back();
}

void ReportBatches::add(Report&& report) { batch_for(report).add(std::move(report)); }

std::size_t ReportBatches::size() const noexcept {
  std::size_t reports = in_flight_ ? in_flight_->size() : 0;
  for (const Batch& batch : waiting_) reports += batch.reports.size();
  return reports;
}

std::vector<Attempt> ReportBatches::held() const {
  std::vector<Attempt> attempts;
  if (in_flight_) attempts = *in_flight_;
  for (const Batch& batch : waiting_) attempts.insert(attempts.end(), batch.held.begin(), batch.held.end());
  return attempts;
}

std::vector<Report> ReportBatches::take() {
  require_invariant(!in_flight_, "a batch is taken once the last one is written");
  if (waiting_.empty()) return {};
  Batch batch = std::move(waiting_.front());
  waiting_.pop_front();
  last_size_ = batch.reports.size();
  in_flight_ = std::move(batch.held);
  return std::move(batch.reports);
}

void ReportBatches::on_unsettled(std::vector<Attempt> attempts) {
  require_invariant(in_flight_ && attempts.size() <= in_flight_->size(), "what is not settled is of a batch in flight");
  in_flight_ = std::move(attempts);
}

ReportBatches::Resend ReportBatches::on_written(std::vector<Report> again) {
  require_invariant(in_flight_ && again.size() <= in_flight_->size(), "a batch that is written was in flight");
  in_flight_.reset();
  if (again.empty()) return Resend::none;
  const bool is_next = waiting_.empty();
  const bool joins_next = !is_next && has_room(waiting_.front(), again.size(), bytes_of_all(again)) &&
                          !share_a_task(again, waiting_.front().reports);
  Batch& batch = joins_next ? waiting_.front() : *waiting_.emplace(waiting_.begin() + (is_next ? 0 : 1));
  for (Report& report : again) {
    batch.resent.insert(report.id);
    batch.add(std::move(report));
  }
  return is_next || joins_next ? Resend::next : Resend::second;
}

std::string_view to_text(ReportBatches::Resend resend) noexcept {
  switch (resend) {
    case ReportBatches::Resend::none:
      return "none";
    case ReportBatches::Resend::next:
      return "next";
    case ReportBatches::Resend::second:
      return "second";
  }
  return "unknown";
}

std::ostream& operator<<(std::ostream& out, ReportBatches::Resend resend) { return out << to_text(resend); }

}  // namespace dogged::runtime
