// The plan decides upkeep's next action. Upkeep is the work that one worker does for all. Pure: events in, one action
// out, `now` a parameter.
//
// Upkeep works in rounds. In a round each kind of work has one turn, in a fixed order. First come due ticks, then a due
// look, and the rescue that the look asks for. One batch of expired tasks follows. Last comes the comparison of
// declarations, once no task is left to be ended. So no kind of work keeps another one waiting for longer than a turn.
// A round that finds nothing due ends in a wait. upkeep.cpp carries out one action, and asks again.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string_view>

#include "base/time.hpp"
#include "lease/core/lease.hpp"
#include "upkeep/core/comparison_plan.hpp"
#include "upkeep/core/expiry_plan.hpp"
#include "upkeep/core/look_plan.hpp"
#include "upkeep/core/outlook.hpp"
#include "upkeep/core/rescue_plan.hpp"
#include "upkeep/core/tick_agenda.hpp"
#include "upkeep/core/told.hpp"

namespace dogged::runtime {

class UpkeepPlan {
 public:
  struct Settings {
    milliseconds heartbeat{5'000};
    /// Others may have lost the server as well: they get a heartbeat's time to renew before any lease is ended.
    bool lets_others_renew = false;
    milliseconds compares_again_after{10'000};  ///< a comparison of declarations that was refused
    TickAgenda::Settings ticks = {};
  };

  /// The next turn of the round.
  enum class State {
    ticks,
    look,
    end_leases,  ///< the look has found leases that have lapsed
    rescue,
    look_again,  ///< the rescue has changed what the look found
    expiry,
    comparison,
    rest,  ///< the end of the round
  };
  enum class Step {
    fire_ticks,  ///< a batch of those that are due
    connect,     ///< reach the server, without a question
    look,        ///< upkeep_due.sql, with `look_back`
    end_leases,  ///< those that have lapsed
    rescue,      ///< the tasks that are held under ended leases
    expire,      ///< a batch of tasks that have expired, with `look_back`
    compare,     ///< the declarations of tasks and schedules
    wait,        ///< for messages, until `until`
    end,         ///< nothing is left to do
  };
  struct Action {
    Step step = Step::end;
    TimePoint until = {};                        ///< of wait
    bool all_answered = false;                   ///< a round is over that asked the database, and nothing failed in it
    std::optional<milliseconds> look_back = {};  ///< how far to go back for expired tasks; nothing: for ever

    friend bool operator==(const Action&, const Action&) = default;
  };

  UpkeepPlan(const Settings& settings, TimePoint now) noexcept;

  [[nodiscard]] Action next(TimePoint now);

  // Events. If an action's statement throws, on_failure is called, and no other event for that action. PostgreSQL may
  // refuse ticks and comparisons while the connection is as good as before. Then on_ticks_refused or
  // on_comparison_refused is called, so that dead workers' tasks are rescued all the same.

  void on_told(const ToldToUpkeep& told, TimePoint now) noexcept;
  /// The worker stops. A rescue that is due comes first: other workers have no reason to look for tasks whose leases
  /// this worker has just ended.
  void on_stopping() noexcept { is_stopping_ = true; }
  /// Ticks of `schedules` schedules were fired, and the next tick is due in `due_in`.
  void on_fired(int schedules, std::optional<milliseconds> due_in, TimePoint now) noexcept {
    ticks_.on_fired(schedules, due_in, now);
  }
  void on_ticks_refused(TimePoint now) noexcept { ticks_.on_refused(now); }
  /// `own`: the worker's own lease. True if from now on the others have time to renew their leases, which have lapsed.
  [[nodiscard]] bool on_looked(const Outlook& found, const Lease& own, TimePoint now);
  void on_leases_ended();
  /// `left_tasks`: as LookPlan::on_rescued.
  void on_rescued(bool left_tasks);
  /// A batch has ended `count` tasks.
  void on_expired(std::size_t count) noexcept { expiry_.on_expired(count); }
  void on_compared() noexcept { comparison_.on_compared(); }
  void on_comparison_refused(TimePoint now) noexcept { comparison_.on_refused(now); }
  void on_failure() noexcept;

  [[nodiscard]] State state() const noexcept { return state_; }

 private:
  [[nodiscard]] std::optional<Action> take_turn(TimePoint now);
  [[nodiscard]] std::optional<Action> look(TimePoint now);
  [[nodiscard]] std::optional<Action> rest(TimePoint now);
  void end_look(const Outlook& found, TimePoint now) noexcept;

  LookPlan looks_;
  RescuePlan rescues_;
  ExpiryPlan expiry_;
  ComparisonPlan comparison_;
  TickAgenda ticks_;
  State state_ = State::ticks;
  TimePoint asked_at_{};  // the last look
  bool is_stopping_ = false;
  bool has_asked_ = false;  // in this round, and nothing has failed since
};

[[nodiscard]] std::string_view to_text(UpkeepPlan::State state) noexcept;
[[nodiscard]] std::string_view to_text(UpkeepPlan::Step step) noexcept;
std::ostream& operator<<(std::ostream& out, UpkeepPlan::State state);
std::ostream& operator<<(std::ostream& out, UpkeepPlan::Step step);
std::ostream& operator<<(std::ostream& out, const UpkeepPlan::Action& action);

}  // namespace dogged::runtime
