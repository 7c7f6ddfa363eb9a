// Decides the claimer's next action. Pure: events in, one action out, `now` a parameter.
//
// The plan composes the cores beside it by a fixed list of priorities (next(), from top to bottom). Certainty comes
// first, then what operators and other threads ask for, due tasks, claims, bookkeeping, and sleep last. claimer.cpp
// carries out one action, and asks again.
//
// A claimer ends if it is to stop, or if its lease is not held any more. The end comes before each action that is due.
// The action under way comes to its end first. Tasks of a claim under way go to the executors, which begin nothing
// without the lease. last_release.hpp decides how tasks that have not begun are given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string_view>
#include <vector>

#include "base/core/hearing.hpp"
#include "base/time.hpp"
#include "claim/core/certainty.hpp"
#include "claim/core/claims_sum.hpp"
#include "claim/core/due.hpp"
#include "claim/core/following.hpp"
#include "claim/core/queues.hpp"
#include "claim/core/settling.hpp"
#include "claim/core/sleep.hpp"
#include "claim/core/told.hpp"
#include "lease/core/lease.hpp"

namespace dogged::runtime {

/// The class has more than a dozen members: the cores that it composes, and facts that belong to no core.
class ClaimPlan {
 public:
  /// After so long, a task that was claimed ahead and still waits for a thread is given back.
  static constexpr milliseconds longest_wait_for_thread{1000};
  /// While so many reports are not written yet, nothing is claimed.
  static constexpr std::size_t max_backlog = 2000;

  struct Settings {
    milliseconds poll_interval{10'000};
    bool listens = true;       ///< false: the claimer never runs LISTEN, and only polls
    bool has_circuits = true;  ///< false: no task of the worker has a circuit, and none is read
  };

  enum class Step {
    begin_session,      ///< begin_claim_session.sql, with next_session()
    listen,             ///< LISTEN on the channels of the claimer
    give_back_unknown,  ///< tasks that run under this worker, but are unknown to it
    give_back_paused,   ///< tasks that were claimed ahead from the queues in `paused`
    give_back_stale,    ///< tasks that were claimed ahead, for threads that are busy for longer than was foreseen
    end_expired,        ///< tasks that expired while an executor held them
    look_for_missed,    ///< in `queues`: is there a ready task without a notification?
    refresh_circuits,
    follow_queues,  ///< read what operators have set for the queues
    promote,        ///< make due tasks ready
    ask_due_time,   ///< when the earliest waiting task is due
    wake_others,
    claim,    ///< from `queues`
    settle,   ///< the watermarks, by `question`
    sum_up,   ///< the worker's entries in dogged.claims
    wake_up,  ///< set the worker's row to awake
    fall_asleep,
    ask_oldest_transaction,
    hear,  ///< read notifications and the inbox, until `until`; without waiting if that is in the past
    end,   ///< nothing is left to do, now and later
  };
  struct Action {
    Step step = Step::end;
    std::vector<QueueClaim> queues = {};
    std::vector<std::size_t> paused = {};  ///< queues by index
    Settling::Question question = {};
    TimePoint until = {};
    bool for_room = false;  ///< of hear: a thread that becomes free ends the wait

    friend bool operator==(const Action&, const Action&) = default;
  };

  /// The capacity of the rest of the worker at the moment of a decision.
  struct Capacity {
    bool can_report = true;           ///< the ends of attempts can be recorded
    std::size_t backlog = 0;          ///< reports that are not written yet
    std::vector<std::size_t> demand;  ///< by queue: how many more tasks it takes
    bool holds_waiting = false;       ///< an executor holds a task that waits for a thread
  };

  ClaimPlan(const Settings& settings, const std::vector<std::string>& queue_names, TimePoint now);

  [[nodiscard]] Action next(TimePoint now, const Capacity& capacity);

  // Events. If an action's statement throws, on_failure is called, and no other event for that action.

  /// The claimer is to stop.
  void on_stopping() noexcept { course_ = Course::ends; }
  /// The lease is in this state. A lease that has lapsed is never held again: regaining it does not save the claimer.
  void on_lease(Lease::State lease) noexcept {
    if (lease != Lease::State::held) course_ = Course::ends;
  }
  void on_told(const Told& told, TimePoint now);
  /// Notifications that were heard: of a queue (all queues if empty), of settings of queues, of circuits.
  void on_notified(std::string_view queue, TimePoint now);
  void on_queues_changed() noexcept { following_.on_changed(); }
  void on_circuits_changed() noexcept { circuits_unknown_ = true; }

