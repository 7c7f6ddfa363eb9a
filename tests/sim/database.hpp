// A model of the database, as far as the protocol goes: one function for each statement, named as its file in src/sql.
// A statement takes effect at once and whole, as under its row locks in PostgreSQL.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dogged/outcome.hpp>
#include <dogged/retry_budget.hpp>

#include "circuit/circuit_as_read.hpp"
#include "claim/core/queue_changes.hpp"
#include "claim/core/queues.hpp"
#include "claim/core/settling.hpp"
#include "claim/core/sleep.hpp"
#include "claim/core/watermarks.hpp"
#include "lease/core/holder.hpp"
#include "lifecycle/lifecycle.hpp"
#include "mutant.hpp"
#include "report/core/batch.hpp"
#include "runtime/core/registering.hpp"
#include "scheduler.hpp"
#include "step/core/wait_plan.hpp"
#include "tasks/core/claimed_task.hpp"
#include "upkeep/core/outlook.hpp"
#include "upkeep/core/rescue_tasks.hpp"

namespace dogged::sim {

/// The declarations that tasks are made of.
enum class Kind {
  plain,
  fragile,        ///< its first loss ends it
  deadly,         ///< its handler kills the worker
  stuck,          ///< its handler never ends by itself
  transactional,  ///< its handler writes in the transaction of complete_in
  stepwise,       ///< its handler has durable steps and waits (script.hpp)
  waiting,        ///< its handler waits for an event, for days
  charging,       ///< it has the circuit "bank"
  mailing,        ///< it has the circuit "post"
};
[[nodiscard]] const lifecycle::Rules& rules_of(Kind kind);
/// Empty: it has none.
[[nodiscard]] std::string_view circuit_of(Kind kind) noexcept;

/// How long a task holds its key, and what a call does that meets the holder (docs/unique.md).
enum class While { pending, live, kept };
enum class Conflict { keep, refuse, replace, merge, reschedule, debounce, debounce_merge };
[[nodiscard]] constexpr bool merges_args(Conflict conflict) noexcept {
  return conflict == Conflict::merge || conflict == Conflict::debounce_merge;
}
[[nodiscard]] constexpr bool moves_first_run(Conflict conflict) noexcept {
  return conflict == Conflict::reschedule || conflict == Conflict::debounce || conflict == Conflict::debounce_merge;
}
/// The conflict that merges the args, where `conflict` replaces them.
[[nodiscard]] constexpr Conflict merging(Conflict conflict) noexcept {
  if (conflict == Conflict::replace) return Conflict::merge;
  return conflict == Conflict::debounce ? Conflict::debounce_merge : conflict;
}
struct KeyRule {
  While while_ = While::live;
  Conflict conflict = Conflict::keep;
  std::optional<milliseconds> period = {};
  std::optional<milliseconds> latest = {};
};

/// The args of a task are a JSON array of numbers, to which a merge adds its own. Only unique tasks have any.
using Args = std::vector<std::int64_t>;

struct Task {
  enum class State { pending, running, ended };

  State state = State::pending;
  Kind kind = Kind::plain;
  int attempt = 0;
  int retry_count = 0;
  int losses = 0;
  int snoozes = 0;
  std::int64_t worker = 0;
  std::string queue = "default";
  int priority = 0;
  bool deferred = false;
  TimePoint due_at{};
  std::int64_t position = 0;
  bool cancel_requested = false;
  std::optional<TimePoint> expires_at{};
  TimePoint claimed_at{};
  std::string ended_as;  // its status, once it has ended
  TimePoint locked_until{};
  int row_locks = 0;     // of transactions that are open: emits, and calls that have met the holder of a key
  std::string key = {};  // empty: it is not unique
  KeyRule rule = {};     // of the call that enqueued it
  Args args = {};
  TimePoint enqueued_at{};
  bool was_put_off = false;  // before its first attempt, which keeps that time whatever a call with its key says

  [[nodiscard]] bool awaits_first_run() const { return attempt == 0 && !was_put_off; }
  [[nodiscard]] runtime::Place place() const { return runtime::place_of(priority, position); }
};

using Queues = std::set<std::string>;

/// How a schedule treats a tick while the task of an earlier one is alive (docs/schedules.md).
enum class Overlap { skip, buffer_one, buffer_all, cancel_other, allow_all };

/// A schedule that fires at equal distances.
struct ScheduleSettings {
  milliseconds every{0};
  Overlap overlap = Overlap::allow_all;
  std::optional<milliseconds> catch_up = {};       // nothing: however late a tick is
  std::optional<std::size_t> catch_up_limit = {};  // nothing: all that were missed
  milliseconds jitter{0};

