// The pool decides which task a queue's threads run next, stop or give up. Pure: executor.cpp has the threads, the lock
// and the clock.
//
//   idle --a task begins--> running --its stop token is to be set--> stopping
//   idle --a task was cancelled while it waited--> reporting
//   running, stopping --the handler has ended--> reporting --the report is handed on--> idle
//   running, stopping --the handler is given up--> given_up, for good
//   idle, running, stopping, reporting --a mistake of dogged ends the thread--> broken, for good
#pragma once

#include <cstddef>
#include <deque>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <dogged/context.hpp>

#include "base/time.hpp"
#include "tasks/core/claimed_task.hpp"

namespace dogged::runtime {

class Pool {
 public:
  /// The task that one thread runs. The thread reads the run without a lock, from its beginning until the pool is told
  /// that it ended.
  struct Run {
    Run(ClaimedTask begun, TimePoint now) : task(std::move(begun)), started_at(now), deadline(deadline_of(task, now)) {}

    const ClaimedTask task;
    const TimePoint started_at;
    const TimePoint deadline;  ///< when the pool asks to set its stop token; never: the task has no timeout
  };
  enum class SlotState {
    idle,       ///< its thread waits for a task
    running,    ///< a handler runs
    stopping,   ///< as running, and its stop token was to be set
    reporting,  ///< the handler has ended or never began, and its report is on the way
    given_up,   ///< the attempt was reported without its handler, and the slot is its thread's alone
    broken,     ///< its thread has ended, and its attempt, if it had one, is never reported
  };
  /// The place of one thread, which the pool fills.
  class Slot {
   public:
    [[nodiscard]] const Run& run() const noexcept { return *run_; }

   private:
    friend class Pool;
    SlotState state_ = SlotState::idle;
    std::optional<Run> run_;
    TimePoint stopped_at_{};                // when the pool asked to set its stop token
    StopReason reason_ = StopReason::none;  // and why
  };
  enum class Next {
    wait,       ///< nothing may begin
    expired,    ///< a task expired before it could begin: take_expired() has it
    cancelled,  ///< the handler of Slot::run() never begins: its thread reports the attempt as cancelled
    run,        ///< the thread runs Slot::run()
  };
  /// A stop token to be set: that of the handler in a slot.
  struct Stop {
    std::size_t slot = 0;  ///< its index
    StopReason reason = StopReason::none;
    TimePoint given_up_at = never;  ///< when the handler is given up; never: at the end of a shutdown at the earliest

    friend bool operator==(const Stop&, const Stop&) = default;
  };
  /// The work that is due at a point in time.
  struct Due {
    std::vector<Stop> stops = {};
    std::vector<std::size_t> overdue = {};  ///< the slots whose handlers the executor gives up, the last slot first
    TimePoint next = never;                 ///< when something is due next

    friend bool operator==(const Due&, const Due&) = default;
  };
  struct Load {
    std::size_t at_once = 0;  ///< attempts that may be busy at the same time: the concurrency
    std::size_t busy = 0;     ///< attempts that run or are being reported
    std::size_t waiting = 0;  ///< claimed tasks that wait for a thread

    friend bool operator==(const Load&, const Load&) = default;
  };

  /// A handler whose stop token was set for a timeout or a cancellation is given up after `stop_grace`.
  Pool(std::size_t concurrency, milliseconds stop_grace) : concurrency_(concurrency), stop_grace_(stop_grace) {}

  [[nodiscard]] std::size_t concurrency() const noexcept { return concurrency_; }
  void set_concurrency(std::size_t concurrency) noexcept { concurrency_ = concurrency; }
  [[nodiscard]] std::size_t slots() const noexcept { return slots_.size(); }
  void reserve_slots(std::size_t count) { slots_.reserve(count); }
  /// A thread works in `slot` from now on, as the last one.
  void add(std::shared_ptr<Slot> slot) { slots_.push_back(std::move(slot)); }
  /// The slot was given up. The last one takes its index.
  void remove(std::size_t index);

  // Tasks that wait.

