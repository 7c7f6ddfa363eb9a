// Reports that are not written yet: executors add them, the completer takes them in batches. batches.hpp decides which
// reports go together.
#pragma once

#include <cstddef>
#include <vector>

#include <dogged/detail/mutex.hpp>

#include "base/time.hpp"
#include "report/core/batches.hpp"
#include "tasks/core/claimed_task.hpp"

namespace dogged::runtime {

/// Thread-safe: ReportBatches under a lock. Threads wait here for reports, or until all are written.
class ReportQueue {
 public:
  void add(Report&& report);
  /// See ReportBatches.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::vector<Attempt> held() const;
  [[nodiscard]] bool has_in_flight() const;

  struct Look {
    bool has_waiting = false;  ///< some report is in no batch that was taken
    bool is_finished = false;
  };
  /// For the completer. wait_for_news() tells it of what happens from now on.
  [[nodiscard]] Look look();
  /// Waits until a report is added, until note_news() or finish() was called since look(), or until `until`.
  void wait_for_news(TimePoint until);
  /// The next batch, which is in flight from then on; empty if no report waits.
  [[nodiscard]] std::vector<Report> take();
  void note_unsettled(std::vector<Attempt> attempts);
  ReportBatches::Resend batch_written(std::vector<Report> again);

  /// Something else that the completer looks at has changed.
  void note_news();
  /// Waits until all reports are written, until `until`, or until finish(). True if all are written.
  bool wait_empty(TimePoint until);
  /// From now on wait_empty() does not wait.
  void finish();

 private:
  mutable detail::Mutex mutex_;
  detail::Condition changed_;
  ReportBatches batches_ DOGGED_GUARDED_BY(mutex_);
  bool has_news_ DOGGED_GUARDED_BY(mutex_) = false;  // since look()
  bool is_finished_ DOGGED_GUARDED_BY(mutex_) = false;
};

}  // namespace dogged::runtime
