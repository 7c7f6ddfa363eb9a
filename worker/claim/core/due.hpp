// When the earliest waiting task of the worker's queues is due. A task waits for a retry or for its run_at. Pure.
//
// The claimer promotes due tasks, which makes them ready, and asks for the next due time. An awake worker is not
// notified of a task that is due earlier, so the claimer also asks now and then.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string_view>

#include "base/time.hpp"

namespace dogged::runtime {

class DueTime {
 public:
  enum class State {
    unknown,  ///< no due time is known, or a task that is due earlier may have been enqueued
    none,     ///< no task waits
    known,    ///< the earliest waiting task is due at due_at()
    missed,   ///< a task was due by the worker's clock, but the promotion found none: the database must be asked
    overdue,  ///< the database says that a task is due
  };
  enum class Ask { nothing, promote, due_time };

  explicit DueTime(TimePoint now) : ask_at_(now) {}

  [[nodiscard]] State state() const noexcept { return state_; }
  /// When to ask next; a time in the past means now.
  [[nodiscard]] TimePoint asks_at() const noexcept;

  /// The question to ask before a claim. An unknown due time can wait until the claims find nothing more.
  [[nodiscard]] Ask before_claim(TimePoint now) const noexcept;
  [[nodiscard]] Ask before_wait(TimePoint now) const noexcept;

  /// A task that is due earlier may have been enqueued.
  void on_unknown() noexcept;
  /// A task is due at `at`.
  void on_scheduled(TimePoint at) noexcept;
  /// The claimer asks again after `ask_again` at the latest. True if due tasks were passed over because another session
  /// has locked them: they may be ready soon.
  bool on_promoted(std::size_t count, TimePoint now, milliseconds ask_again);
  /// `due_in`: of the earliest waiting task; nothing if no task waits.
  void on_due_time(std::optional<milliseconds> due_in, TimePoint now, milliseconds ask_again) noexcept;
  /// The claimer asks within `time`.
  void ask_within(milliseconds time, TimePoint now) noexcept;

 private:
  State state_ = State::unknown;
  TimePoint due_at_ = never;
  TimePoint ask_at_;
};

[[nodiscard]] std::string_view to_text(DueTime::State state) noexcept;
[[nodiscard]] std::string_view to_text(DueTime::Ask ask) noexcept;
std::ostream& operator<<(std::ostream& out, DueTime::State state);
std::ostream& operator<<(std::ostream& out, DueTime::Ask ask);

}  // namespace dogged::runtime