  friend bool operator==(const ScheduleSettings&, const ScheduleSettings&) = default;
};

struct WorkerRow {
  std::string name = {};
  Queues queues = {};
  TimePoint began_at{};
  TimePoint heartbeat_at{};
  TimePoint lease_until{};
  bool lease_ended = false;
  bool stopped = false;  // in order
  bool rescued = false;
  bool asleep = false;
  bool listens = false;
  std::int64_t claim_session = 0;
  std::map<std::int64_t, std::vector<TaskId>> claims = {};  // dogged.claims
  std::optional<ScheduleSettings> declares = {};            // its program
};

struct AttemptRow {
  std::string outcome;
  std::int64_t worker = 0;
  std::string error_code = {};
  bool will_retry = false;
  bool cancel_requested = false;  // of the task, when the attempt ended
  bool waits = false;             // it was suspended by a wait
};

/// A step that has ended, or a wait that is over: a row of dogged.task_steps.
struct StepRow {
  std::int64_t worker = 0;
  std::optional<std::int64_t> value = {};  // nothing: a wait that is over without an event
};

/// Where a loop goes on: a row of dogged.task_checkpoints.
struct CheckpointRow {
  int attempt = 0;
  std::int64_t place = 0;
};

/// A wait that no handler has taken note of yet: a row of dogged.task_waits.
struct WaitRow {
  int attempt = 0;
  bool for_event = false;
  TimePoint until{};
  std::optional<std::int64_t> payload = {};  // of an event that has come
};

/// The last progress that a handler has noted: a row of dogged.task_progress.
struct ProgressRow {
  int attempt = 0;
  std::int64_t value = 0;
};
/// By task and attempt.
using Progress = std::map<std::pair<TaskId, int>, std::int64_t>;

/// A statement that PostgreSQL may refuse for a while: a right is missing, or a row is locked.
enum class Work { ticks, comparison, progress, reports };

/// The idempotency key of a call that a client may repeat.
struct CallKey {
  std::int64_t producer = 0;
  std::int64_t call = 0;  // counted from 1

  friend auto operator<=>(const CallKey&, const CallKey&) = default;
};
/// The last call of a producer: a row of dogged.producer_calls.
struct CallRow {
  std::int64_t call = 0;
  std::vector<TaskId> tasks = {};
  std::optional<std::string> answer = {};  // nothing after an enqueue
};

/// The last task of a key: a row of dogged.unique_keys.
struct KeyRow {
  TaskId task = 0;
  TimePoint taken_at{};
};

/// An operator's settings: a row of dogged.queues.
struct QueueRow {
  bool is_paused = false;
  std::optional<TimePoint> paused_until = {};  // when the pause ends by itself
  std::optional<std::size_t> concurrency = {};
  std::optional<RetryBudgetSettings> retry_budget = {};
};

/// A row of dogged.circuits.
struct CircuitRow {
  CircuitBreakerSettings settings = {};
  detail::Circuit circuit = {};
};

struct ScheduleRow {
  enum class Outcome { fired, waiting, overlap, superseded, missed, paused };
  struct Tick {
    Outcome outcome = Outcome::fired;
    std::vector<TaskId> tasks = {};
    TimePoint fired_at{};
    std::optional<TimePoint> skipped_until = {};  // it stands for all ticks before that
    bool is_forgotten = false;                    // later ticks do not ask after its task
    bool is_backfilled = false;
    // Of the schedule when the tick was decided.
    Duration every{0};
    std::size_t changes = 0;
    int settings_number = 0;
  };
  ScheduleSettings settings = {};
  int settings_number = 1;                        // how many it has had
  std::optional<ScheduleSettings> declared = {};  // the last declaration of a program that was put in force
  TimePoint first_at{};
  TimePoint next_at{};
  std::optional<TimePoint> fires_at = {};  // nothing: it is paused, or there is none
  bool is_paused = false;
  std::optional<TimePoint> last_tick_at = {};
  std::vector<TaskId> live_tasks = {};
  std::map<TimePoint, Tick> ticks = {};
  /// Of its distances.
  struct Change {
    TimePoint at{};
    TimePoint next_at{};  // the first of the new times
  };
  std::vector<Change> changes = {};
};

using TaskRows = std::map<TaskId, Task>;
using AttemptRows = std::map<std::pair<TaskId, int>, AttemptRow>;
using StepOfTask = std::pair<TaskId, std::string>;
using StepRows = std::map<StepOfTask, std::map<int, StepRow>>;  // by attempt

/// Events of tasks that their rows do not tell, for the promises (promises.hpp). A failover takes the events back with
/// the rows.
struct Ledger {
  std::set<TaskId> enqueued = {};
  std::set<TaskId> cancelled = {};                      // while pending, or at the end of an attempt
  std::map<TaskId, TimePoint> not_before = {};          // of retries
  std::map<TaskId, std::set<int>> replayed = {};        // after which attempts
  std::map<TaskId, int> effects = {};                   // of handlers' own transactions that were committed
  std::map<CallKey, std::vector<TaskId>> calls = {};    // of clients, with their tasks
  std::map<TaskId, Args> args = {};                     // of unique tasks, by the calls that were committed
  std::map<TaskId, int> progress = {};                  // the latest attempt of the task when it was written
  std::map<StepOfTask, TimePoint> waits_until = {};     // as of the first attempt that came to the wait
  std::map<StepOfTask, std::vector<int>> charges = {};  // the attempts in which step_in wrote what its step does
  std::map<std::pair<std::string, std::int64_t>, CircuitState> circuit_states = {};  // by circuit and generation
};

/// A broken promise.
struct Broken {
  std::string promise;  // by its number in docs/guarantees.md, and in words
};

class Database {
 public:
  /// promote.sql and lost_tasks.sql take 1000 tasks at once. Fewer show earlier what a worker does with the rest.
  Database(Scheduler& scheduler, Mutant mutant, std::size_t tasks_at_once = 2)
      : scheduler_(scheduler), mutant_(mutant), tasks_at_once_(tasks_at_once) {}

