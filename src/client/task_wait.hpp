// Client::wait: a connection that waits for the end of tasks.
//
// The connection listens, and announces to the workers which task it waits for (announce_wait.sql). The workers notify
// when that task ends; a task without a waiting client costs them nothing. The client also polls, at growing intervals.
// Only a poll finds a task that was cancelled or has expired, or that ended on a worker that does not listen. Behind a
// transaction pooler only a poll finds any end.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include <spdlog/spdlog.h>

#include <dogged/outcome.hpp>
#include <dogged/policy.hpp>

#include "db/connection.hpp"

namespace dogged {

/// For one thread at a time.
class TaskWait {
 public:
  struct Settings {
    db::Settings database;
    RetryPolicy retry;  ///< of a poll that fails for a passing reason
    milliseconds retry_for;
    std::shared_ptr<spdlog::logger> log;  ///< gets a line for each of these retries
  };
  using OnProgress = std::function<void(const TaskProgress&)>;

  /// Connects at the first wait.
  explicit TaskWait(Settings settings) : settings_(std::move(settings)) {}

  /// As Client::wait. `on_progress` may be empty.
  [[nodiscard]] TaskOutcome wait(TaskId id, milliseconds timeout, const OnProgress& on_progress);

  /// Stops listening, so that the connection can be kept without notifications piling up. False: the connection is of
  /// no further use.
  [[nodiscard]] bool rest() noexcept;

 private:
  using SteadyClock = std::chrono::steady_clock;

  struct Seen {
    TaskOutcome task;
    std::optional<TaskProgress> progress = {};
  };
  [[nodiscard]] Seen look(TaskId id, SteadyClock::time_point until, bool with_progress);
  [[nodiscard]] Seen look_once(TaskId id, bool with_progress);
  void wait_for_news(TaskId id, SteadyClock::time_point until);
  void connect();

  const Settings settings_;
  std::optional<db::Connection> connection_;
  bool listens_ = false;
  SteadyClock::time_point announce_at_;
};

}  // namespace dogged
