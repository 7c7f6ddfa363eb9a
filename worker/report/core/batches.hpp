// Which reports the completer sends together, and which attempts the worker holds for their reports. Pure: queue.hpp
// lets several threads use it, and batch.hpp decides how one batch gets on record.
//
// One batch at a time is in flight. Meanwhile the next ones gather.
#pragma once

#include <cstddef>
#include <deque>
#include <iosfwd>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tasks/core/claimed_task.hpp"

namespace dogged::runtime {

class ReportBatches {
 public:
  /// Of one batch. A report that is larger has a batch of its own.
  struct Limits {
    std::size_t reports = 1000;
    std::size_t bytes = 16u << 20;  ///< of handlers' values; a statement has less than 1 GB
  };
  /// With which batch the reports go that a written one has left.
  enum class Resend {
    none,    ///< the batch has left no report
    next,    ///< with the next batch
    second,  ///< after the next batch, which has no room for the reports, or has newer reports of the same tasks
  };

  ReportBatches() = default;
  explicit ReportBatches(Limits limits) : limits_(limits) {}

  /// The report is put into its batch. To move reports into a batch later took a twentieth of a worker's CPU in a
  /// drain. Meanwhile the handlers' threads waited for the mutex.
  void add(Report&& report);

  /// Whether some report is in no batch that was taken.
  [[nodiscard]] bool has_waiting() const noexcept { return !waiting_.empty(); }
  [[nodiscard]] bool has_in_flight() const noexcept { return in_flight_.has_value(); }
  /// Whether no report waits, and no batch is in flight.
  [[nodiscard]] bool is_empty() const noexcept { return waiting_.empty() && !in_flight_; }
  /// Reports that are not written yet, including those in flight.
  [[nodiscard]] std::size_t size() const noexcept;
  /// The attempts of these reports. The worker no longer holds attempts that are on record: after a failover that loses
  /// the record, the worker gives the task back.
  [[nodiscard]] std::vector<Attempt> held() const;

  /// Takes the next batch, which is in flight from then on; empty if no report waits. The last one must be written.
  [[nodiscard]] std::vector<Report> take();
  /// The batch in flight still has the reports of these attempts to write, and no others.
  void on_unsettled(std::vector<Attempt> attempts);
  /// The batch in flight is written, except `again`. A row may stay locked for long, so `again` never goes in front of
  /// a batch that has no room for it.
  Resend on_written(std::vector<Report> again);

 private:
  struct Batch {
    std::vector<Report> reports = {};
    std::vector<Attempt> held = {};  // of reports
    std::size_t bytes = 0;           // of handlers' values
    // The tasks of reports that are sent again. If an earlier sending took effect and its answer was lost, the worker
    // may have claimed and reported such a task anew. A batch has one report of a task.
    std::unordered_set<TaskId> resent = {};

    void add(Report&& report);
  };

  [[nodiscard]] bool has_room(const Batch& batch, std::size_t more_reports, std::size_t more_bytes) const noexcept;
  [[nodiscard]] Batch& batch_for(const Report& report);

  Limits limits_;
  std::deque<Batch> waiting_;
  std::optional<std::vector<Attempt>> in_flight_;  // the attempts of the batch in flight that are not settled
  std::size_t last_size_ = 0;                      // of the batch that was taken last
};

[[nodiscard]] std::string_view to_text(ReportBatches::Resend resend) noexcept;
std::ostream& operator<<(std::ostream& out, ReportBatches::Resend resend);

}  // namespace dogged::runtime