  /// Called with the worker that is notified, and the queue; an empty name stands for each of its queues.
  std::function<void(std::int64_t, const std::string&)> on_notify;
  /// Called with a worker whose lease has lapsed and is ended.
  std::function<void(std::int64_t)> on_lease_ended = [](std::int64_t) {};

  /// Called with a worker that runs a task whose cancellation is requested.
  std::function<void(std::int64_t)> on_cancel = [](std::int64_t) {};
  /// Called when a worker has registered.
  std::function<void()> on_worker_began = [] {};
  std::function<void()> on_schedules_changed = [] {};

  // Producers. A transaction has its id before it takes positions, and looks for sleepers before it commits.
  struct NewTask {
    milliseconds delay{0};
    std::string queue = "default";
    int priority = 0;
    Kind kind = Kind::plain;
    std::optional<milliseconds> expires_in = {};
    std::string key = {};
    KeyRule rule = {};
    Args args = {};
  };
  /// The change that a call makes to the holder of its key.
  struct HolderChange {
    Args args = {};
    Args given = {};  // by the call
    Conflict conflict = Conflict::replace;
    std::optional<TimePoint> due = {};  // nothing: the time of its first run stays
    bool defers = false;
    std::optional<std::int64_t> position = {};  // where it becomes ready
    std::optional<TimePoint> expires_at = {};   // nothing: as it was
  };
  struct Transaction {
    std::int64_t id = 0;
    std::uint64_t history = 0;  // a failover that loses commits ends the open transactions of the history before
    std::set<std::pair<std::int64_t, std::string>> sleepers = {};  // and the queue that they are notified of
    std::vector<TaskId> ids = {};
    std::vector<NewTask> tasks = {};
    // Of calls with unique keys.
    std::map<std::string, KeyRow> taken = {};
    std::map<TaskId, HolderChange> changes = {};
    std::set<TaskId> stay_pending = {};  // until the transaction ends
    std::vector<TaskId> locked = {};
    std::set<TaskId> expired = {};    // holders that it ends
    std::set<std::string> told = {};  // queues, of which all workers are notified
  };
  [[nodiscard]] Transaction begin();
  void enqueue(Transaction& transaction, int how_many, const NewTask& task);
  void commit(const Transaction& transaction);
  void roll_back(const Transaction& transaction);
  // Unique keys: database_keys.cpp.
  struct Unique {
    enum class Outcome { enqueued, existed, updated, refused, would_never_run };
    Outcome outcome = Outcome::enqueued;
    TaskId id = 0;
  };
  /// Nothing where it waits: for another transaction that takes the key, or for the holder's row.
  [[nodiscard]] std::optional<Unique> enqueue_unique(Transaction& transaction, const NewTask& task);
  /// A transaction that is open takes the key.
  [[nodiscard]] bool is_being_taken(const std::string& key) const { return taking_.contains(key); }
  // The calls of clients: database_calls.cpp.
  /// A call under an idempotency key. Nothing: it was refused, since this call or a later one is on record.
  std::optional<std::vector<TaskId>> enqueue_once(const CallKey& key, int how_many, const NewTask& task);
  std::optional<std::string> cancel_once(const CallKey& key, TaskId id);
  /// Before a call is repeated.
  void reserve_producer(std::int64_t producer) { now_.calls.try_emplace(producer); }
  /// call_made.sql and answer_made.sql. Nothing: the call has not taken effect, or a later one has.
  [[nodiscard]] std::optional<CallRow> call_made(const CallKey& key) const;

