// The producer's side: enqueue tasks.
//
//   dogged::Client client{"postgresql://app@db/app"};
//   dogged::TaskId id = client.enqueue(deliver_webhook, Delivery{…}, {.delay = 30s, .priority = -10});
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dogged/detail/json_text.hpp>
#include <dogged/error.hpp>
#include <dogged/task.hpp>

namespace dogged {

struct ClientOptions {
  /// The PostgreSQL schema that holds the queue: 1 to 48 of a-z 0-9 _, not beginning with a digit or pg_.
  std::string schema = "dogged";
  /// Shown in pg_stat_activity.
  std::string application_name = "dogged client";
  /// When a call is tried again that failed for a reason that passes: the connection was refused or lost, the server
  /// restarts, has no connection left, or gave up a transaction (deadlock, serialization, a lock or time limit).
  /// NoRetry{}: never.
  RetryPolicy retry = exponential(milliseconds{100}).with_max_retries(20).with_max_delay(std::chrono::seconds{5});
  /// No try is begun that a call would make later than this after it began, the wait for other calls on the same client
  /// included. 1 ms to 24 h. A run_at that is more than 5 minutes past by then is refused.
  milliseconds retry_for = std::chrono::seconds{30};
  /// Told of each change between connected and not, one line each; null: spdlog's default logger. Include
  /// <spdlog/spdlog.h> to make one.
  std::shared_ptr<spdlog::logger> log = {};
};

struct EnqueueOptions {
  /// The queue; empty: the one that the task's definition names, or "default" where no worker has declared the task.
  std::string queue = {};
  /// Not before this time. Refused if more than 5 minutes past or more than 10 years ahead of the database's clock.
  std::optional<std::chrono::system_clock::time_point> run_at = {};
  /// Not before this long from now, by the database's clock. Give either this or run_at; 0 to 10 years.
  std::optional<milliseconds> delay = {};
  /// Lower runs first, -32768 to 32767; of one priority, what became ready first.
  int priority = 0;
  /// Carried to the handler and to every attempt row: a W3C `traceparent`, or what your tracing uses. Up to 512 bytes.
  std::string trace_context = {};
  /// If a queue is at its limit (max_depth, `dogged queues set`): how long the call waits until it has room, asking
  /// again after 20 ms, then up to a second. 0: it throws QueueFull at once; at most 24 h. Of a call for many tasks,
  /// the longest counts. Other threads' calls on the client go on meanwhile. Not for enqueue_in, which refuses it.
  milliseconds wait_for_room{0};
};

/// A queue has no room for the tasks of a call (max_depth), and had none within wait_for_room. Nothing was enqueued.
/// sqlstate() is 53400, as it is in SQL.
class QueueFull : public DatabaseError {
 public:
  using DatabaseError::DatabaseError;
};

/// A task by name and JSON text, for tools and for producers that do not share the task's key.
struct NewTask {
  std::string name;
  std::string args_json = "{}";
  EnqueueOptions options = {};
};

/// A connection that enqueues. Thread-safe: calls are made one after another; use a client per thread for more.
///
/// Each call is one transaction: when it returns, the tasks are durable; when it throws InvalidInput, none was
/// enqueued. A call whose connection is gone, or that fails for another reason that passes, is tried again
/// (ClientOptions::retry), and enqueues once: where an answer was lost, the next try asks the database first whether
/// the call has taken effect, by an idempotency key that was written with the tasks (the table producer_calls). Only
/// after ConnectionError is the outcome unknown: the tries are spent, and an answer was lost.
///
/// A client belongs to the process that made it: after a fork, the child makes its own (InvalidInput otherwise).
class Client {
 public:
  /// Connects, in one try, and checks that the schema is there and fits this program.
  /// `url`: `postgresql://…` or `host=… dbname=…`; empty: libpq's PG* variables.
  /// Throws ConnectionError, SchemaMismatch, InvalidInput (the schema's name, retry_for), InvalidPolicy (retry).
  explicit Client(const std::string& url, ClientOptions options = {});
  ~Client();
  Client(Client&&) noexcept;  ///< a client that was moved from may only be destroyed or assigned to
  Client& operator=(Client&&) noexcept;

  /// Enqueues one task. Throws InvalidInput (args that JSON cannot carry: NaN, NUL, invalid UTF-8; args over the
  /// limit of 1 MiB; a queue that does not exist; a run_at out of range), QueueFull, DatabaseError, ConnectionError,
  /// after which the task may have been enqueued: the last error, when ClientOptions::retry has no try left.
  template <class Args, class Result>
  TaskId enqueue(const Task<Args, Result>& task, const std::type_identity_t<Args>& args,
                 const EnqueueOptions& options = {}) {
    return enqueue(NewTask{std::string{task.name()}, detail::args_to_json_text(task.name(), args), options});
  }

  /// Enqueues many tasks of one kind, all or none; ids in the order of `args`.
  template <class Args, class Result>
  std::vector<TaskId> enqueue_many(const Task<Args, Result>& task, const std::vector<Args>& args,
                                   const EnqueueOptions& options = {}) {
    std::vector<NewTask> tasks;
    tasks.reserve(args.size());
    for (const Args& one : args) {
      tasks.push_back({std::string{task.name()}, detail::args_to_json_text(task.name(), one), options});
    }
    return enqueue_many(tasks);
  }

  /// The same by name and JSON text. Throws as above, and InvalidInput for a bad name or args that are no JSON. All
  /// tasks of a call travel in one statement: keep a call under some 100 MB, as batches of 1000 or 10,000.
  TaskId enqueue(const NewTask& task);
  std::vector<TaskId> enqueue_many(const std::vector<NewTask>& tasks);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dogged
