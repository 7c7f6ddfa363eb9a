// The options of TASK_REGISTER.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <dogged/circuit_breaker_settings.hpp>
#include <dogged/codes.hpp>
#include <dogged/delay.hpp>
#include <dogged/json_pointers.hpp>
#include <dogged/policy.hpp>

namespace dogged {

class ExceptionMapper;
class Middleware;

/// Hooks around handlers (<dogged/middleware.hpp>), the outermost first.
using Middlewares = std::vector<std::shared_ptr<Middleware>>;

/// The options of TASK_REGISTER, after the handler and the key, in this order.
struct TaskOptions {
  /// The queue of tasks that are enqueued without one. A worker creates it if it is new. Unset: the queue that the key
  /// names (KeyOptions::queue), else "default". A worker refuses to start if it differs from the key's.
  std::optional<std::string_view> queue = {};
  /// When to retry; matters only for codes in auto_retry_for.
  RetryPolicy retry = default_retry_policy;
  /// The error codes that are retried; `{"*"}` lists all. A failure with another code ends the task at once; with an
  /// empty list every failure does.
  ErrorCodes auto_retry_for = {};
  /// How long an attempt may take. Context::deadline() is this long after the start, and then the stop token is set. A
  /// handler that throws after that has timed out (TIMEOUT, retried if auto_retry_for lists it). A handler that still
  /// runs when the worker's --stop-grace is over too is given up. Then the attempt has timed out, the handler's later
  /// result is dropped, and its thread is replaced. 1 ms to 24 h; 0: no deadline.
  milliseconds timeout{0};
  /// Whether the task runs again if its worker died during an attempt. False for work that must not be repeated.
  bool retry_lost = true;
  /// A task that was lost with its worker this many times has failed for good. 1 to 100.
  int max_losses = 3;
  /// How often the task may snooze (Snooze) after it was enqueued or replayed. A further Snooze fails the attempt with
  /// SNOOZED_TOO_OFTEN, which is never retried. 0 to 1000000; 0: the task may not snooze.
  int max_snoozes = 1000;
  /// Whether a task that fails for good becomes a dead letter. True: its status is `failed`, and it keeps its args and
  /// last error until an operator replays or purges it. False: its status is `discarded`, and it is kept as long as
  /// tasks that have succeeded.
  bool dead_letter = true;
  /// Codes for exceptions of the handler other than TaskError. The function gives the mapper, which must live as long
  /// as the program: a static of the function. Null: WorkerOptions::exceptions. Without a mapper, some exceptions of
  /// the standard library have codes (<dogged/exception_mapper.hpp>), and all others UNHANDLED_EXCEPTION.
  const ExceptionMapper& (*exceptions)() = nullptr;
  /// Hooks around this task's handler, inside those of the worker (WorkerOptions::middleware). The function gives the
  /// hooks, which must live as long as the program: a static of the function. Null: none.
  const Middlewares& (*middleware)() = nullptr;
  /// A circuit breaker that all tasks of this name share, on all workers, through the database. The circuit protects a
  /// service that the tasks call. Failures in a row with codes of auto_retry_for open it. Then the tasks are deferred,
  /// at no cost of an attempt, until probes succeed. `dogged circuits` shows and changes it. Empty: none.
  std::string_view circuit = {};
  /// The settings of that circuit. If programs differ, those of the worker that started last count.
  CircuitBreakerSettings circuit_settings = {};
  /// JSON pointers (RFC 6901) to values of args and results that must not be shown. The command line and the views show
  /// "[redacted]" there. {""} hides args and results whole. The values are stored as they are, and the handler gets
  /// them. At most 16, of at most 256 bytes. docs/roles.md says what this does not hide.
  JsonPointers redact = {};
  /// The handler must end its attempt by Context::complete_in: a handler that returns without it has failed with
  /// NOT_COMMITTED. For handlers that write in a transaction. A handler that forgets complete_in would otherwise
  /// succeed, although its writes are rolled back.
  bool completes_in_transaction = false;
  /// Brings args of an older version, `version`, to the version of the task's key (KeyOptions::version); from_json
  /// reads the result. An exception fails the attempt with INVALID_ARGS, a TaskError with its own code. The stored args
  /// stay as they are. Null: from_json reads args of every older version as they are.
  nlohmann::json (*upgrade)(nlohmann::json args, int version) = nullptr;
};

}  // namespace dogged