  // Operators.
  /// Gives the answer: cancelled, requested, ended, or empty where it would wait for the task's row.
  std::string_view cancel(TaskId id);
  /// Makes a dead letter pending again, or sets when a pending task runs next. False if the task is not of that kind.
  bool replay(TaskId id, milliseconds delay, ReplaySteps steps = ReplaySteps::keep);
  bool reschedule(TaskId id, milliseconds delay);
  /// For a paused queue the call changes when the pause ends. `resumes_in`: nothing until the queue is resumed.
  void pause(const std::string& queue, std::optional<milliseconds> resumes_in = {});
  void resume(const std::string& queue);
  void set_concurrency(const std::string& queue, std::optional<std::size_t> concurrency) {
    queues_[queue].concurrency = concurrency;
  }
  void set_retry_budget(const std::string& queue, const std::optional<RetryBudgetSettings>& budget) {
    queues_[queue].retry_budget = budget;
  }
  [[nodiscard]] runtime::QueueSettings queue_settings(const std::string& queue) const;
  [[nodiscard]] bool is_paused(const std::string& queue) const { return queue_settings(queue).is_paused; }

  // Schedules: database_ticks.cpp.
  [[nodiscard]] bool has_schedule() const { return now_.schedule.settings.every > milliseconds{0}; }
  /// A new one, which fires next in `first_in`. The ticks so far are forgotten.
  void set_schedule(const ScheduleSettings& settings, milliseconds first_in);
  /// `a_time_in`: when one of its times by these settings is, which may be over.
  void change_schedule(const ScheduleSettings& settings, milliseconds a_time_in);
  void pause_schedule();
  void resume_schedule();
  /// The times from `from` ago until before `until` ago. Gives how many ticks will run or wait.
  int backfill_schedule(milliseconds from, milliseconds until, Overlap overlap);
  /// By how much a tick is put off, up to `most`. The database derives it from the tick.
  std::function<Duration(TimePoint tick, milliseconds most)> jitter_of = [](TimePoint tick, milliseconds most) {
    return Random{static_cast<std::uint64_t>(tick.time_since_epoch().count())}.between(Duration{0}, most);
  };

  /// The state of a replica. A failover to it loses later commits.
  struct Durable {
    TaskRows tasks = {};
    std::set<TaskId> live = {};  // those that have not ended
    AttemptRows attempts = {};
    std::map<std::int64_t, WorkerRow> workers = {};
    std::int64_t next_transaction = 1;
    std::map<std::int64_t, CallRow> calls = {};  // by producer
    ScheduleRow schedule = {};
    std::vector<ScheduleSettings> declarations = {};  // of the schedule, by when each was first seen
    std::map<TaskId, ProgressRow> progress = {};
    StepRows steps = {};
    std::map<TaskId, std::set<int>> steps_again = {};  // attempts up to which steps do not count
    std::map<StepOfTask, CheckpointRow> checkpoints = {};
    std::map<StepOfTask, WaitRow> waits = {};
    std::map<std::string, std::int64_t> events = {};  // the latest of each name
    std::map<std::string, KeyRow> keys = {};
    std::map<std::string, CircuitRow> circuits = {};
    Ledger ledger = {};
  };
  [[nodiscard]] const Durable& durable() const noexcept { return now_; }
  /// Gives the tasks of which something was lost. Sequences go on where they were, as docs/failover.md has the operator
  /// do.
  std::set<TaskId> fail_over(Durable replica);
  /// Each such failover begins another history: no statement that was sent to the old server arrives at the new one.
  [[nodiscard]] std::uint64_t history() const noexcept { return history_; }

