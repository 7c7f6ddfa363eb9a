// The plan decides when upkeep looks next. A look asks for lapsed leases, expired tasks and due ticks (upkeep_due.sql).
// Pure.
#pragma once

#include <iosfwd>
#include <optional>
#include <string_view>

#include "base/time.hpp"
#include "upkeep/core/outlook.hpp"

namespace dogged::runtime {

/// One of the two workers that began first looks at each heartbeat. The others look when the next lease lapses, and
/// every few heartbeats.
class LookPlan {
 public:
  enum class Ask {
    nothing,
    connect,  ///< the look that is due is deferred: the others' time to renew counts from when the server is back
    look,
  };

  /// `lets_others_renew`: as in UpkeepPlan::Settings.
  LookPlan(milliseconds heartbeat, bool lets_others_renew, TimePoint now) noexcept
      : heartbeat_(heartbeat), looks_at_(now), may_look_at_(now + (lets_others_renew ? heartbeat : milliseconds{0})) {}

  [[nodiscard]] Ask next(TimePoint now) noexcept;
  /// When the next look is due.
  [[nodiscard]] TimePoint looks_at() const noexcept { return looks_at_; }

  /// A worker has registered, whose lease may lapse before any other.
  void on_worker_began(TimePoint now) noexcept;
  /// `left_tasks`: the rescue met tasks that another session had locked, or that PostgreSQL refused to change. The next
  /// rescue comes 250 ms after the look that follows. Each further one comes after twice the time before, up to a
  /// heartbeat, until no task is left. A refusal may last until an operator ends it.
  void on_rescued(bool left_tasks) noexcept { left_tasks_ = left_tasks; }
  /// A look, and the rescue that it asked for, are over. `lets_renew`: lapsed leases were left alone.
  void on_looked(const Outlook& found, bool lets_renew, TimePoint now) noexcept;
  /// A statement failed; perhaps the server is lost. The others have a heartbeat's time to renew their leases. Their
  /// time counts from the next try, however long upkeep pauses until then.
  void on_failure() noexcept;

 private:
  void rescue_again(TimePoint now) noexcept;

  milliseconds heartbeat_;
  TimePoint looks_at_;
  std::optional<TimePoint> may_look_at_;  // nothing: a heartbeat after the next try
  bool left_tasks_ = false;               // the rescue since the last look has
  milliseconds rescue_again_after_{0};    // 0: the last rescue has left no task
  TimePoint rescue_again_at_;
};

[[nodiscard]] std::string_view to_text(LookPlan::Ask ask) noexcept;
std::ostream& operator<<(std::ostream& out, LookPlan::Ask ask);

}  // namespace dogged::runtime
