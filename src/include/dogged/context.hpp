// The context that a handler gets: its attempt, its stop token, and its logger.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>

#include <nlohmann/json_fwd.hpp>

#include <dogged/delay.hpp>
#include <dogged/detail/attempt_values.hpp>
#include <dogged/detail/step_names.hpp>
#include <dogged/task_id.hpp>
#include <dogged/trace_context.hpp>

namespace spdlog {
class logger;
}

namespace dogged {

namespace detail {
struct SqlCall;
enum class WaitFor { time, event };
}  // namespace detail

template <class Value>
class Checkpoint;

/// Why a handler's stop token was set.
enum class StopReason {
  none,        ///< it was not set
  timeout,     ///< TaskOptions::timeout is over
  cancelled,   ///< dogged.cancel or `dogged tasks cancel`
  shutdown,    ///< the worker stops, and its grace period is over
  lease_lost,  ///< the worker could not renew its lease in time: the task may run elsewhere by now
};

/// The attempt as its handler sees it. A context lives as long as the handler and the hooks around it run. Any thread
/// that the handler starts and joins may call the members, except local().
class Context {
 public:
  using Clock = std::chrono::steady_clock;

  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  virtual ~Context() = default;

  [[nodiscard]] virtual TaskId task_id() const noexcept = 0;
  /// The number of this attempt, from 1, counted over the whole life of the task.
  [[nodiscard]] virtual int attempt() const noexcept = 0;
  /// Retries spent before this attempt.
  [[nodiscard]] virtual int retry_count() const noexcept = 0;
  [[nodiscard]] virtual std::string_view task_name() const noexcept = 0;
  [[nodiscard]] virtual std::string_view queue() const noexcept = 0;
  /// The args as stored, as JSON text: for hooks. A handler gets them in its own type.
  [[nodiscard]] virtual std::string_view args_json() const noexcept = 0;
  /// EnqueueOptions::trace_context of the producer; empty if it gave none.
  [[nodiscard]] virtual std::string_view trace_context() const noexcept = 0;
  /// The span that calls of this attempt belong under: the attempt's own if the worker traces (docs/tracing.md), else
  /// the producer's. Tasks that the handler enqueues on its own thread get it as their trace_context. Nothing if the
  /// worker does not trace, and the producer gave none that is a W3C traceparent.
  [[nodiscard]] virtual std::optional<TraceContext> trace() const { return TraceContext::from_text(trace_context()); }
  /// The time of the schedule's tick whose task this is, by the spec and without jitter (docs/schedules.md). For a
  /// nightly report it is the report's night, also if the report is late, is retried, or is a backfill. For
  /// `dogged schedules run`, when that was asked for. Nothing if no schedule enqueued the task, or once its tick has
  /// been dropped (settings.keep_ticks_days). Each call asks the database. While the database is away, the call waits
  /// until the handler is asked to stop; then it throws ConnectionError.
  [[nodiscard]] virtual std::optional<std::chrono::system_clock::time_point> scheduled_for() const = 0;
  /// How the worker connects to the queue's database, for a connection of the handler's own (complete_in). A connection
  /// string or URI of libpq, with its password: do not log it. Empty: libpq's PG* variables name the database.
  [[nodiscard]] virtual const std::string& database_url() const noexcept = 0;
  /// The end of TaskOptions::timeout, Clock::time_point::max() if there is none. Pass on what is left of it to your own
  /// calls.
  [[nodiscard]] virtual Clock::time_point deadline() const noexcept = 0;
  /// The clock that deadline() goes by: Clock::now(), and in a test the virtual time (<dogged/testing.hpp>).
  [[nodiscard]] virtual Clock::time_point now() const noexcept = 0;
  /// Waits for `time` or until the handler is asked to stop; false if it is. In a test the time passes at once. The
  /// handler's thread is occupied meanwhile: wait for seconds, as between two polls, not longer.
  virtual bool wait_for(milliseconds time) = 0;
  /// Set for one of the reasons of StopReason. A handler that returns after that has succeeded, and its result is kept.
  /// If the handler throws any exception after that, the reason decides the outcome: timed out, cancelled, or
  /// interrupted. After shutdown and lease_lost the outcome is interrupted: no retry is spent, and the task runs again
  /// at once. A Snooze counts nevertheless, unless the task was cancelled.
  /// A handler that neither returns nor throws within the worker's --stop-grace (5 s by default) is given up. Then the
  /// attempt ends without the handler, and the handler's later result is dropped. After a shutdown the worker's process
  /// ends, perhaps an instant after the task has begun again elsewhere.
  [[nodiscard]] virtual std::stop_token stop_token() const noexcept = 0;
  /// The first reason for which the stop token was set.
  [[nodiscard]] virtual StopReason stop_reason() const noexcept = 0;
  /// Ends the attempt as succeeded within `transaction`, a libpqxx transaction of the handler's own on the queue's
  /// database. The writes of the handler in it and the end of the attempt commit together, or neither does. `result` if
  /// the task has one; in Middleware::after without it, for the result that the handler has returned. Include
  /// <dogged/transaction.hpp>, which says more.
  template <class Transaction, class... Result>
  void complete_in(Transaction& transaction, const Result&... result);
  /// Runs `work` once for the task, and gives what it returns. A later attempt gets the recorded value instead.
  ///
  ///   const Total total = ctx.step("sum", [&] { return sum(args); });
  ///
  /// The step is recorded when `work` returns, not when the attempt ends: a worker that dies later loses only the step
  /// under way. A step that throws is not recorded. So a step runs at least once; step_in writes to the queue's
  /// database exactly once. docs/steps.md says more.
  ///
  /// `name` is 1 to 128 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit, and no other step of the attempt
  /// has it. An attempt may have 10,000 steps. The result of `work` must convert to JSON and back, or be void; as JSON
  /// it has at most settings.max_result_bytes (1 MiB).
  ///
  /// Throws what `work` throws; and, as failures of the attempt,
  /// - TaskError with INVALID_STEP, which is never retried. The name is no name or is used twice. Or the result cannot
  ///   be JSON or is too long. Or the recorded result is not of this type.
  /// - LeaseLost: the worker does not hold the task any more. Nothing was recorded.
  /// While the database is away the call waits, until the handler is asked to stop; then it throws ConnectionError.
  /// Include <dogged/steps.hpp> to use it (<dogged/worker.hpp> does).
  template <class Work>
  std::invoke_result_t<Work&> step(std::string_view name, Work&& work);
  /// As step, for a `work` that writes to the queue's database in `transaction`, as complete_in takes it. The record of
  /// the step is written in it too: the caller commits both, or neither happens. So `work` takes effect exactly once.
  ///
  ///   pqxx::work transaction{connection};
  ///   const Receipt receipt = ctx.step_in(transaction, "charge", [&] { return charge(transaction, args); });
  ///   transaction.commit();
  ///
  /// Commit soon: until then the task's row is locked. A transaction that was rolled back may be tried again in the
  /// same attempt, and so may one whose commit lost its answer (pqxx::in_doubt_error). Where the step is on record,
  /// `work` does not run. Where the lost commit takes effect while the call runs, the call throws Snooze, and the next
  /// attempt finds the record. Otherwise it throws as step and complete_in do. Include <dogged/transaction.hpp> to use
  /// it.
  template <class Transaction, class Work>
  std::invoke_result_t<Work&> step_in(Transaction& transaction, std::string_view name, Work&& work);
  /// Gives the worker back, and goes on `time` later: 1 ms to 365 days. The attempt ends as snoozed by an exception
  /// that is no std::exception (Suspended). The next attempt runs the handler from its beginning, and this call returns
  /// in it at once. So put what precedes it into steps. No retry is spent, and max_snoozes does not count it. A task
  /// that is rescheduled to run earlier sleeps on when it gets here. `name` as of a step: a second sleep needs a name
  /// of its own. Throws as step does. Include <dogged/steps.hpp> to use it (<dogged/worker.hpp> does).
  void sleep(milliseconds time, std::string_view name = "sleep");
  /// Waits for the event `name`, such as "payment:42", without a worker, as sleep does. dogged.emit in SQL,
  /// Client::emit and `dogged emit` send it. Gives its payload, or nothing if `timeout` is over, which is 1 ms to 365
  /// days from the first call on. An event that came before is found, as long as it is kept
  /// (settings.keep_events_days). The name is the step's as well: a task gets an event once, and later attempts get the
  /// same. Throws as step and sleep do.
  template <class Payload = nlohmann::json>
  [[nodiscard]] std::optional<Payload> wait_event(std::string_view name, milliseconds timeout);
  /// Where the loop `name` goes on: what the last attempt has saved, or `first`. See Checkpoint in <dogged/steps.hpp>.
  /// `name` as of a step. Throws as step does.
  template <class Value>
  [[nodiscard]] Checkpoint<Value> checkpoint(std::string_view name, Value first = {});
  /// Says how far the attempt has come, for `dogged tasks show`, task_overview and Client::wait:
  ///
  ///   ctx.progress(0.4, "12,000 of 30,000 rows");
  ///
  /// `fraction` is 0 to 1. `message` is any text, which the worker cuts to 1,000 bytes. Call this as often as you like:
  /// the call keeps the latest values in memory, and the worker writes them at most once a second. The values stay when
  /// the attempt fails or its worker dies. docs/progress.md says more. Throws InvalidInput, and nothing changes, if
  /// `fraction` is not 0 to 1. The call never waits for the database.
  void progress(double fraction, std::string_view message = {});
  /// The same where nobody knows how much there is to do.
  void progress(std::string_view message) { note_progress(std::nullopt, message); }
  /// A logger whose lines carry the task's id, name and attempt. A message is one line: its control characters are
  /// escaped. Include <spdlog/spdlog.h> to use it (<dogged/worker.hpp> does).
  [[nodiscard]] virtual spdlog::logger& log() const = 0;

