// The producer's side: enqueue tasks, wait for their results, cancel and reschedule them.
//
//   dogged::Client client{"postgresql://app@db/app"};
//   dogged::TaskId id = client.enqueue(deliver_webhook, Delivery{…}, {.delay = 30s, .priority = -10});
//   dogged::TaskResult<Receipt> outcome = client.wait(deliver_webhook, id, 1min);
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <dogged/delay.hpp>
#include <dogged/detail/json_text.hpp>
#include <dogged/error.hpp>
#include <dogged/outcome.hpp>
#include <dogged/policy.hpp>
#include <dogged/task.hpp>
#include <dogged/task_record.hpp>
#include <dogged/unique.hpp>

namespace dogged {

class EnqueueMiddleware;
/// Hooks around enqueue, the outermost first.
using EnqueueMiddlewares = std::vector<std::shared_ptr<EnqueueMiddleware>>;

struct ClientOptions {
  /// The PostgreSQL schema that holds the queue: 1 to 48 of a-z 0-9 _, not beginning with a digit or pg_.
  std::string schema = "dogged";
  /// Shown in pg_stat_activity.
  std::string application_name = "dogged client";
  /// The policy for calls that fail for a passing reason. The connection was refused or lost, or the server restarts or
  /// has no connection left. Or the server gave up a transaction: deadlock, serialization, a lock or time limit.
  /// NoRetry{}: never. Failures and retries are counted in retry_metrics() (<dogged/retry_metrics.hpp>).
  RetryPolicy retry = exponential(milliseconds{100}).with_max_retries(20).with_max_delay(std::chrono::seconds{5});
  /// A call begins no further try once this time is over. The time includes the wait for other calls on the same
  /// client, but not the writing of the call's statement. 1 ms to 24 h. A run_at more than 5 minutes past by then is
  /// refused.
  milliseconds retry_for = std::chrono::seconds{30};
  /// Gets one line for each change between connected and not connected, and for each failed call. See "What a client
  /// says of its calls" in docs/producers.md. Null: spdlog's default logger. The client takes the logger's sinks and
  /// present level, and escapes control characters. Include <spdlog/spdlog.h> to make one.
  std::shared_ptr<spdlog::logger> log = {};
  /// Whether the client warns in `log`, once for each name, of a task that no worker has declared.
  bool warns_of_undeclared = true;
  /// Around each enqueue of this client.
  EnqueueMiddlewares middleware = {};
};

struct EnqueueOptions {
  /// Empty: the queue of the task's key (KeyOptions::queue), else the one that its worker declared, or "default" if no
  /// worker has declared the task.
  std::string queue = {};
  /// The task does not run before this time. Refused if more than 5 minutes past or 10 years ahead of the
  /// database's clock.
  std::optional<std::chrono::system_clock::time_point> run_at = {};
  /// The task does not run before this delay, by the database's clock. Give either this or run_at; 0 to 10 years.
  std::optional<milliseconds> delay = {};
  /// Lower runs first, -32768 to 32767; within one priority, the task that became ready first.
  int priority = 0;
  /// Passed to the handler and stored in every attempt row: TraceContext::to_text(), which is a W3C `traceparent`, or
  /// what your tracing uses. Up to 512 bytes. Empty: Context::trace() of the handler that runs on the calling thread,
  /// if there is one.
  std::string trace_context = {};
  /// How long the call waits for room in a queue at its limit (max_depth, `dogged queues set`). The client asks again
  /// after 20 ms, then at longer intervals, up to a second. 0: the call throws QueueFull at once; at most 24 h. For a
  /// call with many tasks the longest counts. Other threads' calls on the client go on meanwhile. enqueue_in refuses
  /// it.
  milliseconds wait_for_room{0};
  /// No attempt begins after this time, neither the first nor a retry. A task that is still pending then ends as
  /// `expired`; an attempt that runs is not cut short. Refused unless it is after run_at and now, by the database's
  /// clock, and within 10 years.
  std::optional<std::chrono::system_clock::time_point> expires_at = {};
  /// As expires_at, counted from now by the database's clock. Give either this or expires_at; 1 ms to 10 years.
  std::optional<milliseconds> expires_in = {};
  /// Words to find the task by (`dogged tasks list --tag`, `dogged dead replay --tag`), such as "tenant:42". Each is of
  /// A-Z a-z 0-9 . _ : / - and begins with a letter or a digit. All, joined by commas, have up to 512 bytes.
  std::vector<std::string> tags = {};
  /// The parent of the task, shown by `dogged tasks show` and in the column parent_id. Unset: the task whose
  /// handler runs on the calling thread, if it is of the same queue database and schema. Name the parent if a handler
  /// enqueues on a thread of its own. 0: none. The parent need not exist any more: retention may have dropped it.
  /// Negative: InvalidInput.
  std::optional<TaskId> parent = {};
  /// Makes the task unique, or replaces the rule of its key (KeyOptions::unique). Unset: the rule of the key, if the
  /// call has a key with one. The texts of Unique::by are not copied: they are literals, or live until the call
  /// returns.
  std::optional<Unique> unique = {};
  /// The unique key itself, in place of Unique::by: up to 512 bytes. Without a rule, that of Unique{} holds. Empty:
  /// the key is that of the args.
  std::string unique_key = {};

