// The spans that wait for the exporter: a bounded queue. A handler that ends never waits for it.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <dogged/detail/mutex.hpp>

#include "base/tally.hpp"
#include "base/time.hpp"
#include "base/wake_fd.hpp"
#include "trace/core/export_plan.hpp"
#include "trace/span.hpp"

namespace dogged::runtime {

/// Thread-safe.
class SpanQueue {
 public:
  SpanQueue(std::size_t most, std::size_t batch, std::shared_ptr<Tally> tally)
      : most_(most), batch_(batch), tally_(std::move(tally)) {}

  /// Drops the span, and counts it, if there is no room. Wakes the exporter by the first span, and by the one that
  /// completes a batch.
  void push(Span&& span, TimePoint now);

  // For the exporter's thread.

  /// The oldest spans, at most a batch. Moves none of them, so that handlers which end meanwhile hardly wait.
  [[nodiscard]] std::vector<Span> take();
  [[nodiscard]] ExportPlan::Queued look() const;
  /// Drops and counts the waiting spans and all later ones.
  void close();
  /// The exporter's service shares this descriptor.
  [[nodiscard]] const WakeFd& wake() const noexcept { return wake_; }

 private:
  struct Batch {
    TimePoint since;  ///< when its first span came
    std::vector<Span> spans;
  };

  const std::size_t most_;
  const std::size_t batch_;
  const std::shared_ptr<Tally> tally_;
  const WakeFd wake_;
  mutable detail::Mutex mutex_;
  std::deque<Batch> batches_ DOGGED_GUARDED_BY(mutex_);  // all are full but the last
  std::size_t waiting_ DOGGED_GUARDED_BY(mutex_) = 0;    // spans of all batches
  bool is_closed_ DOGGED_GUARDED_BY(mutex_) = false;
};

}  // namespace dogged::runtime
