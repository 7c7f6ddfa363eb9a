// A worker registers itself, runs its services until it is told to stop, and ends in order.
//
//   claimer     -> executors (a pool of threads for each queue) -> completer
//   lease keeper   renews the lease; hears of cancellations, of new workers and of clients that wait for a result
//   upkeep         ends lapsed leases, rescues the tasks held under them, fires the ticks of schedules
//   chores         makes partitions and drops those that are no longer kept, with a connection for that time only
//   watchdog       deadlines, the lapse of the lease, connections that do not answer; without a connection of its own
//
// Each of them has a thread, and all but the watchdog have a connection, however many tasks run at once.
//
// A run of the services under one lease is an incarnation. A worker that could not renew its lease in time stops its
// handlers. The worker writes nothing until the database has said whether the lease was ended. Then the worker goes on
// as a new incarnation.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spdlog/logger.h>

#include "db/clock_offset.hpp"
#include "db/settings.hpp"
#include "lease/lease.hpp"
#include "run/attempt_settings.hpp"
#include "runtime/claimed_task.hpp"
#include "runtime/first_defect.hpp"
#include "runtime/incarnation.hpp"
#include "runtime/part.hpp"
#include "runtime/registering.hpp"
#include "runtime/shutdown.hpp"
#include "runtime/status.hpp"
#include "runtime/tally.hpp"
#include "runtime/wake_fd.hpp"
#include "runtime/worker_row.hpp"

namespace dogged::runtime {

class DeclaredSchedules;
class Session;

struct WorkerSettings {
  db::Settings database{};
  std::string name = {};                   ///< shown by `dogged workers`; no two live workers share a name
  std::map<std::string, int> queues = {};  ///< concurrency by queue name, 1 to 1000; empty: every queue of its tasks
  int default_concurrency = 10;            ///< of each queue if `queues` is empty
  bool create_queues = false;              ///< creates those of `queues` that neither exist nor belong to a task
  milliseconds heartbeat{5'000};           ///< how often the lease is renewed
  milliseconds lease{30'000};              ///< how long a renewal lasts; at least three heartbeats
  milliseconds grace{30'000};              ///< after a stop: how long running attempts may go on
  milliseconds stop_grace{5'000};          ///< how long a handler may go on after its stop token was set
  int max_abandoned_threads = 10;          ///< a worker with more of them restarts
  milliseconds poll_interval{10'000};      ///< how long the claimer waits at most without a notification
  bool log_retries = false;                ///< logs retries, and successes after retries, at info instead of debug
  bool poll_only = false;                  ///< no LISTEN and no session state, for a transaction pooler in between
  /// The lease that this process had before it restarted itself. The worker ends it, and waits for a database that is
  /// away.
  std::optional<std::int64_t> previous_lease = {};
  db::HostClock clock = std::chrono::system_clock::now;  ///< compared with the server's, for `dogged doctor`
  std::shared_ptr<Tracer> tracer = {};                   ///< null: none
  std::string schedules = {};  ///< the schedules that its program declares, as declarations_of() gives them
};

/// How a run of a worker ended.
struct ShutdownResult {
  std::size_t given_back = 0;   ///< tasks that were claimed and not started; no attempt was spent
  std::size_t interrupted = 0;  ///< attempts that still ran at the end; they run again, and no retry was spent
  std::size_t left_behind = 0;  ///< tasks that could not be given back or written; `running` until they are rescued
  std::size_t abandoned_threads = 0;  ///< threads of handlers that were given up and still run
  bool has_too_many = false;          ///< the run ended because of too many abandoned threads
};

class Worker {
 public:
  /// Connects, checks the schema, registers the worker and publishes the task definitions. Throws ConnectionError,
  /// DatabaseError, SchemaMismatch, or InvalidInput. The last is for a name in use, too short a lease, a queue that
  /// does not exist, or a schedule that the database refuses. With a previous lease the constructor does not throw the
  /// first two, but tries again until it succeeds or `stop` is readable. The worker notes on `board`, if there is one,
  /// how it stands.
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
  struct Services;
  [[nodiscard]] Patience patience(Part part) const;
  [[nodiscard]] std::shared_ptr<Session> session(Part part) const;
  [[nodiscard]] bool try_to_register(Registering::Occasion occasion, Part part,
                                     const std::function<void(db::Connection&, Registering&)>& one_try);
  void begin(db::Connection& connection, std::optional<std::int64_t>& previous_lease, Registering& registering);
  void hold(const Registration& registered);
  void declare(db::Connection& connection, std::int64_t worker_id);
  [[nodiscard]] bool register_again();
  Incarnation::End serve(ShutdownResult& result, const std::function<void()>& on_ready);
  void wait_for_end(Incarnation& incarnation);
  void note_defect(std::string_view part, std::exception_ptr error);
  void note_if_defect(std::string_view part) noexcept;
  void throw_if_defect(std::string_view part);
  [[nodiscard]] ShutdownResult shut_down(Services& services, Shutdown shutdown);
  [[nodiscard]] bool carry_out(const Shutdown::Action& action, Services& services, ShutdownResult& result,
                               std::vector<Report>& given_up);
  bool give_back(Services& services, ShutdownResult& result, TimePoint until);
  bool let_finish(Services& services, TimePoint until);
  void record_interrupted(Services& services, ShutdownResult& result, std::vector<Report> interrupted);
  bool finish_reports(Services& services, ShutdownResult& result, TimePoint until);
  bool sign_off() noexcept;
  bool wake_others() noexcept;
  [[nodiscard]] bool carries_too_many() const noexcept;
  [[nodiscard]] const std::shared_ptr<Tally>& tally() const noexcept { return board_->tally(); }
  [[nodiscard]] std::string queues_text() const;
  [[nodiscard]] WorkerRow row() const { return {settings_.name, settings_.queues, settings_.lease, settings_.clock}; }

  WorkerSettings settings_;
  std::shared_ptr<const Definitions> definitions_;
  std::shared_ptr<spdlog::logger> log_;
  const std::shared_ptr<DeclaredSchedules> schedules_;  // of one thread at a time: upkeep uses them while services run
  const WakeFd stop_;
  WakeFd attention_;  // something happened to the lease, to the threads or to a service
  const std::shared_ptr<StatusBoard> board_;
  AttemptSettings attempts_;      // without the worker's id, which each incarnation has anew
  std::shared_ptr<Lease> lease_;  // of this incarnation; null: the worker was told to stop before it could register
  db::ClockOffset clock_offset_;  // measured when the worker registered
  bool is_again_ = false;         // an earlier incarnation of this process has run
  std::atomic<milliseconds> shutdown_limit_{milliseconds::max()};
  FirstDefect defect_;
};

/// Throws InvalidInput that names the setting, the value and the rule.
void require_sound(const WorkerSettings& settings);

}  // namespace dogged::runtime
