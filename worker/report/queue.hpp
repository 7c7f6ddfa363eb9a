// Reports that are not written yet: executors add them, the completer takes them in batches. batches.hpp decides which
// reports go together.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <dogged/detail/mutex.hpp>

#include "base/time.hpp"
#include "report/batches.hpp"
#include "tasks/claimed_task.hpp"

namespace dogged::runtime {

/// Thread-safe: ReportBatches under a lock, and the waits of threads for what becomes of it.
class ReportQueue {
 public:
  void add(Report&& report);
  /// See ReportBatches.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::vector<Attempt> held() const;

  /// Waits until there is a report and `may_send` gives true, until the time that `until` gives, or until finish().
  /// Gives a batch, which is in flight from then on; empty if there is none.
  [[nodiscard]] std::vector<Report> take_batch(const std::function<bool()>& may_send,
                                               const std::function<TimePoint()>& until);
  void note_unsettled(std::vector<Attempt> attempts);
  ReportBatches::Resend batch_written(std::vector<Report> again);

  /// The answers of `may_send` and `until` may have changed: take_batch() asks again.
  void ask_again();
  /// Waits until all reports are written, until `until`, or until finish(). True if all are written.
  bool wait_empty(TimePoint until);
  /// From now on take_batch() gives nothing, and wait_empty() does not wait.
  void finish();
  [[nodiscard]] bool is_finished() const;

 private:
  mutable detail::Mutex mutex_;
  detail::Condition changed_;
  ReportBatches batches_ DOGGED_GUARDED_BY(mutex_);
  bool is_finished_ DOGGED_GUARDED_BY(mutex_) = false;
};

}  // namespace dogged::runtime
