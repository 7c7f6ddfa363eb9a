// The threads of one queue: they take claimed tasks in order, run them, and hand their reports on.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <spdlog/logger.h>

#include "attempt.hpp"
#include "claimed_task.hpp"
#include "lease.hpp"
#include "stop_signal.hpp"
#include "tally.hpp"

namespace dogged::runtime {

/// Thread-safe. Its destructor waits for what runs, unless that was given up.
///
/// A handler that does not end after its stop token was set is given up when the stop grace is over: its attempt is
/// reported without it, and its thread is abandoned, which means that it is detached, counted (Tally) until it ends,
/// and replaced by a new one.
///
/// Nothing begins when the time of the lease is over: a process that was frozen finds that out by its clock before
/// anybody can tell it.
class Executor {
 public:
  struct Settings {
    std::string queue;
    std::size_t concurrency = 1;  ///< attempts at once, until set_concurrency; at least 1
    milliseconds stop_grace{5'000};
    AttemptSettings attempts = {};
  };

  /// `on_report` is told how each task given to submit ended, except those that are taken back or given up by the
  /// caller; `on_deadline` of each deadline that enforce() must be called at; `on_expired` when there is something for
  /// take_expired(). They are called by the executor's threads and must not throw. What is given up uses what is shared
  /// here even after this has been destroyed.
  struct Surroundings {
    std::shared_ptr<spdlog::logger> log;
    std::shared_ptr<const Lease> lease;
    std::shared_ptr<const Definitions> definitions;
    std::shared_ptr<Tally> tally;
    std::function<void(Report)> on_report;
    std::function<void(SteadyClock::time_point)> on_deadline;
    std::function<void()> on_expired;
  };

  Executor(Settings settings, Surroundings surroundings);
  ~Executor();

  [[nodiscard]] const std::string& queue() const noexcept { return settings_.queue; }
  [[nodiscard]] std::size_t concurrency() const;

  /// From now on so many attempts at once, at least 1. More: threads are added, as many as the system lets it. Fewer:
  /// what runs beyond it may finish, and the threads wait for the time when there are more again.
  void set_concurrency(std::size_t concurrency);

  /// Tries again to start those that the system refused before, if there are any.
  void start_missing_threads();

  void submit(std::vector<ClaimedTask> tasks);

  /// How many more tasks should be claimed now: 0, or a batch that is worth a statement.
  [[nodiscard]] std::size_t demand() const;

  /// Whether a task waits for a thread.
  [[nodiscard]] bool has_waiting() const;

  /// Whether a task waits or runs here.
  [[nodiscard]] bool holds_any() const;

  /// All attempts that wait or run here.
  [[nodiscard]] std::vector<Attempt> held() const;

  /// Tasks whose time was over before they could begin; they leave the executor.
  [[nodiscard]] std::vector<ClaimedTask> take_expired();

  /// Tasks that wait for a thread, or whose time was over; they leave the executor.
  [[nodiscard]] std::vector<ClaimedTask> take_back();

  /// The same if one of them has waited for longer than `age`, so that others may run what this worker, busier than it
  /// foresaw, cannot; else nothing.
  [[nodiscard]] std::vector<ClaimedTask> take_back_older_than(milliseconds age);

  /// Waits until nothing runs or the time has come; true if nothing runs.
  bool wait_idle(SteadyClock::time_point until);

  /// Sets the stop tokens of what runs, and begins nothing more.
  void stop_all(StopReason reason);

  /// Sets the stop token of one attempt, or, if it waits for a thread, sees to it that its handler never begins.
  void cancel(TaskId id, int attempt);

  /// Sets the stop tokens of attempts whose timeout is over, and gives up those that were stopped because of a timeout
  /// or a cancellation and still run when the stop grace is over as well. When it wants to be called again.
  SteadyClock::time_point enforce_deadlines(SteadyClock::time_point now);

  /// Gives up what still runs, and returns its reports. Every other report has been handed on when this returns.
  [[nodiscard]] std::vector<Report> give_up_all();

 private:
  struct Slot;
  struct State;  // shared with the threads, which may outlive the executor

  void end_threads();
  void start_threads();
  void replace(std::size_t index);
  [[nodiscard]] std::thread new_thread(const std::shared_ptr<Slot>& slot) const;

  static void run_thread(const std::shared_ptr<State>& state, const std::shared_ptr<Slot>& slot);

  Settings settings_;
  std::shared_ptr<State> state_;
};

}  // namespace dogged::runtime