  friend bool operator==(const EnqueueOptions&, const EnqueueOptions&) = default;
};

/// A queue has no room for the tasks of a call (max_depth), and got none within wait_for_room. Nothing was
/// enqueued. sqlstate() is 53Q01, as in SQL.
class QueueFull : public DatabaseError {
 public:
  using DatabaseError::DatabaseError;
};

/// A task by name and JSON text, for tools and for producers that do not share the task's key.
struct NewTask {
  std::string name;
  std::string args_json = "{}";
  EnqueueOptions options = {};
  /// KeyOptions::queue: the queue if options.queue is empty. Unlike options.queue it is created if it does not
  /// exist.
  std::string key_queue = {};
  /// KeyOptions::version.
  int args_version = 1;

  /// Whether the task is to have a unique key.
  [[nodiscard]] bool is_unique() const noexcept { return options.unique.has_value() || !options.unique_key.empty(); }
};

/// Hooks around enqueue, for what all producers of a program share, such as tracing or tenancy. Derive from it and
/// override what you need. One object may serve many threads at once. before() is called in the order of the list, the
/// other hooks in the reverse order.
class EnqueueMiddleware {
 public:
  virtual ~EnqueueMiddleware() = default;

  /// May change the tasks of a call, but not their number (InvalidInput). `options.unique` of a task by its key holds
  /// the key's rule, unless the call gives another. An exception of this hook ends the call
  /// with it, and nothing is enqueued.
  virtual void before(std::vector<NewTask>&) {}
  /// The tasks are enqueued; by enqueue_in, once its transaction commits. The id of a unique task may be that of the
  /// task that holds its key. An exception of this hook is logged.
  virtual void after(const std::vector<NewTask>&, const std::vector<TaskId>&) {}
  /// The call throws `error`, after its last try, or because a before() has thrown it. An exception of this hook is
  /// logged.
  virtual void on_error(const std::vector<NewTask>&, const std::exception_ptr&) {}