  void submit(std::vector<ClaimedTask> tasks);
  [[nodiscard]] std::vector<ClaimedTask> take_expired();
  [[nodiscard]] std::vector<ClaimedTask> take_back();
  [[nodiscard]] std::vector<ClaimedTask> take_back_older_than(milliseconds age, TimePoint now);
  /// Begins no more.
  void close() noexcept { closed_ = true; }

  // For the thread of an idle slot, and then of the slot's run.

  /// The lease is held until `held_until`. Nothing begins from then on, even if the lease is renewed later.
  [[nodiscard]] Next next(Slot& slot, TimePoint now, TimePoint held_until);
  /// The handler has ended after `run_time`. False if it was given up: the thread has nothing more to do here.
  [[nodiscard]] bool on_ended(Slot& slot, std::chrono::nanoseconds run_time);
  void on_reported(Slot& slot);
  /// A mistake of dogged ends the thread of any slot. The attempt no longer counts as busy, so that nothing waits
  /// for it. The attempt is still held: its handler has begun, and the task must not be given back. False if the
  /// handler was given up: the slot is its thread's alone.
  [[nodiscard]] bool on_broken(Slot& slot);

  // Stopping handlers.

  [[nodiscard]] std::vector<Stop> stop_all(StopReason reason, TimePoint now);
  /// If the attempt waits for a thread, its handler never begins.
  [[nodiscard]] std::optional<Stop> cancel(TaskId id, int attempt, TimePoint now);
  [[nodiscard]] Due due(TimePoint now);
  /// The slots in which a handler runs.
  [[nodiscard]] std::vector<std::size_t> with_handler() const;
  /// The slot is its thread's alone from now on. Gives the attempt, and why its handler was to stop.
  [[nodiscard]] std::pair<const Run&, StopReason> give_up(std::size_t index);

  // How it stands.

  /// How many more tasks to claim now: 0, or a batch that is worth a statement.
  [[nodiscard]] std::size_t demand() const;
  [[nodiscard]] Load load() const noexcept;
  [[nodiscard]] bool has_waiting() const noexcept { return !waiting_.empty(); }
  /// Whether an attempt runs or is being reported.
  [[nodiscard]] bool busy_any() const noexcept { return busy_ > 0; }
  [[nodiscard]] bool holds_any() const noexcept { return busy_any() || has_waiting() || !expired_.empty(); }
  /// All attempts that wait, run or are being reported.
  [[nodiscard]] std::vector<Attempt> held() const;
  [[nodiscard]] static SlotState state(const Slot& slot) noexcept { return slot.state_; }

 private:
  void note_run_time(std::chrono::nanoseconds run_time);
  [[nodiscard]] static bool has_handler(const Slot& slot) noexcept;
  [[nodiscard]] Stop stop(std::size_t index, StopReason reason, TimePoint now);
  [[nodiscard]] TimePoint given_up_at(const Slot& slot) const;

  std::size_t concurrency_;
  milliseconds stop_grace_;
  std::deque<ClaimedTask> waiting_ = {};
  std::vector<ClaimedTask> expired_ = {};  // before they could begin
  // There may be more slots than attempts at once, and fewer if the system refuses threads.
  std::vector<std::shared_ptr<Slot>> slots_ = {};
  std::size_t busy_ = 0;                          // slots in running, stopping and reporting
  std::size_t reporting_ = 0;                     // of the busy ones
  std::chrono::nanoseconds average_run_time_{0};  // exponentially weighted: 1/16 for the latest; 0: nothing has run
  bool closed_ = false;
};

[[nodiscard]] std::string_view to_text(Pool::SlotState state) noexcept;
[[nodiscard]] std::string_view to_text(Pool::Next next) noexcept;
std::ostream& operator<<(std::ostream& out, Pool::SlotState state);
std::ostream& operator<<(std::ostream& out, Pool::Next next);
std::ostream& operator<<(std::ostream& out, const Pool::Stop& stop);
std::ostream& operator<<(std::ostream& out, const Pool::Due& due);
std::ostream& operator<<(std::ostream& out, const Pool::Load& load);

}  // namespace dogged::runtime