  // Workers.
  /// Ends the lease of the name's holder if it has lapsed, and `previous`, the last lease of the same process. Gives
  /// the new lease. Nothing: another worker that may be alive has the name.
  [[nodiscard]] std::optional<std::int64_t> register_worker(const std::string& name, milliseconds lease,
                                                            std::optional<std::int64_t> previous,
                                                            const Queues& queues = {"default"});
  [[nodiscard]] std::optional<runtime::Registering::Holder> name_holder(const std::string& name) const;
  [[nodiscard]] bool heartbeat(std::int64_t worker, milliseconds lease);
  /// The attempts that the worker runs and is to cancel.
  [[nodiscard]] std::vector<runtime::Attempt> cancelling(std::int64_t worker) const;
  void listen(std::int64_t worker) { row_of(worker).listens = true; }
  void disconnect(std::int64_t worker) { row_of(worker).listens = false; }
  void begin_claim_session(std::int64_t worker, std::int64_t session);
  struct Claimed {
    TaskId id = 0;
    int attempt = 0;
    int retry_count = 0;
    int losses = 0;
    int snoozes = 0;
    Kind kind = Kind::plain;
    runtime::Place place = 0;
    std::optional<milliseconds> expires_in = {};
    Args args = {};
  };
  /// Gives the tasks of each claim.
  [[nodiscard]] std::vector<std::vector<Claimed>> claim(std::int64_t worker,
                                                        const std::vector<runtime::QueueClaim>& claims,
                                                        std::int64_t session);
  struct Unknown {
    std::size_t released = 0;
    std::vector<TaskId> locked = {};
  };
  [[nodiscard]] Unknown release_unknown(std::int64_t worker, const std::vector<runtime::Attempt>& known,
                                        std::int64_t session);
  /// Gives the attempts that were not released.
  [[nodiscard]] std::vector<runtime::Attempt> release(std::int64_t worker,
                                                      const std::vector<runtime::Attempt>& attempts,
                                                      std::int64_t session);
  /// A claimed task that does not begin, and how long it waits.
  struct PutOff {
    runtime::Attempt attempt;
    milliseconds wait{0};
  };
  /// Gives the attempts that were not deferred.
  [[nodiscard]] std::vector<runtime::Attempt> defer(std::int64_t worker, const std::vector<PutOff>& tasks,
                                                    std::int64_t session);
  /// Ready tasks of the queue from a place on, if their circuit is open. Gives those.
  std::vector<TaskId> defer_ready(const std::string& circuit, const std::string& queue, runtime::Place from,
                                  const std::set<Kind>& kinds);

  // Circuits: database_circuits.cpp.
  void publish_circuit(const std::string& name, const CircuitBreakerSettings& settings);
  [[nodiscard]] std::vector<circuit::SharedCircuit> read_circuits() const;
  struct LockedCircuit {
    circuit::SharedCircuit circuit;
    std::int64_t lock = 0;
  };
  /// Begins a transaction that changes the circuit. Nothing while another one has locked the row. The lock is lost
  /// where the worker is silent for longer than `patience`.
  [[nodiscard]] std::optional<LockedCircuit> try_lock_circuit(const std::string& name, Duration patience);
  /// Commits. False if the lock was lost: then nothing is written.
  bool save_circuit(const std::string& name, std::int64_t lock, const detail::Circuit& after);
  /// By hand. False where it would wait for the row's lock.
  bool change_circuit(const std::string& name, detail::CircuitEvent::Kind kind);
  /// An operator's transaction holds the row for a while. False if the row is locked already.
  bool lock_circuit(const std::string& name, Duration time) { return try_lock_circuit(name, time).has_value(); }
  void unlock_circuit(const std::string& name) { circuit_locks_.erase(name); }
  [[nodiscard]] bool is_locked(const std::string& circuit) const { return circuit_locks_.contains(circuit); }
  [[nodiscard]] const CircuitRow& circuit(const std::string& name) const { return now_.circuits.at(name); }
  [[nodiscard]] Duration open_for(const std::string& name) const {
    return milliseconds{now_ms() - circuit(name).circuit.since_ms};
  }
  /// A circuit has another state, or another generation.
  std::function<void(const std::string& circuit)> on_circuit_changed = [](const std::string&) {};
  /// By how much longer a ready task of an open circuit waits, up to `most`.
  std::function<Duration(milliseconds most)> spread_of = [this](milliseconds most) {
    return scheduler_.between(Duration{0}, most);
  };

  /// Ends tasks that expired in the worker's hands. Gives those.
  [[nodiscard]] std::set<TaskId> expire_claimed(std::int64_t worker, const std::vector<runtime::Attempt>& attempts,
                                                std::int64_t session);
  /// `sent_at`: a report says how long before its sending the handler ended. So a late statement makes the end later.
  [[nodiscard]] std::set<TaskId> complete(std::int64_t worker, std::span<const runtime::Report> reports,
                                          TimePoint sent_at);
  /// A batch of the worker was written, perhaps an empty one.
  [[nodiscard]] bool has_reported(std::int64_t worker) const { return reporters_.contains(worker); }
  /// A handler's own transaction, with what it has written. False if the worker does not hold the attempt: then nothing
  /// is committed.
  bool complete_in(std::int64_t worker, const runtime::Attempt& attempt);

