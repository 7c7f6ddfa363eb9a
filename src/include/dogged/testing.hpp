// The test kit: a context to call a handler with, a private PostgreSQL, a runner that drains queues, and assertions on
// enqueued tasks. Works with any test framework; docs/testing.md is the guide. Link dogged::testing.
//
//   dogged::testing::FakeContext ctx{{.attempt = 3}};
//   deliver(ctx, delivery);                                               // a handler alone
//
//   dogged::testing::Server server;                                       // once for a test binary
//   const dogged::testing::Database database = server.database();        // once for a test
//   my_service_that_enqueues(database.url());
//   dogged::testing::require_enqueued(database.url(), deliver_webhook, Delivery{…});
//   dogged::testing::drain({.database_url = database.url()}, tasks);      // runs what is ready, and returns
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <dogged/attempt_outcome.hpp>
#include <dogged/error.hpp>
#include <dogged/outcome.hpp>
#include <dogged/steps.hpp>
#include <dogged/task.hpp>
#include <dogged/worker.hpp>

namespace dogged::testing {

// --- a context to call a handler with --------------------------------------------------------------------------------

struct ContextOptions {
  TaskId task_id = 1;
  int attempt = 1;
  int retry_count = 0;
  std::string task_name = "test";
  std::string queue = "default";
  std::string args_json = "{}";
  std::string trace_context = {};
  std::optional<std::chrono::system_clock::time_point> scheduled_for = {};
  std::string database_url = {};
  /// The steps that earlier attempts have recorded: JSON texts by their names. Take those of another FakeContext
  /// (FakeContext::steps) to test what a handler does after it was cut short.
  std::map<std::string, std::string> steps = {};
  /// The events that were emitted: JSON texts by their names.
  std::map<std::string, std::string> events = {};
  /// The checkpoints that earlier attempts have saved, as `steps`.
  std::map<std::string, std::string> checkpoints = {};
  /// As TaskOptions::timeout, in virtual time; 0: none.
  milliseconds timeout{0};
  /// Gets the handler's lines too; null: only log_lines() keeps them.
  std::shared_ptr<spdlog::logger> log = {};
};

/// A Context without a database or a worker, to call a handler with directly. The context's time is virtual: only
/// advance() and the handler's wait_for() move it, and neither takes real time. Context::complete_in throws
/// InvalidInput, and so does step_in, because they need a task in a database: run them with drain(). Context::sleep and
/// a wait for an event that is not in ContextOptions::events let their time pass, and return. Thread-safe.
class FakeContext final : public Context {
 public:
  /// Throws InvalidInput for a negative timeout.
  explicit FakeContext(ContextOptions options = {});
  ~FakeContext() override;

  /// Sets the stop token, as a worker does. The first reason counts. Throws InvalidInput for StopReason::none.
  void stop(StopReason reason);
  /// Stops the handler when this much virtual time has passed from now on, 0 or more, for example in the middle of its
  /// wait_for(). The latest call counts. Throws InvalidInput for StopReason::none and for a negative time.
  void stop_after(milliseconds time, StopReason reason);
  /// Moves the clock, and sets the stop token if that reaches the deadline or the time of stop_after(). Throws
  /// InvalidInput for a negative time.
  void advance(milliseconds time);
  /// The steps that are recorded: those of ContextOptions::steps, and those that the handler has run.
  [[nodiscard]] std::map<std::string, std::string> steps() const;
  /// The checkpoints that are saved.
  [[nodiscard]] std::map<std::string, std::string> checkpoints() const;
  /// The last progress that the handler has reported; nothing: it has reported none. reported_at is not set.
  [[nodiscard]] std::optional<TaskProgress> last_progress() const;
  /// The lines that the handler has logged at any level, such as "warn: no answer".
  [[nodiscard]] std::vector<std::string> log_lines() const;

  [[nodiscard]] TaskId task_id() const noexcept override;
  [[nodiscard]] int attempt() const noexcept override;
  [[nodiscard]] int retry_count() const noexcept override;
  [[nodiscard]] std::string_view task_name() const noexcept override;
  [[nodiscard]] std::string_view queue() const noexcept override;
  [[nodiscard]] std::string_view args_json() const noexcept override;
  [[nodiscard]] std::string_view trace_context() const noexcept override;
  [[nodiscard]] std::optional<std::chrono::system_clock::time_point> scheduled_for() const override;
  [[nodiscard]] const std::string& database_url() const noexcept override;
  [[nodiscard]] Clock::time_point deadline() const noexcept override;
  [[nodiscard]] Clock::time_point now() const noexcept override;
  /// Moves the clock as advance() does, up to a stop, and returns at once.
  bool wait_for(milliseconds time) override;
  [[nodiscard]] std::stop_token stop_token() const noexcept override;
  [[nodiscard]] StopReason stop_reason() const noexcept override;
  [[nodiscard]] spdlog::logger& log() const override;
  [[nodiscard]] Completion begin_completion() override;

