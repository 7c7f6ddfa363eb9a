// A worker registers itself, runs its services until it is told to stop, and ends in order.
//
//   claimer     -> executors (a pool of threads for each queue) -> completer
//   lease keeper   renews the lease; hears of cancellations, of new workers and of clients that wait for a result
//   upkeep         ends lapsed leases, rescues the tasks held under them, fires the ticks of schedules
//   chores         makes partitions and drops those that are no longer kept, with a connection for that time only
//   watchdog       deadlines, the lapse of the lease, connections that do not answer; without a connection of its own
//
// Executors have a thread for each task that runs at once. Their handlers share one connection (HandlerSession). Each
// of the others has one thread, and all but the watchdog have a connection.
//
// A run of the services under one lease is an incarnation. A worker that could not renew its lease in time stops its
// handlers. The worker writes nothing until the database has said whether the lease was ended. Then the worker goes on
// as a new incarnation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <spdlog/logger.h>

#include "base/wake_fd.hpp"
#include "db/clock_offset.hpp"
#include "lease/shared_lease.hpp"
#include "runtime/core/incarnation.hpp"
#include "runtime/settings.hpp"
#include "runtime/shutting_down.hpp"
#include "runtime/worker_row.hpp"

namespace dogged::runtime {

class StatusBoard;

class Worker {
 public:
  /// Connects, checks the schema, registers the worker and publishes the task definitions. Throws InvalidInput
  /// (require_sound), and what register_first throws. The worker notes on `board`, if there is one, how it stands.
  Worker(WorkerSettings settings, Definitions definitions, const std::shared_ptr<spdlog::logger>& log, WakeFd stop,
         std::shared_ptr<StatusBoard> board = nullptr);
  ~Worker();

  /// The lease under which the worker holds tasks now: workers.id. Nothing if the worker was told to stop before it
  /// could register.
  [[nodiscard]] std::optional<std::int64_t> id() const;

  /// Threads of handlers that were given up and still run.
  [[nodiscard]] std::size_t abandoned_threads() const noexcept;

  /// Works until `stop` is readable, then shuts down. The worker claims no more, gives back tasks that have not
  /// started, and lets running attempts finish within the grace period. Then it sets their stop tokens, and records as
  /// interrupted what still runs after the stop grace. Calls `on_ready` once, when the services run. Throws Defect,
  /// after a shutdown without a grace period, if a service met a mistake of dogged.
  ShutdownResult run(const std::function<void()>& on_ready = [] {});

  /// From now on a shutdown gives running attempts `time` in all, the stop grace at its end included. Before `stop` is
  /// readable. Thread-safe.
  void limit_shutdown(milliseconds time) noexcept { shutdown_limit_ = time; }

 private:
  void hold(const Registration& registered);
  [[nodiscard]] bool register_next();
  Incarnation::End serve(ShutdownResult& result, const std::function<void()>& on_ready);
  void wait_for_end(Incarnation& incarnation);
  [[nodiscard]] Shutdown shutdown_of(const Incarnation& incarnation) const;

  const std::shared_ptr<Common> common_;
  std::shared_ptr<SharedLease>
      lease_;                     // of this incarnation; null: the worker was told to stop before it could register
  db::ClockOffset clock_offset_;  // measured when the worker registered
  bool is_again_ = false;         // an earlier incarnation of this process has run
  std::atomic<milliseconds> shutdown_limit_{milliseconds::max()};
};

}  // namespace dogged::runtime
