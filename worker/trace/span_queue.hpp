// The spans that wait for the exporter: a bounded queue. A handler that ends never waits for it.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <dogged/detail/mutex.hpp>

#include "runtime/tally.hpp"
#include "trace/export_plan.hpp"
#include "trace/span.hpp"

namespace dogged::runtime {

/// Thread-safe.
class SpanQueue {
 public:
  /// `on_work` is called when the first span comes, and when there are enough for a batch; under the queue's lock.
  SpanQueue(std::size_t most, std::size_t batch, std::shared_ptr<Tally> tally, std::function<void()> on_work)
      : most_(most), batch_(batch), tally_(std::move(tally)), on_work_(std::move(on_work)) {}

  /// Drops the span, and counts it, if there is no room.
  void push(Span span, TimePoint now);
  /// The oldest spans, at most so many.
  [[nodiscard]] std::vector<Span> take(std::size_t most);
  [[nodiscard]] ExportPlan::Queued look() const;
  /// Drops and counts what waits and what comes from now on. `on_work` is not called again.
  void close();

 private:
  struct Waiting {
    Span span;
    TimePoint since;
  };

  const std::size_t most_;
  const std::size_t batch_;
  const std::shared_ptr<Tally> tally_;
  const std::function<void()> on_work_;
  mutable detail::Mutex mutex_;
  std::deque<Waiting> waiting_ DOGGED_GUARDED_BY(mutex_);
  bool is_closed_ DOGGED_GUARDED_BY(mutex_) = false;
};

}  // namespace dogged::runtime
