// See queue.hpp.
#include "report/queue.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <unordered_set>
#include <utility>

namespace dogged::runtime {
namespace {

std::size_t bytes_of(const Report& report) {
  return report.result_json.size() + report.error_message.size() + report.error_details_json.size();
}

/// How many of the first `count` reports come before the second one of a task. A second one can only follow one of the
/// first `resent` reports: an earlier sending of that has taken effect, and the worker has claimed the task again.
std::size_t one_of_each_task(const std::deque<Report>& waiting, std::size_t resent, std::size_t count) {
  std::unordered_set<TaskId> sent_before;
  for (std::size_t i = 0; resent > 0 && i < count; ++i) {
    if (sent_before.contains(waiting[i].id)) return i;
    if (i < resent) sent_before.insert(waiting[i].id);
  }
  return count;
}

/// How many of `waiting` go into the next batch: at least one.
std::size_t batch_size(const std::deque<Report>& waiting, std::size_t resent) {
  std::size_t bytes = 0;
  std::size_t count = 0;
  while (count < std::min(waiting.size(), ReportQueue::max_batch)) {
    bytes += bytes_of(waiting[count]);
    if (count > 0 && bytes > ReportQueue::max_batch_bytes) break;
    ++count;
  }
  return one_of_each_task(waiting, resent, count);
}

template <class Reports>
void add_held(const Reports& reports, std::vector<Attempt>& attempts) {
  for (const Report& report : reports) {
    if (!report.is_on_record) attempts.push_back({report.id, report.attempt});
  }
}

}  // namespace

void ReportQueue::add(Report&& report) {
  {
    const detail::Lock lock{mutex_};
    waiting_.push_back(std::move(report));
  }
  changed_.notify_all();
}

std::size_t ReportQueue::size() const {
  const detail::Lock lock{mutex_};
  return waiting_.size() + in_flight_.size();
}

std::vector<Attempt> ReportQueue::held() const {
  const detail::Lock lock{mutex_};
  std::vector<Attempt> attempts = in_flight_;
  add_held(waiting_, attempts);
  return attempts;
}

std::vector<Report> ReportQueue::take_batch(TimePoint until, const std::function<bool()>& may_send) {
  detail::Lock lock{mutex_};
  while (!is_finished_ && (waiting_.empty() || !may_send())) {
    if (!changed_.wait_until(lock, until)) return {};
  }
  if (is_finished_) return {};
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(batch_size(waiting_, resent_));
  std::vector<Report> batch{std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end)};
  waiting_.erase(waiting_.begin(), end);
  resent_ -= std::min(resent_, batch.size());
  add_held(batch, in_flight_);
  return batch;
}

void ReportQueue::note_unsettled(std::vector<Attempt> attempts) {
  const detail::Lock lock{mutex_};
  in_flight_ = std::move(attempts);
}

void ReportQueue::batch_written(std::vector<Report> again) {
  {
    const detail::Lock lock{mutex_};
    in_flight_.clear();
    resent_ += again.size();
    waiting_.insert(waiting_.begin(), std::make_move_iterator(again.begin()), std::make_move_iterator(again.end()));
  }
  changed_.notify_all();
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