 protected:
  EnqueueMiddleware() = default;
  EnqueueMiddleware(const EnqueueMiddleware&) = default;
  EnqueueMiddleware& operator=(const EnqueueMiddleware&) = default;
};

namespace detail {
/// Whether there are hooks around an enqueue: of the list, or of the worker whose handler runs on this thread.
[[nodiscard]] bool has_enqueue_hooks(const EnqueueMiddlewares& middleware);
/// Calls `enqueue` with the tasks that these hooks have left. `log` null: spdlog's default logger.
[[nodiscard]] std::vector<Enqueued> enqueue_within(
    const EnqueueMiddlewares& middleware, std::vector<NewTask> tasks, spdlog::logger* log,
    const std::function<std::vector<Enqueued>(const std::vector<NewTask>&)>& enqueue);

[[nodiscard]] inline std::vector<TaskId> ids_of(const std::vector<Enqueued>& enqueued) {
  std::vector<TaskId> ids;
  ids.reserve(enqueued.size());
  for (const Enqueued& one : enqueued) ids.push_back(one.id);
  return ids;
}

template <class Args, class Result>
[[nodiscard]] NewTask new_task(const Task<Args, Result>& task, const Args& args, const EnqueueOptions& options) {
  NewTask made{std::string{task.name()}, args_to_json_text(task.name(), args), options,
               std::string{task.queue().value_or("")}, task.version()};
  if (!made.options.unique) made.options.unique = task.unique();
  return made;
}

/// A task of enqueue_unique: by all args where nothing else says what makes it unique.
[[nodiscard]] inline NewTask unique_task(NewTask task) {
  if (!task.is_unique()) task.options.unique.emplace();
  return task;
}

/// The type that a wait by a task's key gives.
template <class Result>
struct Awaited {
  static_assert(FromJson<Result>,
                "dogged: to wait for the result of a task, its type must convert from nlohmann::json: give the type "
                "from_json, for example with NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT");
  using type = TaskResult<Result>;
};
template <>
struct Awaited<void> {
  using type = TaskOutcome;
};

inline void require_name(const TaskOutcome& outcome, std::string_view name) {
  if (outcome.name == name) return;
  throw InvalidInput("task " + std::to_string(outcome.id) + " is " + outcome.name + ", not " + std::string{name},
                     "wait for it with its own key, or by its id alone");
}

template <class Result>
[[nodiscard]] TaskResult<Result> with_result(TaskOutcome&& outcome) {
  TaskResult<Result> typed{std::move(outcome), std::nullopt};
  if (typed.result_json.empty()) return typed;
  try {
    typed.result = nlohmann::json::parse(typed.result_json).template get<Result>();
  } catch (const nlohmann::json::exception& error) {
    throw InvalidInput("the result of task " + std::to_string(typed.id) + " (" + typed.name +
                           ") is not what its key says: " + describe_json_error(error.id, error.what()).reason,
                       "its worker was built with another type; by its id alone its result is given as JSON text");
  }
  return typed;
}
}  // namespace detail

/// A connection that enqueues. Thread-safe. The client makes calls one after another, so use a client per thread for
/// more throughput. wait() holds up no other call: each wait has a connection of its own.
///
/// Each call is one transaction. When the call returns, its effect is durable; when it throws InvalidInput, nothing was
/// done. A call whose connection is lost, or that fails for another passing reason, is retried (ClientOptions::retry)
/// and takes effect once. Each call writes an idempotency key (the table producer_calls). If an answer was lost, the
/// next try first looks up that key, to know whether the call took effect. Only after ConnectionError is the outcome
/// unknown: the tries are spent, and an answer was lost.
///
/// A client belongs to the process that made it: after a fork, the child makes its own (InvalidInput otherwise).
class Client {
 public:
  /// Connects, in one try, and checks that the schema exists and fits this program. `url`: `postgresql://…` or
  /// `host=… dbname=…`. Empty: DATABASE_URL; else libpq's variables, if PGHOST, PGHOSTADDR, PGDATABASE or PGSERVICE is
  /// set. Else the private server of `dogged dev up` in the current directory or above it. Throws ConnectionError,
  /// SchemaMismatch, InvalidInput (a wrong URL or none, the schema's name, retry_for), InvalidPolicy (retry).
  explicit Client(const std::string& url, ClientOptions options = {});
  ~Client();
  Client(Client&&) noexcept;  ///< a client that was moved from may only be destroyed or assigned to
  Client& operator=(Client&&) noexcept;

  /// Enqueues one task. On the first call with a task's name the client creates the queue of its key. The client also
  /// warns in its log if no worker has declared the name, because such a task waits without any error. The client
  /// checks the first 1,000 names.
  /// Throws InvalidInput for args that JSON cannot carry (NaN, NUL, invalid UTF-8) or over 1 MiB. Throws InvalidInput
  /// also for a queue that does not exist, or a run_at out of range. Throws QueueFull and DatabaseError. Throws
  /// ConnectionError, the last error, when ClientOptions::retry has no try left; the task may have been enqueued then.
  template <class Args, class Result>
  TaskId enqueue(const Task<Args, Result>& task, const std::type_identity_t<Args>& args,
                 const EnqueueOptions& options = {}) {
    return enqueue(detail::new_task(task, args, options));
  }

  /// Enqueues one task unless another task holds its unique key, and says which of the two it was. The id is that of
  /// the new task, or of the holder. The rule is EnqueueOptions::unique, else that of the key (KeyOptions::unique),
  /// else Unique{}: all args. enqueue() keeps the same rule, and gives the id alone. Throws as enqueue does. Throws
  /// UniqueConflict with OnConflict::refuse, and InvalidInput for a bad key, or args without a value at Unique::by.
  template <class Args, class Result>
  Enqueued enqueue_unique(const Task<Args, Result>& task, const std::type_identity_t<Args>& args,
                          const EnqueueOptions& options = {}) {
    return enqueue_unique(detail::new_task(task, args, options));
  }
  Enqueued enqueue_unique(NewTask task);

  /// Many tasks, all or none, in order. Each task that is not unique by its options or key is enqueued. Of tasks with
  /// the same key in one call, the first is enqueued, and meets the others as their holder.
  std::vector<Enqueued> enqueue_many_unique(const std::vector<NewTask>& tasks);
  template <class Args, class Result>
  std::vector<Enqueued> enqueue_many_unique(const Task<Args, Result>& task, const std::vector<Args>& args,
                                            const EnqueueOptions& options = {}) {
    std::vector<NewTask> tasks;
    tasks.reserve(args.size());
    for (const Args& one : args) tasks.push_back(detail::unique_task(detail::new_task(task, one, options)));
    return enqueue_many_unique(tasks);
  }