  /// The T of this attempt, made by T{} at the first call: for values that hooks and the handler share, such as the
  /// tenant. The values of an attempt are destroyed after its last hook, the latest first. On the thread of the handler
  /// only.
  template <class T>
  [[nodiscard]] T& local() {
    return locals_.get<T>();
  }

  /// Identifies the attempt for complete_in.
  struct Completion {
    TaskId task_id = 0;
    int attempt = 0;
    std::int64_t worker_id = 0;
    std::string schema;
    std::chrono::microseconds running_for{0};
    std::size_t max_result_bytes = 0;
    std::string returned_json = {};  ///< the result that the handler has returned; empty before, and if it has none
    std::optional<std::string> own_trace = {};  ///< the attempt's trace context, if it is the root of a trace
  };
  /// For complete_in. From now on the worker expects the attempt's end in a transaction of the handler. If the worker
  /// still holds the task when the handler ends, the attempt has failed with NOT_COMMITTED.
  [[nodiscard]] virtual Completion begin_completion() = 0;

 protected:
  Context() = default;

  /// `fraction` is 0 to 1; nothing: it is not known.
  virtual void note_progress(std::optional<double> fraction, std::string_view message) = 0;
  /// The result of a step as JSON text, if an earlier attempt has recorded it.
  [[nodiscard]] virtual std::optional<std::string> recorded_step(std::string_view name) = 0;
  /// Records a step that began at `began_at`, by now(). Throws TaskError with INVALID_STEP for a result that is too
  /// long.
  virtual void record_step(std::string_view name, const std::string& result_json, Clock::time_point began_at) = 0;
  /// The statement that records a step in the handler's own transaction. Throws as record_step does.
  [[nodiscard]] virtual detail::SqlCall step_call(std::string_view name, const std::string& result_json,
                                                  Clock::time_point began_at) = 0;
  /// Begins or continues a wait. Gives the event's payload, or nothing if the time is over; otherwise the attempt has
  /// ended, and Suspended is thrown.
  [[nodiscard]] virtual std::optional<std::string> wait_durably(std::string_view name, detail::WaitFor what,
                                                                milliseconds time) = 0;
  [[nodiscard]] virtual std::optional<std::string> last_checkpoint(std::string_view name) = 0;
  /// Throws as record_step does.
  virtual void save_checkpoint(std::string_view name, const std::string& value_json) = 0;

 private:
  template <class Value>
  friend class Checkpoint;
  void begin_step(std::string_view name, detail::StepNames::Kind kind = detail::StepNames::Kind::step);
  template <class Work, class Record>
  std::invoke_result_t<Work&> run_step(std::string_view name, Work& work, Record record);
  template <class Value>
  [[nodiscard]] static Value value_on_record(const std::string& json, std::string_view what, std::string_view name,
                                             std::string_view remedy);
  template <class Result>
  [[nodiscard]] static std::string json_of_step(std::string_view name, const Result& result);

  detail::AttemptValues locals_;
  detail::StepNames steps_;
};

}  // namespace dogged
