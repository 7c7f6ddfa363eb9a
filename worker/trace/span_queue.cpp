// See span_queue.hpp.
#include "trace/span_queue.hpp"

#include <algorithm>
#include <utility>

namespace dogged::runtime {

void SpanQueue::push(Span span, TimePoint now) {
  const detail::Lock lock{mutex_};
  if (is_closed_) {
    ++tally_->traces.shutdown;
  } else if (waiting_.size() >= most_) {
    ++tally_->traces.queue_full;
  } else {
    waiting_.push_back({std::move(span), now});
    if (waiting_.size() == 1 || waiting_.size() == batch_) on_work_();
  }
}

std::vector<Span> SpanQueue::take(std::size_t most) {
  std::vector<Span> taken;
  const detail::Lock lock{mutex_};
  const std::size_t count = std::min(most, waiting_.size());
  taken.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    taken.push_back(std::move(waiting_.front().span));
    waiting_.pop_front();
  }
  return taken;
}

ExportPlan::Queued SpanQueue::look() const {
  const detail::Lock lock{mutex_};
  if (waiting_.empty()) return {};
  return {.spans = waiting_.size(), .oldest_at = waiting_.front().since};
}

void SpanQueue::close() {
  const detail::Lock lock{mutex_};
  is_closed_ = true;
  tally_->traces.shutdown += waiting_.size();
  waiting_.clear();
}

}  // namespace dogged::runtime
