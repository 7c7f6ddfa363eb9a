// The spans that wait for the exporter: a bounded queue. A handler that ends never waits for it.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <dogged/detail/mutex.hpp>

#include "base/tally.hpp"
#include "trace/core/export_plan.hpp"
#include "trace/span.hpp"

namespace dogged::runtime {

/// Thread-safe.
class SpanQueue {
 public:
  /// `on_work` is called when the first span comes, and when there are enough for a batch; under the queue's lock.
  SpanQueue(std::size_t most, std::size_t batch, std::shared_ptr<Tally> tally, std::function<void()> on_work)
      : most_(most), batch_(batch), tally_(std::move(tally)), on_work_(std::move(on_work)) {}

  /// Drops the span, and counts it, if there is no room.
  void push(Span&& span, TimePoint now);
  /// The oldest spans, at most a batch. Moves none of them, so that handlers which end meanwhile hardly wait.
  [[nodiscard]] std::vector<Span> take();
  [[nodiscard]] ExportPlan::Queued look() const;
  /// Drops and counts what waits and what comes from now on. `on_work` is not called again.
  void close();

 private:
  struct Batch {
    TimePoint since;  ///< when its first span came
    std::vector<Span> spans;
  };

  const std::size_t most_;
  const std::size_t batch_;
  const std::shared_ptr<Tally> tally_;
  const std::function<void()> on_work_;
  mutable detail::Mutex mutex_;
  std::deque<Batch> batches_ DOGGED_GUARDED_BY(mutex_);  // all are full but the last
  std::size_t waiting_ DOGGED_GUARDED_BY(mutex_) = 0;    // spans of all batches
  bool is_closed_ DOGGED_GUARDED_BY(mutex_) = false;
};

}  // namespace dogged::runtime
