// See queue.hpp.
#include "report/queue.hpp"

#include <utility>

namespace dogged::runtime {

void ReportQueue::add(Report&& report) {
  {
    const detail::Lock lock{mutex_};
    batches_.add(std::move(report));
    has_news_ = true;
  }
  changed_.notify_all();
}

std::size_t ReportQueue::size() const {
  const detail::Lock lock{mutex_};
  return batches_.size();
}

std::vector<Attempt> ReportQueue::held() const {
  const detail::Lock lock{mutex_};
  return batches_.held();
}

bool ReportQueue::has_in_flight() const {
  const detail::Lock lock{mutex_};
  return batches_.has_in_flight();
}

ReportQueue::Look ReportQueue::look() {
  const detail::Lock lock{mutex_};
  has_news_ = false;
  return {.has_waiting = batches_.has_waiting(), .is_finished = is_finished_};
}

void ReportQueue::wait_for_news(TimePoint until) {
  detail::Lock lock{mutex_};
  while (!has_news_) {
    if (!changed_.wait_until(lock, until)) return;
  }
}

std::vector<Report> ReportQueue::take() {
  const detail::Lock lock{mutex_};
  return batches_.take();
}

void ReportQueue::note_unsettled(std::vector<Attempt> attempts) {
  const detail::Lock lock{mutex_};
  batches_.on_unsettled(std::move(attempts));
}

ReportBatches::Resend ReportQueue::batch_written(std::vector<Report> again) {
  ReportBatches::Resend resend{};
  {
    const detail::Lock lock{mutex_};
    resend = batches_.on_written(std::move(again));
  }
  changed_.notify_all();
  return resend;
}

void ReportQueue::note_news() {
  {
    const detail::Lock lock{mutex_};
    has_news_ = true;
  }
  changed_.notify_all();
}

bool ReportQueue::wait_empty(TimePoint until) {
  detail::Lock lock{mutex_};
  while (!is_finished_ && !batches_.is_empty()) {
    if (!changed_.wait_until(lock, until)) break;
  }
  return batches_.is_empty();
}

void ReportQueue::finish() {
  {
    const detail::Lock lock{mutex_};
    is_finished_ = true;
    has_news_ = true;
  }
  changed_.notify_all();
}

}  // namespace dogged::runtime