  [[nodiscard]] std::int64_t next_session() noexcept { return certainty_.next_session(); }
  void on_session_begun(TimePoint now);
  void on_listening(TimePoint now);
  /// `count` tasks were given back; `locked` are tried again later.
  void on_given_back(std::size_t count, std::vector<TaskId> locked, TimePoint now);
  void on_locked(TaskId id, TimePoint now) { certainty_.on_locked(id, now); }
  void on_missed(bool has_ready, std::optional<milliseconds> due_in, TimePoint now);
  /// The settings of queues were asked for at `now`. on_queue_settings follows for each queue.
  void on_following(TimePoint now) noexcept { following_.on_asked(now); }
  /// True if the queue's pause begins or ends with these settings. After a pause has begun, next() asks for
  /// give_back_paused.
  bool on_queue_settings(std::size_t queue, bool paused, std::optional<milliseconds> resumes_in, TimePoint now);
  void on_promoted(std::size_t count, TimePoint now);
  void on_due_time(std::optional<milliseconds> due_in, TimePoint now);
  /// A task of this worker was deferred, and is due after `delay`.
  void on_deferred(milliseconds delay, TimePoint now) { due_.on_scheduled(now + delay); }
  void on_others_woken() noexcept { others_to_wake_ = false; }
  /// The answer to one of the claims: the places of the tasks that were claimed.
  void on_claimed(const QueueClaim& claim, const std::vector<Place>& places, TimePoint now);
  void on_settled(const Settling::Question& question, const Settling::Answer& answer,
                  const std::vector<ServedQueues::Settled>& settled, TimePoint asked_at, TimePoint answered_at);
  void on_summed_up(std::int64_t entry, TimePoint now) noexcept;
  void on_awake() { sleep_.on_awake(); }
  void on_asleep(const Sleep::Transactions& open, TimePoint now);
  void on_oldest_transaction(std::int64_t oldest, TimePoint now) { sleep_.on_oldest_transaction(oldest, now); }
  /// `connection_lost`: the next connection may be to another server.
  void on_failure(bool connection_lost, TimePoint now);
  /// A task was given back, or for another reason everything may have changed.
  void look_everywhere(TimePoint now);

  [[nodiscard]] const Certainty& certainty() const noexcept { return certainty_; }
  [[nodiscard]] const ServedQueues& queues() const noexcept { return queues_; }
  [[nodiscard]] const ClaimsSum& sum() const noexcept { return sum_; }
  [[nodiscard]] const Sleep& sleep() const noexcept { return sleep_; }
  [[nodiscard]] const DueTime& due() const noexcept { return due_; }

 private:
  enum class Course { goes_on, ends };
  /// After a claim, and after bookkeeping, due bookkeeping and notifications come before the next claim. Otherwise a
  /// claimer that always finds work would put bookkeeping off for ever, and notifications would pile up.
  enum class Turn { may_claim, must_hear };

  [[nodiscard]] std::optional<Action> first_of_all(TimePoint now);
  [[nodiscard]] std::optional<Action> look(TimePoint now);
  [[nodiscard]] std::optional<Action> follow(TimePoint now);
  [[nodiscard]] std::optional<Action> keep_books(TimePoint now);
  [[nodiscard]] std::optional<Action> before_wait(TimePoint now);
  [[nodiscard]] static std::optional<Action> of(DueTime::Ask ask);
  [[nodiscard]] Action wait(const Capacity& capacity) const;
  [[nodiscard]] milliseconds ask_due_again() const noexcept;

  Settings settings_;
  Certainty certainty_;
  ServedQueues queues_;
  Sleep sleep_;
  DueTime due_;
  Settling settling_;
  Following following_;
  ClaimsSum sum_;
  Hearing hearing_;
  Course course_ = Course::goes_on;
  Turn turn_ = Turn::may_claim;
  bool has_expired_ = false;      // an executor holds expired tasks
  bool others_to_wake_ = false;   // for tasks that this worker has made ready
  bool circuits_unknown_ = true;  // circuits may have changed since they were read
  TimePoint look_for_stale_at_{};
};

[[nodiscard]] std::string_view to_text(ClaimPlan::Step step) noexcept;
std::ostream& operator<<(std::ostream& out, ClaimPlan::Step step);
std::ostream& operator<<(std::ostream& out, const ClaimPlan::Action& action);

}  // namespace dogged::runtime