  /// Enqueues many tasks of one kind, all or none; ids in the order of `args`.
  template <class Args, class Result>
  std::vector<TaskId> enqueue_many(const Task<Args, Result>& task, const std::vector<Args>& args,
                                   const EnqueueOptions& options = {}) {
    std::vector<NewTask> tasks;
    tasks.reserve(args.size());
    for (const Args& one : args) tasks.push_back(detail::new_task(task, one, options));
    return enqueue_many(tasks);
  }

  /// The same by name and JSON text. Throws as above, and InvalidInput for a bad name or args that are no JSON. One
  /// statement carries all tasks of a call, so keep a call under some 100 MB: send batches of 1000 or 10,000.
  TaskId enqueue(const NewTask& task);
  std::vector<TaskId> enqueue_many(const std::vector<NewTask>& tasks);

  using OnProgress = std::function<void(const TaskProgress&)>;

  /// Waits until the task has ended, or for `timeout` (0 to 24 h; 0 looks once), and gives the state of the task.
  /// has_ended() is false if the time was over first. Workers that listen notify of the end at once; otherwise the
  /// client polls, and finds it within 0.5 s. Throws InvalidInput (no such task, or no longer; a timeout out of range)
  /// and DatabaseError. Throws ConnectionError, the last error, when ClientOptions::retry has no try left.
  /// The task must have been committed: inside the transaction of enqueue_in the wait would be in vain. Do not wait in
  /// a handler for a task of the same queue. If all its threads wait, no thread is left to run that task.
  ///
  /// The call runs `on_progress` on this thread with the progress that the task's handler tells (Context::progress),
  /// each time that the client finds new values. Values of the last second of a task that succeeds are never written,
  /// and so not told. An exception of `on_progress` ends the call, which throws the same exception.
  [[nodiscard]] TaskOutcome wait(TaskId id, milliseconds timeout, const OnProgress& on_progress = {});

  /// The same with the result in the type of the task's key. Throws as above, and InvalidInput if the task has
  /// another name or a result that is not of that type.
  template <class Args, class Result>
  [[nodiscard]] typename detail::Awaited<Result>::type wait(const Task<Args, Result>& task, TaskId id,
                                                            milliseconds timeout, const OnProgress& on_progress = {}) {
    TaskOutcome outcome = wait(id, timeout, on_progress);
    detail::require_name(outcome, task.name());
    if constexpr (std::is_void_v<Result>) {
      return outcome;
    } else {
      return detail::with_result<Result>(std::move(outcome));
    }
  }

  /// The task with its timeline, of one moment; nothing if there is no such task, or no longer. Args and result are
  /// redacted. Needs the role dogged_viewer or dogged_operator: another login gets DatabaseError, SQLSTATE 42501.
  /// Throws ConnectionError, the last error, when ClientOptions::retry has no try left.
  [[nodiscard]] std::optional<TaskRecord> find(TaskId id);

  /// The attempts alone, in order, the running one last. Empty if the task has not begun, or there is none. Throws as
  /// find does.
  [[nodiscard]] std::vector<AttemptRecord> attempts(TaskId id);

  /// Cancels a pending task; asks the handler of a running one to stop. As dogged.cancel in SQL. Throws as enqueue
  /// does.
  CancelResult cancel(TaskId id);

  /// Makes a dead letter (`failed`) pending again, once, as dogged.replay in SQL. Throws as enqueue does.
  ReplayResult replay(TaskId id, ReplaySteps steps = ReplaySteps::keep);

  /// Sets when a pending task runs next, whether for the first time or as a retry, as dogged.reschedule in SQL.
  /// `run_at` is at most 5 minutes past and 10 years ahead of the database's clock. Throws as enqueue does.
  RescheduleResult reschedule(TaskId id, std::chrono::system_clock::time_point run_at);
  /// As above, counted from now by the database's clock: 0 to 10 years.
  RescheduleResult reschedule(TaskId id, milliseconds delay);

  /// Sends the event `name` to the tasks that wait for it (Context::wait_event), as dogged.emit in SQL, and gives their
  /// number. `name` is 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit; `payload` as JSON has at
  /// most settings.max_result_bytes (1 MiB). A task that waits later finds the event too, for
  /// settings.keep_events_days (7). Of several events of a name, it gets the latest. Throws as enqueue does.
  std::int64_t emit(std::string_view name, const nlohmann::json& payload = nullptr) {
    try {
      return emit_json(name, detail::to_json_text({"the payload of event", name}, payload));
    } catch (const std::invalid_argument& error) {
      throw InvalidInput(error.what(), "nothing was emitted");
    }
  }

 private:
  std::int64_t emit_json(std::string_view name, const std::string& payload);

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dogged
