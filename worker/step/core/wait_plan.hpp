// The plan decides how a handler goes about a wait (Context::sleep, Context::wait_event). Pure: steps.cpp asks the
// database.
//
//   asking --the database is busy--> pausing --the pause is over--> asking
//   pausing --the handler is asked to stop--> stopped
//   asking --any other answer--> over, suspended, cancelled, at_limit, lost or other_kind, for good
#pragma once

#include <iosfwd>
#include <string_view>

#include "base/time.hpp"

namespace dogged::runtime {

class WaitPlan {
 public:
  /// The answers of dogged.wait_durably (schema/events.sql).
  enum class Answer {
    over,       ///< the time is over, or the event came
    suspended,  ///< the attempt has ended, and is on record as snoozed
    cancelled,  ///< the task is to be cancelled: nothing has changed
    at_limit,   ///< the task has begun too many attempts to wait again
    busy,       ///< an emit of the event, or a change of the task, is not committed yet
    lost,       ///< the worker does not hold the attempt any more
    other_kind  ///< the name is on record for a step, or for the other kind of wait
  };
  enum class Step {
    ask,        ///< wait_durably.sql
    pause,      ///< until `until`, or until the handler is asked to stop
    over,       ///< the handler goes on
    suspended,  ///< the handler ends, and its task goes on later
    cancelled,  ///< the handler ends
    at_limit,   ///< the handler fails for good
    stopped,    ///< the handler ends, as it was asked to
    lost,       ///< the handler ends, and nothing of it counts
    other_kind  ///< the handler fails for good
  };
  struct Action {
    Step step = Step::ask;
    TimePoint until = {};

    friend bool operator==(const Action&, const Action&) = default;
  };
  /// No connection waits for an emit, because other handlers use it too.
  static constexpr milliseconds pause_while_busy{50};

  [[nodiscard]] Action next(TimePoint now, bool stop_requested) const noexcept;
  void on_answer(Answer answer, TimePoint now) noexcept;

 private:
  Step step_ = Step::ask;
  TimePoint asks_again_at_{};  // while it pauses
};

/// Throws std::logic_error for a text that is none.
[[nodiscard]] WaitPlan::Answer wait_answer_from_text(std::string_view text);
/// As dogged.wait_durably says it.
[[nodiscard]] std::string_view to_text(WaitPlan::Answer answer) noexcept;
[[nodiscard]] std::string_view to_text(WaitPlan::Step step) noexcept;
std::ostream& operator<<(std::ostream& out, WaitPlan::Answer answer);
std::ostream& operator<<(std::ostream& out, WaitPlan::Step step);
std::ostream& operator<<(std::ostream& out, const WaitPlan::Action& action);

}  // namespace dogged::runtime