 private:
  void note_progress(std::optional<double> fraction, std::string_view message) override;
  [[nodiscard]] std::optional<std::string> recorded_step(std::string_view name) override;
  void record_step(std::string_view name, const std::string& result_json, Clock::time_point began_at) override;
  [[nodiscard]] dogged::detail::SqlCall step_call(std::string_view name, const std::string& result_json,
                                                  Clock::time_point began_at) override;
  [[nodiscard]] std::optional<std::string> wait_durably(std::string_view name, dogged::detail::WaitFor what,
                                                        milliseconds time) override;
  [[nodiscard]] std::optional<std::string> last_checkpoint(std::string_view name) override;
  void save_checkpoint(std::string_view name, const std::string& value_json) override;

  class Impl;
  std::unique_ptr<Impl> impl_;
};

// --- a private PostgreSQL --------------------------------------------------------------------------------------------

namespace detail {
class RunningServer;
}

/// A fresh database with dogged's schema, made by Server::database() and dropped with this object. Movable.
class Database {
 public:
  /// Ends the connections that it still has.
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  /// For Client, Worker, drain() and any driver. The URL's role is a superuser; the password is the server's own.
  [[nodiscard]] const std::string& url() const noexcept;

 private:
  friend class Server;
  Database(std::shared_ptr<detail::RunningServer> server, std::string name);

  std::shared_ptr<detail::RunningServer> server_;
  std::string name_;
  std::string url_;
};

/// A private PostgreSQL of this process: in a directory of its own under $TMPDIR or /tmp, on 127.0.0.1 with a random
/// password. No other server is touched. The server does not wait for the disk (fsync is off) and has no autovacuum.
/// The server ends when the last of this object and its databases is gone, or when the process ends in any way, kill -9
/// included. Then its directory is deleted. A forked child does not end the server.
///
/// Needs PostgreSQL's programs: those in $DOGGED_PG_BIN, or the first in PATH or in the usual places of distributions.
/// Root runs them as the user postgres or nobody. A start takes seconds: make one for a whole test binary.
class Server {
 public:
  /// `schema`: the PostgreSQL schema that holds the queue in its databases, as WorkerOptions::schema. Throws Error,
  /// which says what to install or ends with the program's output, and InvalidInput (the schema's name, DOGGED_PG_BIN).
  explicit Server(const std::string& schema = "dogged");
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Copies a database that was migrated once. Thread-safe. Throws DatabaseError and ConnectionError.
  [[nodiscard]] Database database();

 private:
  std::shared_ptr<detail::RunningServer> server_;
};

// --- running what is ready -------------------------------------------------------------------------------------------

struct DrainOptions {
  /// Whether to run also tasks that wait for their time, such as retries and tasks of the future. drain() makes them
  /// ready by dogged.reschedule, again and again until no task is left. Retries and snoozes count as always, so
  /// max_retries and max_snoozes end them; no time passes.
  bool with_scheduled = false;
  /// The limit in real time, 1 ms to 24 h.
  milliseconds limit = std::chrono::seconds{30};
};

struct DrainedAttempt {
  TaskId task_id = 0;
  std::string task_name;
  std::string queue;
  int attempt = 0;
  AttemptOutcome outcome = AttemptOutcome::succeeded;
  std::string error_code;     ///< empty if there is none
  std::string error_message;  ///< empty if there is none
  bool will_retry = false;
  milliseconds retry_delay{0};  ///< after jitter, if will_retry
};

struct DrainResult {
  std::vector<DrainedAttempt> attempts;  ///< in the order in which they began
  std::size_t waiting = 0;               ///< tasks that are left because their time has not come; counted up to 1000

