// See queue.hpp.
#include "report/queue.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

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

void ReportQueue::Batch::add(Report&& report) {
  if (!report.is_on_record) held.push_back({report.id, report.attempt});
  bytes += bytes_of(report);
  reports.push_back(std::move(report));
}

bool ReportQueue::Batch::has_room_for(std::size_t more_reports, std::size_t more_bytes) const {
  return reports.size() + more_reports <= max_batch && bytes + more_bytes <= max_batch_bytes;
}

ReportQueue::Batch& ReportQueue::batch_for(const Report& report) {
  const bool fits = !waiting_.empty() && waiting_.back().has_room_for(1, bytes_of(report)) &&
                    !waiting_.back().resent.contains(report.id);
  if (!fits) waiting_.emplace_back().reports.reserve(last_size_);
  return waiting_.back();
}

void ReportQueue::add(Report&& report) {
  {
    const detail::Lock lock{mutex_};
    batch_for(report).add(std::move(report));
  }
  changed_.notify_all();
}

std::size_t ReportQueue::size() const {
  const detail::Lock lock{mutex_};
  std::size_t reports = in_flight_.size();
  for (const Batch& batch : waiting_) reports += batch.reports.size();
  return reports;
}

std::vector<Attempt> ReportQueue::held() const {
  const detail::Lock lock{mutex_};
  std::vector<Attempt> attempts = in_flight_;
  for (const Batch& batch : waiting_) attempts.insert(attempts.end(), batch.held.begin(), batch.held.end());
  return attempts;
}

std::vector<Report> ReportQueue::take_batch(TimePoint until, const std::function<bool()>& may_send) {
  detail::Lock lock{mutex_};
  while (!is_finished_ && (waiting_.empty() || !may_send())) {
    if (!changed_.wait_until(lock, until)) return {};
  }
  if (is_finished_) return {};
  Batch batch = std::move(waiting_.front());
  waiting_.pop_front();
  last_size_ = batch.reports.size();
  in_flight_ = std::move(batch.held);
  return std::move(batch.reports);
}

void ReportQueue::note_unsettled(std::vector<Attempt> attempts) {
  const detail::Lock lock{mutex_};
  in_flight_ = std::move(attempts);
}

bool ReportQueue::batch_written(std::vector<Report> again) {
  bool goes_next = false;
  {
    const detail::Lock lock{mutex_};
    in_flight_.clear();
    if (!again.empty()) goes_next = resend(std::move(again));
  }
  changed_.notify_all();
  return goes_next;
}

/// A row may stay locked for long, so `again` never goes in front of a batch that has no room for it.
bool ReportQueue::resend(std::vector<Report> again) {
  const bool is_next = waiting_.empty();
  const bool joins_next = !is_next && waiting_.front().has_room_for(again.size(), bytes_of_all(again)) &&
                          !share_a_task(again, waiting_.front().reports);
  Batch& batch = joins_next ? waiting_.front() : *waiting_.emplace(waiting_.begin() + (is_next ? 0 : 1));
  for (Report& report : again) {
    batch.resent.insert(report.id);
    batch.add(std::move(report));
  }
  return is_next || joins_next;
}

void ReportQueue::look_again() {
  { const detail::Lock lock{mutex_}; }  // a wait that has just asked `may_send` must not miss the notification
  changed_.notify_all();
}

bool ReportQueue::wait_empty(TimePoint until) {
  detail::Lock lock{mutex_};
  while (!is_finished_ && (!waiting_.empty() || !in_flight_.empty())) {
    if (!changed_.wait_until(lock, until)) break;
  }
  return waiting_.empty() && in_flight_.empty();
}

void ReportQueue::finish() {
  {
    const detail::Lock lock{mutex_};
    is_finished_ = true;
  }
  changed_.notify_all();
}

bool ReportQueue::is_finished() const {
  const detail::Lock lock{mutex_};
  return is_finished_;
}

}  // namespace dogged::runtime
