// A worker: registers itself, runs its services until it is told to stop, and leaves in order.
//
//   claimer     -> executors (a pool of threads for each queue) -> completer
//   lease keeper   renews the lease, and hears of cancellations, of new workers and of who waits for a result
//   upkeep         ends the leases of the dead, rescues their tasks, makes partitions
//   watchdog       deadlines, the lapse of the lease, connections that do not answer; without a connection of its own
//
// Claimer, completer, lease keeper and upkeep have a connection and a thread each, however many tasks run at once.
//
// A run of the services under one lease is an incarnation. A worker that could not renew its lease in time stops its
// handlers, writes nothing until the database has said whether the lease was ended, and goes on as a new incarnation.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spdlog/logger.h>

#include "attempt.hpp"
#include "claimed_task.hpp"
#include "db/clock_offset.hpp"
#include "db/connection.hpp"
#include "lease.hpp"
#include "session.hpp"
#include "tally.hpp"
#include "wake_fd.hpp"
#include "worker_row.hpp"

namespace dogged::runtime {

struct WorkerSettings {
  db::Settings database{};
  std::string name = {};                   ///< shown by `dogged workers`; no two workers that live share one
  std::map<std::string, int> queues = {};  ///< concurrency by queue name, 1 to 1000; empty: every queue of its tasks
  int default_concurrency = 10;            ///< of each queue where `queues` is empty
  milliseconds heartbeat{5'000};           ///< how often the lease is renewed
  milliseconds lease{30'000};              ///< how long a renewal lasts; at least three heartbeats
  milliseconds grace{30'000};              ///< after a stop: how long what runs may go on
  milliseconds stop_grace{5'000};          ///< after its stop token was set: how long a handler may go on
  int max_abandoned_threads = 10;          ///< a worker that carries more restarts
  milliseconds poll_interval{10'000};      ///< how long the claimer waits at most without a notification
  bool poll_only = false;                  ///< no LISTEN and no session state: for a transaction pooler in between
  /// The lease of this process before it started itself anew: it ends, and a database that is away is waited for.
  std::optional<std::int64_t> previous_lease = {};
  db::HostClock clock = std::chrono::system_clock::now;  ///< compared with the server's, for `dogged doctor`
};

/// How a worker ended.
struct ShutdownResult {
  std::size_t given_back = 0;    ///< claimed, not started: no attempt spent
  std::size_t interrupted = 0;   ///< still ran at the end: no retry spent, run again elsewhere
  std::size_t left_behind = 0;   ///< could not be given back or written: `running` until the task is rescued
  bool carries_threads = false;  ///< handlers that were given up still run: the process should end without destructors
  bool restart = false;          ///< because it carried too many of them: the process should start anew
};

class Worker {
 public:
  /// Connects, checks the schema, registers and publishes the task definitions. Throws ConnectionError, DatabaseError,
  /// SchemaMismatch, InvalidInput (a name that is in use, a lease that is too short); where there is a previous lease
  /// not the first two, but tries until it works or `stop` is readable. `stop` must outlive it.
  Worker(WorkerSettings settings, Definitions definitions, std::shared_ptr<spdlog::logger> log, const WakeFd& stop);
  ~Worker();

  /// The lease under which it holds tasks now: workers.id. Zero if it was told to stop before it had one.
  [[nodiscard]] std::int64_t id() const;

  /// Works until `stop` is readable, then shuts down: claims no more, gives back what has not started, lets what runs
  /// finish within the grace period, sets stop tokens, and records as interrupted what still runs after the stop grace.
  ShutdownResult run();

 private:
  struct Services;
  enum class Event { stop, too_many_abandoned, lease_in_doubt };

  [[nodiscard]] Session session(const std::string& service,
                                milliseconds longest_backoff = std::chrono::seconds{5}) const;
  void begin(db::Connection& connection, std::optional<std::int64_t>& previous_lease);
  [[nodiscard]] bool register_again();
  [[nodiscard]] Event wait_for_event();
  void wait_until_decided();
  [[nodiscard]] ShutdownResult shut_down(Services& services, milliseconds grace);
  [[nodiscard]] bool interrupt_what_runs(Services& services, ShutdownResult& result, SteadyClock::time_point until);
  bool sign_off() noexcept;
  void wake_others() noexcept;
  [[nodiscard]] bool carries_too_many() const noexcept;
  [[nodiscard]] std::string queues_text() const;
  [[nodiscard]] WorkerRow row() const { return {settings_.name, settings_.queues, settings_.lease, settings_.clock}; }

  WorkerSettings settings_;
  std::shared_ptr<const Definitions> definitions_;
  std::shared_ptr<spdlog::logger> log_;
  const WakeFd& stop_;
  WakeFd attention_;  // something happened to the lease or to the threads
  std::shared_ptr<Tally> tally_ = std::make_shared<Tally>();
  AttemptLimits limits_;
  std::shared_ptr<Lease> lease_;  // of this incarnation
  db::ClockOffset clock_offset_;  // as it registered
  bool is_again_ = false;         // it is not the first one of this process
};

/// Throws InvalidInput that names the setting, the value and the rule.
void require_sound(const WorkerSettings& settings);

}  // namespace dogged::runtime
