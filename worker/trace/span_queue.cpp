// See span_queue.hpp.
#include "trace/span_queue.hpp"

#include <utility>

namespace dogged::runtime {

void SpanQueue::push(Span&& span, TimePoint now) {
  const detail::Lock lock{mutex_};
  if (is_closed_) {
    ++tally_->traces.shutdown;
  } else if (waiting_ >= most_) {
    ++tally_->traces.queue_full;
  } else {
    if (batches_.empty() || batches_.back().spans.size() == batch_) {
      batches_.push_back({now, {}});
      batches_.back().spans.reserve(batch_);
    }
    batches_.back().spans.push_back(std::move(span));
    ++waiting_;
    if (waiting_ == 1 || waiting_ == batch_) wake_.wake();
  }
}

std::vector<Span> SpanQueue::take() {
  const detail::Lock lock{mutex_};
  if (batches_.empty()) return {};
  std::vector<Span> taken = std::move(batches_.front().spans);
  batches_.pop_front();
  waiting_ -= taken.size();
  return taken;
}

ExportPlan::Queued SpanQueue::look() const {
  const detail::Lock lock{mutex_};
  if (batches_.empty()) return {};
  return {.spans = waiting_, .oldest_at = batches_.front().since};
}

void SpanQueue::close() {
  const detail::Lock lock{mutex_};
  is_closed_ = true;
  tally_->traces.shutdown += std::exchange(waiting_, 0);
  batches_.clear();
}

}  // namespace dogged::runtime
