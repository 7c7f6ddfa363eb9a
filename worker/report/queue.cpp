// See queue.hpp.
#include "report/queue.hpp"

#include <utility>

namespace dogged::runtime {

void ReportQueue::add(Report&& report) {
  {
    const detail::Lock lock{mutex_};
    batches_.add(std::move(report));
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

std::vector<Report> ReportQueue::take_batch(const std::function<bool()>& may_send,
                                            const std::function<TimePoint()>& until) {
  detail::Lock lock{mutex_};
  while (!is_finished_ && (!batches_.has_waiting() || !may_send())) {
    if (!changed_.wait_until(lock, until())) return {};
  }
  return is_finished_ ? std::vector<Report>{} : batches_.take();
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

void ReportQueue::ask_again() {
  { const detail::Lock lock{mutex_}; }  // a wait that has just asked must not miss the notification
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
  }
  changed_.notify_all();
}

bool ReportQueue::is_finished() const {
  const detail::Lock lock{mutex_};
  return is_finished_;
}

}  // namespace dogged::runtime
