// Decides the lease keeper's next action. Pure: lease_keeper.cpp carries it out.
//
// A heartbeat that is due comes first. Then the keeper listens, because notifications from before may have been missed.
// Then the keeper asks for attempts to be cancelled: once it listens, when it is notified, and at each poll interval.
// Last, the keeper writes what handlers have said of their progress, at most once in progress_interval.
//
// A keeper that is to stop writes once more what handlers have said in their last second, and ends.
#pragma once

#include <iosfwd>
#include <string_view>

#include "base/core/hearing.hpp"
#include "base/time.hpp"

namespace dogged::runtime {

class KeeperPlan {
 public:
  struct Settings {
    milliseconds poll_interval{10'000};  ///< the keeper asks at least so often for attempts to be cancelled
    bool listens = true;                 ///< false: no LISTEN; the keeper asks for everything
    milliseconds progress_interval{1'000};
  };
  enum class State {
    works,        ///< the worker claims
    drains,       ///< the worker claims nothing more, and a heartbeat says so
    writes_last,  ///< the keeper writes once more, and ends
    ends,         ///< at once if the database says that the lease was ended
  };
  enum class Step {
    beat,        ///< renew the lease
    listen,      ///< LISTEN on the keeper's channels
    look,        ///< ask for the attempts to be cancelled
    write,       ///< write the progress of attempts
    write_last,  ///< as write; the end is next, whether or not the write works
    wait,        ///< for notifications and for progress, until `until`
    end,         ///< nothing is left to do
  };
  struct Action {
    Step step = Step::end;
    TimePoint until = {};

    friend bool operator==(const Action&, const Action&) = default;
  };

  KeeperPlan(const Settings& settings, TimePoint now) noexcept
      : settings_(settings), hearing_(settings.listens), beat_at_(now), look_at_(now), write_at_(now) {}

  /// `holds_tasks`: whether the worker holds tasks; without tasks, there is nothing to cancel. For a task that the
  /// worker claims later, the keeper finds a cancellation at its next look, or by a notification.
  [[nodiscard]] Action next(TimePoint now, bool holds_tasks) noexcept;

  // Events. If an action's statement throws, on_failure is called, and no other event for that action.

  /// The lease was renewed, as was asked for at `asked_at`. The next renewal is due `after` that.
  void on_renewed(TimePoint asked_at, milliseconds after);
  /// The database says that the lease was ended.
  void on_ended() noexcept { state_ = State::ends; }
  /// The worker claims nothing more. The first call makes a heartbeat due that says so. A stopping worker may run its
  /// tasks for minutes, and operators must not take the worker for one that claims.
  void on_draining() noexcept;
  /// The keeper is to end soon. The first call counts. Without a connection the keeper does not write its last
  /// progress. A new connection may take long to fail, and an end in time matters more.
  void on_stopping(bool is_connected) noexcept;
  void on_listening();
  /// Cancellation was requested of a task that this worker holds. If a look is under way, another one follows.
  void on_cancel_requested() noexcept { look_at_ = TimePoint::min(); }
  /// There is progress that is not written.
  void on_progress() noexcept { has_progress_ = true; }
  /// All progress reported before the write was written by `now`.
  void on_progress_written(TimePoint now);
  /// PostgreSQL has refused the write at `now`, and may refuse the next one too. The connection is as good as before.
  /// on_progress() follows if there is progress to write. True if this is the first refusal, or the first since a
  /// write.
  [[nodiscard]] bool on_progress_refused(TimePoint now);
  void on_failure() noexcept;

  [[nodiscard]] State state() const noexcept { return state_; }

 private:
  void note_write(TimePoint now);

  Settings settings_;
  Hearing hearing_;
  State state_ = State::works;
  TimePoint beat_at_;
  TimePoint look_at_;
  TimePoint write_at_;
  bool has_progress_ = false;
  bool is_refused_ = false;  // the last write of progress
};

[[nodiscard]] std::string_view to_text(KeeperPlan::State state) noexcept;
[[nodiscard]] std::string_view to_text(KeeperPlan::Step step) noexcept;
std::ostream& operator<<(std::ostream& out, KeeperPlan::State state);
std::ostream& operator<<(std::ostream& out, KeeperPlan::Step step);
std::ostream& operator<<(std::ostream& out, const KeeperPlan::Action& action);

}  // namespace dogged::runtime
