// The threads of one queue: they take claimed tasks in order, run them, and hand their reports on.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <spdlog/logger.h>

#include "attempt.hpp"
#include "claimed_task.hpp"

namespace dogged::runtime {

/// Thread-safe. Its destructor waits for what runs, unless that was abandoned.
class Executor {
 public:
  struct Settings {
    std::string queue;
    std::size_t concurrency = 1;  ///< threads, hence attempts at once; at least 1
    AttemptLimits limits;
  };

  /// `on_report` is called by the executor's threads, one report for each task given to submit, except those that
  /// take_back and abandon return; it must not throw.
  Executor(Settings settings, std::shared_ptr<spdlog::logger> log, std::function<void(Report)> on_report);
  ~Executor();

  [[nodiscard]] const std::string& queue() const noexcept { return settings_.queue; }
  [[nodiscard]] std::size_t concurrency() const noexcept { return settings_.concurrency; }

  void submit(std::vector<ClaimedTask> tasks);

  /// How many more tasks should be claimed now: 0, or a batch that is worth a statement.
  [[nodiscard]] std::size_t demand() const;

  /// Whether a task waits for a thread.
  [[nodiscard]] bool has_waiting() const;

  /// Ids of all tasks that wait or run here.
  [[nodiscard]] std::vector<TaskId> held() const;

  /// Tasks that wait for a thread; they leave the executor.
  [[nodiscard]] std::vector<ClaimedTask> take_back();

  /// The same if one of them has waited for longer than `age`, so that others may run what this worker, busier than it
  /// foresaw, cannot; else nothing.
  [[nodiscard]] std::vector<ClaimedTask> take_back_older_than(milliseconds age);

  /// Waits until nothing runs or the time has come; true if nothing runs.
  bool wait_idle(SteadyClock::time_point until);

  /// Sets the stop tokens of what runs.
  void request_stop();

  /// Gives up on what still runs: its reports are returned (interrupted), later ones of its handlers are dropped, and
  /// its threads are detached. Every other report has been handed on when this returns. The process must end soon.
  [[nodiscard]] std::vector<Report> abandon();

 private:
  void end_threads();

  struct State;  // shared with the threads, which may outlive an abandoned executor

  static void run_thread(const std::shared_ptr<State>& state, std::size_t slot);

  Settings settings_;
  std::shared_ptr<State> state_;
  std::vector<std::thread> threads_;
};

}  // namespace dogged::runtime