  // Steps and events of handlers: database_steps.cpp.
  struct Recorded {
    bool is_held = false;
    const StepRow* step = nullptr;  // on record
    int attempt = 0;                // that has recorded it
  };
  [[nodiscard]] Recorded recorded_step(std::int64_t worker, const runtime::Attempt& attempt, const std::string& name);
  /// Nothing if the worker does not hold the attempt.
  [[nodiscard]] std::optional<std::set<std::string>> names_of_steps(std::int64_t worker,
                                                                    const runtime::Attempt& attempt);
  /// False if the worker does not hold the attempt: then nothing is recorded.
  [[nodiscard]] bool record_step(std::int64_t worker, const runtime::Attempt& attempt, const std::string& name,
                                 std::int64_t value);
  struct LastCheckpoint {
    bool is_held = false;
    std::optional<CheckpointRow> row = {};
  };
  [[nodiscard]] LastCheckpoint last_checkpoint(std::int64_t worker, const runtime::Attempt& attempt,
                                               const std::string& name);
  /// False if the worker does not hold the attempt: then nothing is saved.
  [[nodiscard]] bool save_checkpoint(std::int64_t worker, const runtime::Attempt& attempt, const std::string& name,
                                     std::int64_t place);
  enum class StepIn {
    recorded,
    lost,    ///< the worker does not hold the attempt: nothing is committed
    twice,   ///< the attempt has recorded the step already: nothing is committed
    locked,  ///< it waits for the task's row, which another session has locked
  };
  /// As record_step, in a handler's own transaction, with what its step has written.
  StepIn step_in(std::int64_t worker, const runtime::Attempt& attempt, const std::string& name, std::int64_t value);
  struct Wait {
    runtime::WaitPlan::Answer answer = runtime::WaitPlan::Answer::lost;
    std::optional<std::int64_t> payload = {};
    std::optional<milliseconds> left = {};
  };
  [[nodiscard]] Wait wait_durably(std::int64_t worker, const runtime::Attempt& attempt, const std::string& name,
                                  bool for_event, milliseconds time);
  /// The transaction of an emit. Until its end no wait for the event begins, and the rows that it resumes are locked.
  struct Emission {
    Transaction transaction;
    std::string name;
    std::int64_t payload = 0;
    std::map<TaskId, std::int64_t> resumed = {};  // with their positions
  };
  /// Nothing where it waits for a lock: of another emit of the name, or of a row.
  [[nodiscard]] std::optional<Emission> emit(const std::string& name, std::int64_t payload);
  void commit(const Emission& emission);
  void roll_back(const Emission& emission);

  [[nodiscard]] runtime::Holder who_holds(std::int64_t worker, const runtime::Attempt& attempt) const;
  [[nodiscard]] std::size_t promote(const Queues& queues = {"default"});
  [[nodiscard]] bool has_ready(const std::vector<runtime::QueueClaim>& in) const;
  [[nodiscard]] std::optional<milliseconds> due_in(const Queues& queues = {"default"}) const;
  void fall_asleep(std::int64_t worker);
  void wake_up(std::int64_t worker, std::int64_t session);
  [[nodiscard]] runtime::Sleep::Transactions transaction_bounds() {
    return {oldest_transaction(), now_.next_transaction++};
  }
  [[nodiscard]] std::int64_t oldest_transaction() const;
  void wake_others(std::int64_t worker, const Queues& queues = {"default"});
  /// The new entry; 0: none was made.
  [[nodiscard]] std::int64_t sum_up_claims(std::int64_t worker, const std::vector<TaskId>& held, std::int64_t last,
                                           std::int64_t session);
  struct Settlement {
    runtime::Settling::Answer answer;
    std::vector<std::optional<runtime::Place>> settled;  // for each part
  };
  [[nodiscard]] Settlement settle_watermarks(const std::vector<runtime::ServedQueues::Part>& parts,
                                             std::int64_t next_transaction,
                                             const std::vector<std::string>& names = {"default"});
  void stop_worker(std::int64_t worker);
  [[nodiscard]] runtime::Outlook upkeep_due(std::int64_t worker, std::optional<milliseconds> back = std::nullopt) const;
  /// When the next tick of the schedule is due, below 0 if it is overdue.
  [[nodiscard]] std::optional<milliseconds> tick_due_in() const;
  struct Fired {
    int schedules = 0;
    std::optional<milliseconds> due_in = {};
  };
  Fired fire_due_ticks();
  struct Declared {
    std::string_view outcome;
    ScheduleSettings in_force = {};
    std::int64_t others = 0;  // live workers that declare the schedule otherwise
  };
  /// The schedule of a worker's program. `a_time_in`: as for change_schedule, of the declaration that comes into force.
  /// Nothing: no live worker declares a schedule.
  std::optional<Declared> declare_schedule(std::int64_t worker, const ScheduleSettings& settings,
                                           milliseconds a_time_in);
  void write_progress(const Progress& said);
  void refuse(Work work, Duration time);
  [[nodiscard]] TimePoint refused_until(Work work) const { return refused_until_.at(static_cast<std::size_t>(work)); }
  [[nodiscard]] bool is_refused(Work work) const { return scheduler_.now() < refused_until(work); }
  /// A tick falls due within less than `distance`, or did so.
  [[nodiscard]] bool is_near_a_tick(Duration distance) const;
  /// Gives how many.
  std::size_t end_lapsed_leases(std::int64_t worker);
  /// Pending tasks that have expired, up to `back` ago. Gives how many were ended.
  std::size_t expire(std::optional<milliseconds> back = std::nullopt);
  // The rescue of tasks: database_upkeep.cpp.
  [[nodiscard]] std::vector<std::int64_t> workers_to_rescue();
  [[nodiscard]] std::vector<runtime::RescueTasks::Claim> claims_of(std::int64_t worker);
  /// A transaction of `rescuer`. Gives how many tasks of `worker` were rescued. Nothing: the rescue is done.
  std::optional<std::size_t> rescue_batch(std::int64_t rescuer, std::int64_t worker,
                                          const std::vector<std::int64_t>& claims);
  /// A transaction. False: the rescue is done.
  bool mark_rescued(std::int64_t worker);
  /// PostgreSQL refuses to change the worker's tasks for a while, by a trigger or a constraint of an operator.
  void refuse_rescue_of(std::int64_t worker, Duration time);
  [[nodiscard]] TimePoint refuses_rescue_until(std::int64_t worker) const;
  [[nodiscard]] bool is_rescue_refused(std::int64_t worker) const {
    return scheduler_.now() < refuses_rescue_until(worker);
  }

