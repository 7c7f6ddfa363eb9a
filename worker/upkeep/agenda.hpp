// Decides upkeep's next work, and its time. Pure: upkeep.cpp asks the database, and carries this out.
#pragma once

#include <optional>

#include "lease/lease.hpp"
#include "runtime/time.hpp"

namespace dogged::runtime {

/// The work that is due for all workers: the row of upkeep_due.sql.
struct Outlook {
  bool has_to_rescue = false;             ///< tasks are held under a lease that was ended
  std::optional<milliseconds> lapses_in;  ///< of the next lease: below 0 once it has lapsed; nothing: there is none
  bool has_expired = false;               ///< a pending task has expired, within the time that was looked back
  bool comes_first = true;                ///< this worker is one of the two that began first
  milliseconds newest_began_ago{0};       ///< how long ago the newest worker began
};

class Agenda {
 public:
  struct Settings {
    /// How often one of the two workers that began first looks; the others look when the next lease lapses, and every
    /// few heartbeats.
    milliseconds heartbeat{5'000};
    /// Others may have lost the server as well: they get a heartbeat's time to renew before any lease is ended.
    bool lets_others_renew = false;
    milliseconds again_after_failure{10'000};  ///< of a comparison of declarations
  };
  enum class Rescue {
    none,
    of_ended_leases,      ///< the tasks held under leases that were ended before
    after_ending_lapsed,  ///< the leases that have lapsed are ended first
  };

  Agenda(const Settings& settings, TimePoint now) noexcept;

  [[nodiscard]] milliseconds heartbeat() const noexcept { return settings_.heartbeat; }

  // Leases and rescues

  /// When the next look is due.
  [[nodiscard]] TimePoint looks_at() const noexcept { return looks_at_; }
  /// False while the others have time to renew their leases, after a failure: the look is deferred until then.
  [[nodiscard]] bool may_look(TimePoint now) noexcept;
  /// The decision after a look that has found `found`. If `own` was not renewed steadily, the server or this machine
  /// stood still, and the other workers may have fared alike. Then the others get a heartbeat's time, and until `own`
  /// was renewed once more, to renew their leases. The others get this time once for each time that leases are found
  /// lapsed, because the gap may come again and again.
  [[nodiscard]] Rescue decide(const Outlook& found, const Lease& own, TimePoint now) noexcept;
  /// Leases have lapsed, and decide() leaves them alone.
  [[nodiscard]] bool lets_renew() const noexcept { return lets_renew_; }
  /// Sets the next look. `left_tasks`: a rescue met tasks that another session had locked, or that PostgreSQL refused
  /// to change. The next rescue comes after 250 ms, and then after twice the time before, up to a heartbeat, until a
  /// look leaves no task: a refusal may last until an operator ends it.
  void note_looked(const Outlook& found, bool left_tasks, TimePoint now) noexcept;
  /// A statement failed; perhaps the server is lost.
  void note_failed(TimePoint now) noexcept;

  // Tasks that have expired

  /// How far a look goes back for them; nothing: for ever.
  [[nodiscard]] std::optional<milliseconds> look_back(TimePoint now) const noexcept;
  /// Every task was ended that a look at `asked_at` could find, as far back as look_back() gave.
  void note_expired(TimePoint asked_at, std::optional<milliseconds> looked_back) noexcept;

  // Declarations of tasks

  void note_worker_began() noexcept { must_compare_ = true; }
  [[nodiscard]] bool must_compare(const Outlook& found, TimePoint now) const noexcept;
  void note_compared(TimePoint asked_at) noexcept;
  /// PostgreSQL has refused it, or others keep the schedules locked.
  void note_comparison_failed(TimePoint now) noexcept { compares_again_at_ = now + settings_.again_after_failure; }

 private:
  void note_rescued(bool left_tasks, TimePoint now) noexcept;

  const Settings settings_;
  TimePoint looks_at_;
  milliseconds rescue_again_after_{0};  // 0: the last look has left no task
  TimePoint rescue_again_at_;
  TimePoint may_look_at_;
  std::optional<TimePoint> lets_renew_since_;  // reset when no lease is found lapsed
  bool lets_renew_ = false;
  TimePoint expired_at_;     // of the last look
  TimePoint expire_all_at_;  // from then on a look goes back for ever
  bool must_compare_ = true;
  TimePoint compared_at_;
  TimePoint compares_again_at_;
};

}  // namespace dogged::runtime
