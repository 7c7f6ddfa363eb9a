// The worker's side: declares which function handles a task, and runs it.
//
//   Receipt deliver(dogged::Context& ctx, const Delivery& delivery);
//   TASK_REGISTER(deliver, deliver_webhook,
//                 .queue = "webhooks",
//                 .retry = dogged::Exponential{.base = 30s, .max_retries = 5, .max_delay = 1h},
//                 .auto_retry_for = {"HTTP_429", "HTTP_503", "CONNECT_TIMEOUT"},
//                 .timeout = 10s);
//   int main(int argc, char** argv) { return dogged::worker_main(argc, argv); }
//
// Build it with `dogged_add_worker(name SOURCES …)`: a linker drops registrations that stand in a static library.
//
// A program with a main loop of its own, such as a server, runs a dogged::Worker inside of it:
//
//   dogged::Worker worker{{.database_url = url, .queues = {{"webhooks", 20}}}};
//   worker.start();
//   serve_requests();
//   worker.stop(30s);
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include <dogged/custom_policy.hpp>
#include <dogged/detail/registration.hpp>
#include <dogged/exception_mapper.hpp>
#include <dogged/metrics.hpp>
#include <dogged/middleware.hpp>
#include <dogged/resolved_retry_config.hpp>
#include <dogged/schedule.hpp>
#include <dogged/steps.hpp>
#include <dogged/task.hpp>
#include <dogged/tracer.hpp>

namespace dogged {

/// Tasks, their handlers and schedules: those of TASK_REGISTER and TASK_SCHEDULE, or a program's own list.
///
///   dogged::Tasks tasks;
///   tasks.add([&mailer](dogged::Context&, const Mail& mail) { mailer.send(mail); }, send_mail, {.queue = "mail"});
///   dogged::Worker worker{options, tasks};
///
/// A value: copies are independent. Not thread-safe while add() runs.
class Tasks {
 public:
  /// The tasks and schedules that TASK_REGISTER and TASK_SCHEDULE have declared in this program.
  [[nodiscard]] static Tasks registered();

  /// As TASK_REGISTER, with a handler that may have state. Several threads call the handler at once. References in the
  /// handler must stay valid as long as the worker and the threads that the worker gave up
  /// (WorkerEnd::abandoned_threads). Texts in `options` must outlive the construction of the worker, which throws
  /// InvalidInput for options that TASK_REGISTER would not compile.
  template <class Handler, class Args, class Result>
  Tasks& add(Handler handler, const Task<Args, Result>& task, const TaskOptions& options = {}) {
    all_.push_back({std::string{task.name()}, options, detail::checked_handler(std::move(handler), task, options),
                    task.queue(), task.version()});
    return *this;
  }

  /// As TASK_SCHEDULE. Texts must outlive the construction of the worker, which throws InvalidInput for options that
  /// TASK_SCHEDULE would not compile.
  Tasks& schedule(std::string_view name, std::string_view spec, const ScheduleOptions& options = {}) {
    schedules_.push_back({name, spec, options});
    return *this;
  }

  [[nodiscard]] const std::vector<detail::RegisteredTask>& all() const noexcept { return all_; }
  [[nodiscard]] const std::vector<detail::DeclaredSchedule>& schedules() const noexcept { return schedules_; }