  /// When a lease lapses unless it is renewed, by the time of the simulation.
  [[nodiscard]] TimePoint lapses_at(std::int64_t worker) const {
    return now_.workers.at(worker).lease_until - clock_ahead_;
  }

  /// When a pending task is due, by the time of the simulation.
  [[nodiscard]] TimePoint due_at(TaskId id) const { return now_.tasks.at(id).due_at - clock_ahead_; }

  /// Sets the server's clock, ahead or back.
  void step_clock(Duration time) { clock_ahead_ += time; }
  [[nodiscard]] bool clock_was_set() const noexcept { return clock_ahead_ != Duration{0}; }
  void lock(TaskId id, Duration time) { now_.tasks.at(id).locked_until = scheduler_.now() + time; }

  /// Of several tasks that one statement makes ready, it is not said which comes first: conformance takes PostgreSQL's
  /// order over.
  void adopt_position(TaskId id, std::int64_t position) { now_.tasks.at(id).position = position; }
  /// The last number of the sequence that gives ids and positions.
  [[nodiscard]] std::int64_t last_position() const noexcept { return last_position_; }

  /// Whether the task is pending after its expires_at; with `back`, no longer after it than that.
  [[nodiscard]] bool has_expired(const Task& task, std::optional<milliseconds> back = {}) const;
  [[nodiscard]] const TaskRows& tasks() const noexcept { return now_.tasks; }
  [[nodiscard]] const std::set<TaskId>& live() const noexcept { return now_.live; }
  [[nodiscard]] const AttemptRows& attempts() const noexcept { return now_.attempts; }
  [[nodiscard]] const Ledger& ledger() const noexcept { return now_.ledger; }
  [[nodiscard]] const std::map<std::int64_t, WorkerRow>& workers() const noexcept { return now_.workers; }

