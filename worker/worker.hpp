// A worker: registers itself, runs its services until it is told to stop, and leaves in order.
//
//   claimer  -> executors (a pool of threads for each queue) -> completer
//   listener -> claimer
//
// Claimer, completer and listener have a connection and a thread each, however many tasks run at once.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <spdlog/logger.h>

#include "attempt.hpp"
#include "claimed_task.hpp"
#include "db/connection.hpp"
#include "session.hpp"
#include "wake_fd.hpp"

namespace dogged::runtime {

struct WorkerSettings {
  db::Settings database{};
  std::string name = {};                   ///< shown by `dogged workers`
  std::map<std::string, int> queues = {};  ///< concurrency by queue name, 1 to 1000; empty: every queue of its tasks
  int default_concurrency = 10;            ///< of each queue where `queues` is empty
  milliseconds grace{30'000};              ///< after a stop: how long what runs may go on
  milliseconds after_stop_token{5'000};    ///< then its stop tokens are set, and it may go on this long
  milliseconds statement_timeout{30'000};  ///< for a claim or a completion that waits, say, for a locked table
  milliseconds poll_interval{5'000};       ///< how long the claimer waits at most without a notification
};

/// How a worker ended.
struct ShutdownResult {
  std::size_t given_back = 0;   ///< claimed, not started: no attempt spent
  std::size_t interrupted = 0;  ///< still ran at the end: no retry spent, run again elsewhere
  std::size_t left_behind = 0;  ///< could not be given back or written: `running` until the task is rescued
};

class Worker {
 public:
  /// Connects, checks the schema, publishes the task definitions and registers. Throws ConnectionError, DatabaseError,
  /// SchemaMismatch, InvalidInput.
  Worker(WorkerSettings settings, Definitions definitions, std::shared_ptr<spdlog::logger> log);
  ~Worker();

  /// The lease under which it holds tasks: workers.id.
  [[nodiscard]] std::int64_t id() const noexcept { return id_; }

  /// Works until `stop` is readable, then shuts down: claims no more, gives back what has not started, lets what runs
  /// finish within the grace period, sets stop tokens, and records as interrupted what still runs after that. If
  /// anything was interrupted its threads still run: the process should end without waiting for them.
  ShutdownResult run(const WakeFd& stop);

 private:
  struct Services;

  [[nodiscard]] Session session(const std::string& service) const;
  void register_itself(db::Connection& connection);
  void sign_off() noexcept;
  void wake_others() noexcept;
  [[nodiscard]] ShutdownResult shut_down(Services& services);
  void interrupt_what_runs(Services& services, ShutdownResult& result);
  [[nodiscard]] std::string queues_text() const;

  WorkerSettings settings_;
  Definitions definitions_;
  std::shared_ptr<spdlog::logger> log_;
  AttemptLimits limits_;
  std::int64_t id_ = 0;
};

}  // namespace dogged::runtime