 private:
  std::vector<detail::RegisteredTask> all_;
  std::vector<detail::DeclaredSchedule> schedules_;
};

/// How a worker ended.
struct WorkerEnd {
  enum class Reason {
    stopped,                     ///< it was asked to stop
    too_many_abandoned_threads,  ///< more handlers than WorkerOptions::max_abandoned_threads ignore their stop tokens
    failed,                      ///< `error` says why
  };
  Reason reason = Reason::stopped;
  /// Of a worker that failed: InvalidInput if another worker took its name, SchemaMismatch, Defect, …
  std::exception_ptr error = {};
  std::int64_t lease = 0;       ///< the last lease that it had: workers.id; 0: none
  std::size_t given_back = 0;   ///< claimed, not started: no attempt spent
  std::size_t interrupted = 0;  ///< still ran at the end: no retry spent, run again elsewhere
  std::size_t left_behind = 0;  ///< could not be given back or written: `running` until another worker rescues them
  std::size_t abandoned_threads =
      0;  ///< handlers that ignore their stop tokens and still run on threads of this process
};

struct WorkerOptions {
  /// `postgresql://…` or `host=… dbname=…`; with worker_main, --database-url goes before. Empty: DATABASE_URL comes
  /// first. Next come libpq's variables, if PGHOST, PGHOSTADDR, PGDATABASE or PGSERVICE is set. Last comes the private
  /// server of `dogged dev up` in the current directory or above it.
  std::string database_url = {};
  /// The PostgreSQL schema that holds the queue: 1 to 48 of a-z 0-9 _, not beginning with a digit or pg_.
  std::string schema = "dogged";
  /// Shown by `dogged workers`, 1 to 128 bytes; no two live workers share one. Empty: host:pid, with a number from the
  /// second worker of a process on.
  std::string name = {};
  /// Concurrency by queue name, 1 to 1000. Empty: every queue that the worker's tasks name, with default_concurrency.
  std::map<std::string, int> queues = {};
  int default_concurrency = 10;    ///< of each queue if `queues` is empty, 1 to 1000
  bool create_queues = false;      ///< creates those of `queues` that neither exist nor are a task's; else an error
  milliseconds heartbeat{5'000};   ///< how often the lease is renewed; 10 ms to 20 min
  milliseconds lease{30'000};      ///< how long a renewal lasts; at least three heartbeats, at most 1 h
  milliseconds grace{30'000};      ///< how long running tasks may go on after a stop; 0 to 24 h
  milliseconds stop_grace{5'000};  ///< how long a handler may go on after its stop token was set; 0 to 24 h
  int max_abandoned_threads = 10;  ///< a worker that carries more ends; 0 to 10,000
  /// The longest wait of the claimer without a notification; 10 ms to 10 min. Unset: 10 s, and 1 s with poll_only.
  std::optional<milliseconds> poll_interval = {};
  bool poll_only = false;  ///< no LISTEN and no session state: for a transaction pooler in between
  /// A JSON file of retry settings by task, which override TASK_REGISTER (docs/retry.md). Empty: none.
  std::string retry_config = {};
  /// The environment variables of retry settings, which override both, and those of traces (OTEL_…). An empty function:
  /// none.
  Environment environment = process_environment;
  /// Where the worker serves /metrics for Prometheus, /livez, /readyz and /status over HTTP. Examples:
  /// `127.0.0.1:9464`, `[::1]:9464`, or `:9464` for every IPv4 address of the machine. Port 0 is any free port, which
  /// the log tells. Empty: nowhere. The pages need no password, and show names of queues and tasks. docs/metrics.md
  /// lists them.
  std::string metrics_listen = {};
  /// Whether /metrics has dogged's or OpenTelemetry's names where both have one (<dogged/metrics.hpp>).
  MetricNames metrics_names = MetricNames::dogged;
  /// The functions of the retry policies that tasks name: dogged::Custom, or "policy_name" in retry_config. Names are
  /// those of PolicyName.
  std::map<std::string, DelayFunction> policies = {};
  /// Codes for exceptions of handlers whose tasks have no TaskOptions::exceptions.
  ExceptionMapper exceptions = {};
  /// Hooks around all handlers, the outermost first.
  Middlewares middleware = {};
  /// Null: spdlog's default logger; with worker_main, a logger that writes to stderr. Each message is one line there.
  std::shared_ptr<spdlog::logger> log = {};
  /// Logs retries, and successes after retries, at info instead of debug.
  bool log_retries = false;
  /// Called once when the worker has ended, asked to or not, on the worker's thread. Do not destroy the worker in it.
  std::function<void(const WorkerEnd&)> on_end = {};
  /// Makes a span of each attempt (<dogged/tracer.hpp>). Null: if `environment` has OTEL_EXPORTER_OTLP_ENDPOINT or
  /// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, the worker exports spans there (docs/tracing.md); else there are none.
  std::shared_ptr<Tracer> tracer = {};
  /// The lease of a worker that this one replaces, as WorkerEnd::lease. start() waits for a database that is away
  /// instead of throwing. Then start() ends that lease at once, so that its tasks are rescued.
  std::optional<std::int64_t> previous_lease = {};
};

/// A worker inside a program: no signals, no command line, no exit(). A process may have several. Each has four
/// connections, seven threads of its own, and a thread for each task that runs at once. Steps take a fifth connection,
/// once a task has some.
///
/// A worker runs once: to run again, make another. Thread-safe.
///
/// For a process that embeds a worker:
/// - The worker does not touch signal handlers. The worker's threads inherit the signal mask of the thread that calls
///   start().
/// - A handler that ignores its stop token is given up, and its thread runs on for as long as it likes. Nothing of
///   dogged is destroyed under it; the program must keep what else the handler uses. See WorkerEnd::abandoned_threads.
/// - After a fork() the child must not use the worker.
class Worker {
 public:
  /// Connects to nothing yet. Throws InvalidInput for an option out of its range, no task, or a task that is added
  /// twice. A mistake in a task's options is InvalidInput, too, and so is a task whose policy is not in
  /// WorkerOptions::policies. Throws InvalidPolicy for a mistake in retry settings.
  explicit Worker(WorkerOptions options, const Tasks& tasks = Tasks::registered());
  /// As stop(), if the worker runs.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Connects, registers the worker, publishes what its tasks declare, and returns once it claims. Throws
  /// ConnectionError, DatabaseError, SchemaMismatch, and Error (threads could not be started). Throws InvalidInput if
  /// the name is in use, a queue does not exist, the worker cannot listen on metrics_listen, or it was started before.
  void start();

  /// Asks the worker to stop, now or as soon as it starts; returns at once. May be called from a signal handler and
  /// from a task's handler.
  void request_stop() noexcept;

  /// Stops the worker in order and returns when it has ended. The worker claims no more, gives back tasks that have not
  /// started, and lets running tasks finish within `grace`. Then the worker sets stop tokens, and records attempts that
  /// still run after the stop grace as interrupted. Never call stop() from a handler or a hook, because it waits for
  /// them. Returns at once if the worker has ended or never started.
  WorkerEnd stop();
  /// The same with a limit `time`, 0 to 24 h, for all of it: stop tokens are set when only the stop grace is left.
  /// Writing the last reports comes on top: milliseconds, and up to 15 s if the database does not answer.
  WorkerEnd stop(milliseconds time);

  /// Returns when the worker has ended: after request_stop(), or by itself. Throws InvalidInput if it was never
  /// started.
  WorkerEnd wait();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Runs a worker for every task that TASK_REGISTER declared in this program, until SIGTERM or SIGINT. Reads its
/// settings from the command line and the environment; `--help` teaches them. `options` apply where those say nothing.
/// Call it once, from main.
///
/// Returns 0 after a shutdown on request, otherwise an exit code that `dogged --help` lists under "Exit codes". 2: a
/// mistake on the command line or in a registration. 3: the database cannot be reached. 4: the schema is missing or
/// does not fit. 5: another error of the database. 70: a mistake of dogged itself (Defect). 1: anything else.
/// A handler that calls exit() ends the process at once, with 1 and without destructors, as a crash does.
int worker_main(int argc, char** argv, WorkerOptions options = {});

}  // namespace dogged

/// TASK_REGISTER(handler, task, options…): this program handles `task`, a dogged::Task<Args, Result>, with
/// `handler(dogged::Context&, const Args&) -> Result`; options are the fields of dogged::TaskOptions, in their order.
/// Use it at namespace scope, in any source file of the worker. An option out of its limits is a compile error; a code
/// or a name that is only misspelt is not noticed. worker_main reports a task that is registered twice, and refuses to
/// start. Handlers run on several threads at once.
#define TASK_REGISTER(handler, task, ...) \
  DOGGED_TASK_REGISTER_NUMBERED_(__COUNTER__, handler, task __VA_OPT__(, ) __VA_ARGS__)
// One step more than it seems to need: a number beside ## is pasted as it was written, here as __COUNTER__.
#define DOGGED_TASK_REGISTER_NUMBERED_(number, handler, task, ...) \
  DOGGED_TASK_REGISTER_PASTED_(number, handler, task __VA_OPT__(, ) __VA_ARGS__)
#define DOGGED_TASK_REGISTER_PASTED_(number, handler, task, ...) \
  DOGGED_TASK_REGISTER_IN_(dogged_registration_##number##_, handler, task __VA_OPT__(, ) __VA_ARGS__)
#define DOGGED_TASK_REGISTER_IN_(scope, handler, task, ...)                                                       \
  namespace {                                                                                                     \
  namespace scope {                                                                                               \
  constexpr ::dogged::TaskOptions dogged_options_{__VA_ARGS__};                                                   \
  static_assert(sizeof(*::dogged::detail::judge<::dogged::detail::find_option_mistake, dogged_options_>()) != 0); \
  static_assert(sizeof(*::dogged::detail::judge<::dogged::detail::find_retry_mistake, dogged_options_>()) != 0);  \
  const ::dogged::detail::Registration dogged_entry_{handler, task, dogged_options_};                             \
  }                                                                                                               \
  }                                                                                                               \
  static_assert(true, "a semicolon belongs after TASK_REGISTER(...)")

/// TASK_SCHEDULE(name, spec, options…): workers enqueue a task of this program periodically; options are the fields of
/// dogged::ScheduleOptions, in their order. Use it at namespace scope. An option out of its range is a compile error. A
/// worker refuses to start if the database refuses the spec or the time zone, or if the program does not register the
/// task. Where programs that run declare a schedule differently, the declaration that was first seen last counts for
/// all. A schedule that no program declares any more fires on, and is shown as orphaned (`dogged schedules list`).
#define TASK_SCHEDULE(name, spec, ...) \
  DOGGED_TASK_SCHEDULE_NUMBERED_(__COUNTER__, name, spec __VA_OPT__(, ) __VA_ARGS__)
#define DOGGED_TASK_SCHEDULE_NUMBERED_(number, name, spec, ...) \
  DOGGED_TASK_SCHEDULE_PASTED_(number, name, spec __VA_OPT__(, ) __VA_ARGS__)
#define DOGGED_TASK_SCHEDULE_PASTED_(number, name, spec, ...) \
  DOGGED_TASK_SCHEDULE_IN_(dogged_schedule_##number##_, name, spec __VA_OPT__(, ) __VA_ARGS__)
#define DOGGED_TASK_SCHEDULE_IN_(scope, name, spec, ...)                                                             \
  namespace {                                                                                                        \
  namespace scope {                                                                                                  \
  constexpr ::dogged::detail::DeclaredSchedule dogged_schedule_{name, spec, ::dogged::ScheduleOptions{__VA_ARGS__}}; \
  static_assert(sizeof(*::dogged::detail::judge<::dogged::detail::find_schedule_mistake, dogged_schedule_>()) != 0); \
  const ::dogged::detail::ScheduleDeclaration dogged_entry_{dogged_schedule_};                                       \
  }                                                                                                                  \
  }                                                                                                                  \
  static_assert(true, "a semicolon belongs after TASK_SCHEDULE(...)")
