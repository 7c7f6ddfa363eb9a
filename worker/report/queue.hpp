// Reports that are not written yet: executors add them, the completer takes them in batches.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <unordered_set>
#include <vector>

#include <dogged/detail/mutex.hpp>

#include "runtime/claimed_task.hpp"
#include "runtime/time.hpp"

namespace dogged::runtime {

/// Thread-safe. add() puts a report into its batch. Moving reports into a batch later took a twentieth of a worker's
/// CPU in a drain, and the handlers' threads waited for the mutex meanwhile.
class ReportQueue {
 public:
  static constexpr std::size_t max_batch = 1000;
  static constexpr std::size_t max_batch_bytes = 16u << 20;  // of handlers' values; a statement has less than 1 GB

  void add(Report&& report);
  /// Reports that are not written yet, including those in flight.
  [[nodiscard]] std::size_t size() const;
  /// The attempts of these reports. Attempts that are on record already are none of the worker's: after a failover that
  /// loses the record, the worker gives the task back.
  [[nodiscard]] std::vector<Attempt> held() const;

  /// Waits until there is a report and `may_send` gives true, until `until`, or until finish(). Gives a batch, which is
  /// in flight from then on; empty if there is none.
  [[nodiscard]] std::vector<Report> take_batch(TimePoint until, const std::function<bool()>& may_send);
  /// The batch in flight still has the reports of these attempts to write, and no others.
  void note_unsettled(std::vector<Attempt> attempts);
  /// The batch in flight is written, except `again`. The next batch carries `again` if it has room and no report of the
  /// same tasks; otherwise `again` is the batch after the next. True if the next batch carries `again`.
  [[nodiscard]] bool batch_written(std::vector<Report> again);

  /// The answer of `may_send` may have changed.
  void look_again();
  /// Waits until all reports are written, until `until`, or until finish(). True if all are written.
  bool wait_empty(TimePoint until);
  /// From now on take_batch() gives nothing, and wait_empty() does not wait.
  void finish();
  [[nodiscard]] bool is_finished() const;

 private:
  struct Batch {
    std::vector<Report> reports = {};
    std::vector<Attempt> held = {};  // of reports
    std::size_t bytes = 0;           // of handlers' values
    // The tasks of reports that are sent again. If an earlier sending took effect and its answer was lost, the worker
    // may have claimed and reported such a task anew. A batch has one report of a task.
    std::unordered_set<TaskId> resent = {};

    void add(Report&& report);
    [[nodiscard]] bool has_room_for(std::size_t more_reports, std::size_t more_bytes) const;
  };

  [[nodiscard]] Batch& batch_for(const Report& report) DOGGED_REQUIRES(mutex_);
  [[nodiscard]] bool resend(std::vector<Report> again) DOGGED_REQUIRES(mutex_);

  mutable detail::Mutex mutex_;
  detail::Condition changed_;
  std::deque<Batch> waiting_ DOGGED_GUARDED_BY(mutex_);
  std::size_t last_size_ DOGGED_GUARDED_BY(mutex_) = 0;  // of the batch that was taken last
  std::vector<Attempt> in_flight_ DOGGED_GUARDED_BY(mutex_);
  bool is_finished_ DOGGED_GUARDED_BY(mutex_) = false;
};

}  // namespace dogged::runtime