 private:
  [[nodiscard]] TimePoint now() const { return scheduler_.now() + clock_ahead_; }
  /// Of a worker whose registration was lost: one whose lease was ended, which nobody else sees.
  [[nodiscard]] WorkerRow& row_of(std::int64_t worker);
  [[nodiscard]] bool has_session(std::int64_t worker, std::int64_t session) const;
  [[nodiscard]] bool is_locked(const Task& task) const {
    return task.row_locks > 0 || scheduler_.now() < task.locked_until;
  }
  /// Nothing if it has ended, or another session has locked it.
  [[nodiscard]] Task* unlocked(TaskId id);
  /// Nothing unless the worker runs the attempt.
  [[nodiscard]] Task* held(std::int64_t worker, const runtime::Attempt& attempt);
  /// Steps of attempts up to this one do not count.
  [[nodiscard]] int steps_since(TaskId id) const;
  [[nodiscard]] const StepRow* counting_step(TaskId id, const std::string& name) const;
  void suspend(TaskId id, Task& task, const std::string& name, WaitRow wait);
  [[nodiscard]] std::vector<TaskId> waiting_for(const std::string& name) const;
  void release_locks(const Emission& emission);
  [[nodiscard]] TimePoint fires_at_of(TimePoint tick) const;
  [[nodiscard]] TimePoint looked_after_at() const;
  [[nodiscard]] TimePoint first_to_fire() const;
  [[nodiscard]] std::size_t waiting_ticks() const;
  void forget_ended_tasks();
  void fire_schedule();
  void settle_times_before_change();
  void skip_until(TimePoint time, ScheduleRow::Outcome reason);
  void note_last_tick(std::optional<TimePoint> time);
  void hand_range_on(TimePoint tick, const ScheduleRow::Tick& skipped);
  void start_waiting_tick();
  void start_tick(TimePoint time, bool fires_beside_others);
  void decide_tick(TimePoint time, Overlap overlap, bool is_backfilled);
  [[nodiscard]] std::optional<ScheduleSettings> declared_now() const;
  [[nodiscard]] std::string_view adopt_declaration(const ScheduleSettings& declared, milliseconds a_time_in);
  [[nodiscard]] bool may_take_effect(const CallKey& key) const;
  [[nodiscard]] bool is_to_cancel_others() const;
  void cancel_earlier_ticks();
  void supersede_waiting();
  /// Whether a call finds the task, which may be its own transaction that has ended it.
  [[nodiscard]] bool is_held(const KeyRow& row, const KeyRule& rule, bool has_ended) const;
  void lock_row(Transaction& transaction, TaskId id);
  void hold_row(Transaction& transaction, TaskId id);
  [[nodiscard]] Unique take_key(Transaction& transaction, const NewTask& task);
  [[nodiscard]] Unique::Outcome change_holder(Transaction& transaction, const NewTask& task, TaskId id);
  void end_expired_holder(const std::string& key);
  void commit_keys(const Transaction& transaction);
  void note_args(TaskId id, const HolderChange& change);
  void release_keys(const Transaction& transaction);
  /// Another task that has not ended took the key last.
  [[nodiscard]] bool has_other_holder(TaskId id, const Task& task) const;
  void end(TaskId id, Task& task, std::string_view status);
  [[nodiscard]] std::vector<Claimed> claim_from(std::int64_t worker, const WorkerRow& row,
                                                const runtime::QueueClaim& claim);
  void give_back(TaskId id, Task& task);
  void place_in_front(Task& task);
  void end_lease(WorkerRow& row);
  [[nodiscard]] bool can_be_rescued(const WorkerRow& row) const {
    return (row.lease_ended || mutant_ == Mutant::rescue_of_live_leases) && !row.rescued;
  }
  [[nodiscard]] std::set<TaskId> held_by_claims(std::int64_t worker, const std::vector<std::int64_t>& claims);
  void rescue(TaskId id, Task& task, std::int64_t worker);
  void record(TaskId id, Task& task, const lifecycle::Transition& transition, std::int64_t worker);
  void run_again(TaskId id, Task& task, const lifecycle::NextRun& next, TimePoint finished_at);
  void write_circuit(const std::string& name, const detail::Circuit& after);
  [[nodiscard]] std::int64_t now_ms() const {
    return std::chrono::floor<milliseconds>(now().time_since_epoch()).count();
  }
  void notify_sleepers(const std::string& queue);
  void notify(std::int64_t worker, const std::string& queue);

  Scheduler& scheduler_;
  const Mutant mutant_;
  const std::size_t tasks_at_once_;
  Duration clock_ahead_{0};
  std::map<std::string, QueueRow> queues_;             // that operators have changed
  std::map<std::string, std::int64_t> circuit_locks_;  // the number of the lock, by circuit
  std::array<TimePoint, 4> refused_until_{};           // by work
  std::map<std::int64_t, TimePoint> refuses_rescue_;   // until then, by worker
  Durable now_;
  WorkerRow lost_row_;
  std::uint64_t history_ = 0;
  std::set<std::int64_t> reporters_;  // workers that have written a batch
  std::set<std::int64_t> open_;       // transactions
  std::set<std::string> taking_;      // keys that open transactions take
  std::set<std::string> emitting_;    // events of which an emit is not committed yet
  std::int64_t last_position_ = 0;
  std::int64_t last_claim_ = 0;
  std::int64_t last_worker_ = 0;
  std::int64_t last_lock_ = 0;  // of a circuit
};

}  // namespace dogged::sim