  /// The number of attempts with this outcome.
  [[nodiscard]] std::size_t count(AttemptOutcome outcome) const noexcept;
};

/// Tasks are left that do not end. The message lists them and, as far as it is known, says why.
class DrainError : public Error {
 public:
  using Error::Error;
};

/// Runs all ready tasks in this process, with the runtime of production, and returns when none is left. Runs also tasks
/// that handlers enqueue to one of the queues meanwhile.
///
/// `options` are those of dogged::Worker, on a database of the test's own. The queues are those of
/// WorkerOptions::queues, or by default all that `tasks` name. Handlers run on several threads of a worker at once;
/// {.default_concurrency = 1} makes it one in each queue.
///
/// Throws as Worker's constructor and start() do, and InvalidInput (WorkerOptions::name is given, which drain chooses;
/// DrainOptions::limit out of range). Throws DrainError when the time is over, or at once if only tasks of a paused
/// queue or without a handler in `tasks` are left. Handlers that still run then are asked to stop (shutdown), and given
/// up after WorkerOptions::stop_grace.
DrainResult drain(WorkerOptions options, const Tasks& tasks = Tasks::registered(), const DrainOptions& how = {});

// --- assertions on enqueued tasks ------------------------------------------------------------------------------------

struct LookOptions {
  bool with_ended = false;        ///< also tasks that have ended
  std::string schema = "dogged";  ///< as ClientOptions::schema
};

template <class Args>
struct EnqueuedTask {
  TaskId id = 0;
  Args args;
  std::string queue;
  std::chrono::system_clock::time_point run_at;  ///< not before this time; by the database's clock
  int priority = 0;
  std::vector<std::string> tags;
  std::string trace_context;
  std::string status;  ///< pending, running, or how it ended (docs/lifecycle.md)
  TaskId parent = 0;   ///< the task whose handler enqueued this one, or that the producer named; 0: none
  int args_version = 1;
  std::optional<std::chrono::system_clock::time_point> expires_at;  ///< by the database's clock; none: never
};

/// Thrown by require_enqueued and require_none_enqueued. The message lists what there is instead.
class AssertionFailed : public Error {
 public:
  using Error::Error;
};

namespace detail {
/// Args as JSON text, for the compiled side.
[[nodiscard]] std::vector<EnqueuedTask<std::string>> find_tasks(const std::string& url, std::string_view name,
                                                                const LookOptions& options);
[[noreturn]] void fail_not_enqueued(const std::string& url, std::string_view name, const std::string& wanted,
                                    const LookOptions& options);
[[noreturn]] void fail_enqueued(std::string_view name, const std::vector<EnqueuedTask<std::string>>& found);
}  // namespace detail

/// The tasks of this name that have not ended, in the order in which they were enqueued. `url` as for Client. Throws
/// AssertionFailed if the args of a task are not of the key's type, ConnectionError and DatabaseError.
template <class Args, class Result>
[[nodiscard]] std::vector<EnqueuedTask<Args>> enqueued(const std::string& url, const Task<Args, Result>& task,
                                                       const LookOptions& options = {}) {
  std::vector<EnqueuedTask<Args>> typed;
  for (EnqueuedTask<std::string>& found : detail::find_tasks(url, task.name(), options)) {
    try {
      typed.push_back({found.id, dogged::detail::parse_args<Args>(found.args), std::move(found.queue), found.run_at,
                       found.priority, std::move(found.tags), std::move(found.trace_context), std::move(found.status),
                       found.parent, found.args_version, found.expires_at});
    } catch (const std::exception& error) {
      throw AssertionFailed("the args of task " + std::to_string(found.id) + " (" + std::string{task.name()} +
                            ") are not of the type of its key: " + error.what());
    }
  }
  return typed;
}

/// The first task of this name for which `fits`, a function of const EnqueuedTask<Args>&, is true. Throws as above.
/// Throws AssertionFailed, which lists all tasks, if there is none.
template <class Args, class Result, std::predicate<const EnqueuedTask<Args>&> Fits>
EnqueuedTask<Args> require_enqueued(const std::string& url, const Task<Args, Result>& task, Fits fits,
                                    const LookOptions& options = {}) {
  for (EnqueuedTask<Args>& found : enqueued(url, task, options)) {
    if (fits(std::as_const(found))) return std::move(found);
  }
  detail::fail_not_enqueued(url, task.name(), "for which the predicate is true", options);
}

/// The first task of this name with these args, compared as JSON.
template <class Args, class Result>
EnqueuedTask<Args> require_enqueued(const std::string& url, const Task<Args, Result>& task,
                                    const std::type_identity_t<Args>& args, const LookOptions& options = {}) {
  const nlohmann::json wanted = args;
  for (EnqueuedTask<Args>& found : enqueued(url, task, options)) {
    if (nlohmann::json(found.args) == wanted) return std::move(found);
  }
  detail::fail_not_enqueued(url, task.name(), "with args " + wanted.dump(), options);
}

/// The first task of this name. Write `LookOptions{…}` out, because braces alone are args.
template <class Args, class Result, std::same_as<LookOptions> Look = LookOptions>
EnqueuedTask<Args> require_enqueued(const std::string& url, const Task<Args, Result>& task, const Look& options = {}) {
  return require_enqueued(
      url, task, [](const EnqueuedTask<Args>&) { return true; }, options);
}

/// Throws AssertionFailed, which lists them, if there are tasks of this name. Throws ConnectionError and DatabaseError.
template <class Args, class Result>
void require_none_enqueued(const std::string& url, const Task<Args, Result>& task, const LookOptions& options = {}) {
  const auto found = detail::find_tasks(url, task.name(), options);
  if (!found.empty()) detail::fail_enqueued(task.name(), found);
}

}  // namespace dogged::testing
