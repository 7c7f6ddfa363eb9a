// Client::wait: a connection that waits for the end of tasks.
//
// It listens, and announces to the workers which task it waits for (announce_wait.sql). They notify when that task
// ends. A task that no client waits for costs them nothing. Other ends are found by asking, less and less often: a task
// that was cancelled or has expired, a worker that does not listen, and everything behind a transaction pooler.
#pragma once

#include <chrono>
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
    RetryPolicy retry;  ///< of a look that fails for a reason that passes
    milliseconds retry_for;
    std::shared_ptr<spdlog::logger> log;  ///< told of these retries
  };
  /// Connects when it is needed.
  explicit TaskWait(Settings settings) : settings_(std::move(settings)) {}

  /// As Client::wait.
  [[nodiscard]] TaskOutcome wait(TaskId id, milliseconds timeout);

  /// Listens no more, so that it can be kept: what arrived would pile up. False: the connection is of no use any more.
  [[nodiscard]] bool rest() noexcept;

 private:
  using SteadyClock = std::chrono::steady_clock;

  [[nodiscard]] TaskOutcome look(TaskId id, SteadyClock::time_point until);
  [[nodiscard]] TaskOutcome look_once(TaskId id);
  void wait_for_news(TaskId id, SteadyClock::time_point until);
  void connect();

  const Settings settings_;
  std::optional<db::Connection> connection_;
  bool listens_ = false;
  SteadyClock::time_point announce_at_;
};

}  // namespace dogged
