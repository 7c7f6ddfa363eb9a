// The threads of one queue. The threads take claimed tasks in order, run them, and hand on the reports.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <spdlog/logger.h>

#include "base/tally.hpp"
#include "lease/shared_lease.hpp"
#include "run/attempt_settings.hpp"
#include "run/core/pool.hpp"
#include "tasks/core/claimed_task.hpp"

namespace dogged::runtime {

/// Thread-safe. The destructor waits for running handlers, unless they were given up.
///
/// A handler that has not ended when the stop grace is over is given up. The attempt is reported without the handler.
/// The handler's thread is abandoned: the executor detaches the thread, replaces it, and counts it (Tally) until it
/// ends.
///
/// No task begins when the time of the lease is over. A process that was frozen notices that by its own clock, before
/// another process can tell it.
class Executor {
 public:
  struct Settings {
    std::string queue;
    std::size_t concurrency = 1;  ///< attempts at once, until set_concurrency(); at least 1
    milliseconds stop_grace{5'000};
    AttemptSettings attempts = {};
  };

  /// Called on the executor's threads; must not throw. An abandoned thread tells the listener nothing more, so the
  /// listener may be destroyed before such a thread ends.
  class Listener {
   public:
    /// How a task of submit() ended, unless the caller has taken it back or given it up.
    virtual void on_report(Report&& report) = 0;
    /// enforce_deadlines() must be called at `deadline`.
    virtual void on_deadline(SteadyClock::time_point deadline) = 0;
    /// take_expired() has something to give.
    virtual void on_expired() = 0;
    /// A thread has met a mistake of dogged and has ended. The attempt of that thread is never reported, and the worker
    /// must end.
    virtual void on_defect(std::exception_ptr error) = 0;

   protected:
    ~Listener() = default;
  };

  /// An abandoned thread uses the objects that are shared here even after the executor was destroyed.
  struct Surroundings {
    std::shared_ptr<spdlog::logger> log;
    std::shared_ptr<const SharedLease> lease;
    std::shared_ptr<const Definitions> definitions;
    std::shared_ptr<Tally> tally;
    Listener& listener;
  };

  Executor(Settings settings, Surroundings surroundings);
  ~Executor();

  [[nodiscard]] const std::string& queue() const noexcept { return settings_.queue; }
  [[nodiscard]] std::size_t concurrency() const;

  /// Runs so many attempts at once from now on, at least 1. For more, the executor adds threads, as many as the system
  /// allows. For fewer, running attempts may finish, and the spare threads wait.
  void set_concurrency(std::size_t concurrency);

  /// Tries again to start threads that the system refused.
  void start_missing_threads();

  void submit(std::vector<ClaimedTask> tasks);

  /// How many more tasks to claim now: 0, or a batch that is worth a statement.
  [[nodiscard]] std::size_t demand() const;

  using Load = Pool::Load;
  [[nodiscard]] Load load() const;

  /// Whether a task waits for a thread.
  [[nodiscard]] bool has_waiting() const;

  /// Whether a task waits, runs or is being reported.
  [[nodiscard]] bool holds_any() const;

  /// All attempts that wait, run or are being reported.
  [[nodiscard]] std::vector<Attempt> held() const;

  /// Takes the tasks that expired before they could begin out of the executor.
  [[nodiscard]] std::vector<ClaimedTask> take_expired();

  /// Takes the tasks that wait for a thread, and the expired tasks, out of the executor.
  [[nodiscard]] std::vector<ClaimedTask> take_back();

  /// As take_back() if a task has waited for longer than `age`. This worker is busier than foreseen, and other workers
  /// may have a free thread. Otherwise nothing.
  [[nodiscard]] std::vector<ClaimedTask> take_back_older_than(milliseconds age);

  /// Waits until no task waits, runs or is being reported, or until `until`. True if there is none.
  bool wait_idle(SteadyClock::time_point until);

  /// Sets the stop tokens of running attempts, and begins no more.
  void stop_all(StopReason reason);

  /// Sets the stop token of one attempt. If the attempt waits for a thread, its handler never begins.
  void cancel(TaskId id, int attempt);

  /// Sets the stop tokens of attempts whose timeout is over. Gives up attempts that were stopped for a timeout or a
  /// cancellation and still run when the stop grace is over. Gives when it must be called again.
  SteadyClock::time_point enforce_deadlines(SteadyClock::time_point now);

  /// Gives up what still runs, and gives its reports. Every other report was handed on by then.
  [[nodiscard]] std::vector<Report> give_up_all();

 private:
  struct Runner;
  struct State;  // shared with the threads, which may outlive the executor

  void end_threads();

  const Settings settings_;
  const std::shared_ptr<State> state_;
};

}  // namespace dogged::runtime
