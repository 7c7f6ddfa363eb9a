// How one batch of reports gets on record, however often sending it fails. Pure.
//
// A sending is two statements. The completion gives the reports that it did not take, and a second statement explains
// these. Nothing is settled before the second is answered. If either statement fails, the whole part is sent once more.
// A report that took effect the first time is on record then.
//
// If PostgreSQL refuses a value that a handler gave, the batch is halved until the report is found. That report is sent
// without the handler's values, so that it holds up no other.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/time.hpp"
#include "lease/core/holder.hpp"
#include "tasks/core/claimed_task.hpp"

namespace dogged::runtime {

/// Why a report was not taken.
enum class Verdict {
  locked,           ///< another session has locked the task's row: the report is sent again
  cancelled_first,  ///< cancellation was requested: the report is decided and sent again
  expired_first,    ///< its retry would come after expires_at, or just before: the report is decided and sent again
  on_record,        ///< an earlier sending took effect, and its answer was lost
  committed,        ///< the handler's own transaction has recorded the attempt
  fenced,           ///< the worker does not hold the task any more: the report changes nothing
};

/// `worker` has sent the report at `sent_at`, before it asked for the holder.
[[nodiscard]] Verdict verdict_of(const Report& report, const Holder& holder, std::int64_t worker, TimePoint sent_at);

/// When the task of a recorded attempt runs again.
struct Rerun {
  enum class When {
    none,     ///< the task has ended, or waits for an event
    at_once,  ///< complete.sql has made the task ready
    later,
  };
  When when = When::none;
  std::chrono::microseconds in{0};  ///< of `later`: after the sending

  friend bool operator==(const Rerun&, const Rerun&) = default;
};

class ReportBatch {
 public:
  enum class State {
    sending,     ///< the completer sends part()
    explaining,  ///< the completer asks why not_taken() were refused
    ended,       ///< every report is settled: taken, to be sent again with another batch, or fenced
  };
  enum class Remedy { halved, stripped, none };

  /// A report that is on record, and when it was sent. The report is the batch's: to move a thousand of them once more
  /// took a tenth of a worker's CPU in a drain.
  struct Taken {
    const Report* report;
    TimePoint sent_at;

    friend bool operator==(const Taken&, const Taken&) = default;
  };

  /// Of at least one report. Reports that are on record already are taken, and not sent.
  explicit ReportBatch(std::vector<Report> reports);

  [[nodiscard]] State state() const noexcept;
  [[nodiscard]] std::span<const Report> part() const;
  [[nodiscard]] std::vector<const Report*> not_taken() const;
  /// When the part that is being explained was sent.
  [[nodiscard]] TimePoint sent_at() const noexcept { return sent_at_; }
  /// A sending has failed. Rows may look locked by it, so clear_locks.sql comes before the next sending.
  [[nodiscard]] bool may_have_left_locks() const noexcept { return has_failed_; }

  /// The completion was answered. The database took all reports except those on tasks of `refused`.
  void on_sent(std::unordered_set<TaskId> refused, TimePoint sent_at);
  /// The verdicts on not_taken(), in its order. `asked_at`: when the completer sent the question.
  void on_explained(const std::vector<Verdict>& verdicts, TimePoint asked_at);
  /// PostgreSQL refuses a value in part(). `none`: no report gave such a value, and the sending has failed.
  [[nodiscard]] Remedy on_refused(std::string_view reason);
  void on_failure() noexcept;

  /// The attempts whose reports are not settled. The worker no longer holds the others: after a failover that loses a
  /// recorded report, the worker gives the task back.
  [[nodiscard]] std::vector<Attempt> unsettled() const;
  /// The reports that got on record since the last call. The answer is valid while the batch lives.
  [[nodiscard]] std::vector<Taken> take_taken();
  /// Of an ended batch: the reports to be sent again.
  [[nodiscard]] std::vector<Report> take_again();

 private:
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  void settle_part(const std::vector<Verdict>& verdicts, TimePoint asked_at);

  std::vector<Report> reports_;
  std::vector<Range> parts_;                 // that are left; the last one is sent first
  std::unordered_set<TaskId> refused_ = {};  // of the part that is being explained
  TimePoint sent_at_{};
  bool has_failed_ = false;
  std::vector<Taken> taken_ = {};
  std::vector<Report> again_ = {};
};

[[nodiscard]] Rerun rerun_of(const ReportBatch::Taken& taken);

[[nodiscard]] std::string_view to_text(ReportBatch::State state) noexcept;
[[nodiscard]] std::string_view to_text(ReportBatch::Remedy remedy) noexcept;
[[nodiscard]] std::string_view to_text(Verdict verdict) noexcept;
[[nodiscard]] std::string_view to_text(Rerun::When when) noexcept;
std::ostream& operator<<(std::ostream& out, ReportBatch::State state);
std::ostream& operator<<(std::ostream& out, ReportBatch::Remedy remedy);
std::ostream& operator<<(std::ostream& out, Verdict verdict);
std::ostream& operator<<(std::ostream& out, const Rerun& rerun);
std::ostream& operator<<(std::ostream& out, const ReportBatch::Taken& taken);

}  // namespace dogged::runtime
