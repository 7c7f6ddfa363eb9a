// Runs random statements on the model and on PostgreSQL, and compares what they answer and leave. conformance.cpp has
// the statements of tasks, leases, claims and reports. conformance_steps.cpp has the statements of steps, events and
// progress, and conformance_keys.cpp the statements of unique keys. conformance_ticks.cpp has the statements of a
// schedule, conformance_circuits.cpp the statements of circuits and retry budgets, and conformance_calls.cpp the calls
// that clients may repeat.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <spdlog/logger.h>

#include "base/wake_fd.hpp"
#include "database.hpp"
#include "db/connection.hpp"
#include "mutant.hpp"
#include "scheduler.hpp"
#include "support/rows.hpp"
#include "tasks/core/claimed_task.hpp"

namespace dogged::sim {

using runtime::Attempt;
using runtime::Report;
using std::chrono::minutes;

// No sum of delays, leases and steps of time equals another, so nothing falls due within the milliseconds of real time
// that a run takes.
inline constexpr minutes delay{30};
inline constexpr minutes lease{30};
inline constexpr minutes until_expiry{25};         // after a task is due
inline constexpr minutes until_holder_expires{5};  // after it is due: the next step of time ends it
inline constexpr minutes until_latest{33};         // of a debounce, after the holder was enqueued
inline constexpr minutes step_of_time{20};
inline constexpr std::size_t tasks_at_once_in_postgres = 1000;
inline constexpr std::int64_t tasks_looked_for_in_model = 4;
inline const std::vector<std::string> queue_names{"default", "mail", "bulk"};
inline const std::vector<std::string> task_names{"work", "fragile"};
inline const std::vector<int> args_versions{1, 1};

class Different : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class Value>
std::string shown(const Value& value) {
  std::ostringstream text;
  text << value;
  return text.str();
}
inline std::string shown(const std::string& value) { return value; }
template <class Value>
std::string shown(const std::optional<Value>& value) {
  return value ? shown(*value) : "none";
}
template <class Value>
std::string shown(const std::set<Value>& values) {
  std::string text = "{";
  for (const Value& value : values) text += (text.size() > 1 ? " " : "") + shown(value);
  return text + "}";
}

template <class Value>
void require_alike(const std::string& what, const Value& model, const Value& postgres) {
  if (model == postgres) return;
  throw Different{what + ": " + shown(model) + " in the model, " + shown(postgres) + " in PostgreSQL"};
}

/// Rows as text, a line for each.
using Lines = std::set<std::string>;

/// As PostgreSQL writes jsonb.
inline std::string as_json(const Args& args) {
  std::string text = "[";
  for (const std::int64_t number : args) text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + "]";
}

inline std::int64_t in_minutes(milliseconds time) { return std::chrono::round<minutes>(time).count(); }

class Comparison {
 public:
  Comparison(const std::string& url, std::uint64_t seed, Mutant mutant);

  /// Throws Different.
  void step();
  /// Lets a lease lapse, and registers a process by the name of that lease. It is the last step of each seed: drawn by
  /// chance, this registration came once in a hundred seeds.
  void take_lapsed_name();
  [[nodiscard]] const std::vector<std::string>& trace() const noexcept { return trace_; }

 private:
  // Choices.
  [[nodiscard]] std::int64_t any_worker();
  template <class Fits>
  [[nodiscard]] std::optional<TaskId> any_task(Fits fits);
  [[nodiscard]] std::optional<TaskId> any_task();
  [[nodiscard]] std::optional<TaskId> any_task(Task::State state);
  [[nodiscard]] std::optional<TaskId> any_dead_letter();
  [[nodiscard]] const std::string& any_queue();
  [[nodiscard]] Queues some_queues();
  [[nodiscard]] const Queues& queues_of(std::int64_t worker) const { return model_.workers().at(worker).queues; }
  [[nodiscard]] std::int64_t session_of(std::int64_t worker);
  [[nodiscard]] std::vector<Attempt> some_attempts();
  [[nodiscard]] std::vector<runtime::Watermarks::Range> some_ranges();
  /// Of a running task, mostly with its right worker and attempt.
  struct Running {
    std::int64_t worker = 0;
    Attempt attempt;
  };
  [[nodiscard]] std::optional<Running> any_running();
  /// The attempt has recorded a step. So its handler has begun, and no worker gives it back.
  [[nodiscard]] bool has_steps(const Attempt& attempt) const;
  [[nodiscard]] const std::string& any_of(const std::vector<std::string>& names);
  [[nodiscard]] bool holds_lock() const noexcept { return locked_.has_value(); }
  /// PostgreSQL would wait for the row of the task.
  [[nodiscard]] bool would_wait(TaskId id) const { return id == locked_ || model_.tasks().at(id).row_locks > 0; }
  void note(const std::string& what) { trace_.push_back(what); }

  void begin_transaction();
  void shift_ticks();
  [[nodiscard]] bool is_no_moment_for_ticks() const;
  [[nodiscard]] ScheduleSettings some_settings();
  [[nodiscard]] ScheduleSettings some_declaration();
  [[nodiscard]] std::string in_json(const ScheduleSettings& settings) const;
  void choose_time_zone();
  [[nodiscard]] milliseconds time_of_schedule_in();
  [[nodiscard]] std::int64_t next_tick_of_postgres();
  void note_next_tick();
  [[nodiscard]] Duration jitter_in_postgres(TimePoint tick, milliseconds most);
  void publish_circuits();
  [[nodiscard]] const std::string& any_circuit();
  void change_circuit(const std::string& name,
                      const std::function<detail::Circuit(const circuit::SharedCircuit&)>& how);
  void unlock_circuit();
  void write_unique(const Database::NewTask& task, const Database::Unique& model);
  /// A call of a client, which repeats it as it was.
  struct ClientCall {
    int how_many = 0;
    Database::NewTask task = {};
    std::optional<TaskId> cancels = {};  // it enqueues nothing
  };
  [[nodiscard]] std::optional<ClientCall> some_call();
  [[nodiscard]] std::string answer_of_model(const CallKey& key, const ClientCall& call, bool asks_first);
  [[nodiscard]] std::string answer_of_postgres(const CallKey& key, const ClientCall& call, bool asks_first);

  /// The seed chooses how often each kind is tried, and leaves some out. The rest then meet each other more often
  /// (swarm testing, Groce et al. 2012).
  void choose_kinds();
  void any_step();
  void compare_all();

  // One step of each kind. A step that does not fit does nothing, and has no note.
  void enqueue();
  void end_transaction();
  void cancel();
  void reschedule();
  void replay();
  void register_worker();
  void register_as(const std::string& name, std::optional<std::int64_t> previous);
  void heartbeat();
  void begin_claim_session();
  void claim();
  void release_unknown();
  void release();
  void complete();
  void complete_in();
  void set_schedule();
  void pause_schedule();
  void backfill_schedule();
  void fire_due_ticks();
  void declare_schedule();
  void enqueue_unique();
  void make_call();
  void ask_for_record();
  void ask_for_names();
  void record_step();
  void ask_for_checkpoint();
  void save_checkpoint();
  void write_progress();
  void step_in();
  void wait_durably();
  void emit();
  void end_emit();
  void read_circuits();
  void ask_circuit();
  void report_to_circuit();
  void change_circuit_by_hand();
  void lock_circuit();
  void defer();
  void defer_ready();
  void set_queue();
  void who_holds();
  void expire();
  void expire_claimed();
  void pause();
  void stop_worker();
  void promote();
  void look();
  void fall_asleep();
  void wake_up();
  void ask_transactions();
  void sum_up_claims();
  void settle_watermarks();
  void ask_upkeep();
  void end_lapsed_leases();
  void rescue();
  std::vector<std::int64_t> compare_workers_to_rescue();
  void mark_rescued(std::int64_t lost);
  [[nodiscard]] std::pair<std::size_t, bool> rescue_in_model(std::int64_t worker);
  void let_time_pass();
  void lock();
  void unlock();

  template <class Released>
  void cancel_released(const std::vector<Released>& released);
  void wake_others(std::int64_t worker);
  Report report_of(TaskId id, int attempt);

  // Comparisons of the state of both.
  void compare_tasks();
  void compare_position(TaskId id, std::int64_t model, std::int64_t postgres);
  void compare_lines();
  void compare_queues();
  void compare_cancelling(std::int64_t worker);
  void compare_notifications();
  [[nodiscard]] static std::string lines_of_postgres();
  // The model's lines. The query of the same name gives PostgreSQL's.
  void add_attempts(Lines& lines) const;
  void add_workers(Lines& lines) const;
  void add_claims(Lines& lines) const;
  void add_keys(Lines& lines) const;
  void add_steps(Lines& lines) const;
  void add_checkpoints(Lines& lines) const;
  void add_waits(Lines& lines) const;
  void add_ticks(Lines& lines) const;
  void add_circuits(Lines& lines) const;
  void add_progress(Lines& lines) const;
  void add_declarations(Lines& lines) const;
  void add_calls(Lines& lines) const;
  static const char* const query_of_attempts;
  static const char* const query_of_workers;
  static const char* const query_of_claims;
  static const char* const query_of_keys;
  static const char* const query_of_steps;
  static const char* const query_of_checkpoints;
  static const char* const query_of_waits;
  static const char* const query_of_ticks;
  static const char* const query_of_circuits;
  static const char* const query_of_progress;
  static const char* const query_of_declarations;
  static const char* const query_of_calls;

  using Step = void (Comparison::*)();
  std::vector<std::pair<std::int64_t, Step>> kinds_;  // each with how often it is tried
  Scheduler scheduler_;
  Database model_;
  db::Connection postgres_;
  db::Connection producer_;
  db::Connection locker_;
  db::Connection emitter_;
  db::Connection circuit_locker_;
  db::Connection listener_;
  runtime::WakeFd never_;
  std::shared_ptr<spdlog::logger> log_ = std::make_shared<spdlog::logger>("conformance");
  std::vector<std::string> trace_;

  std::optional<Database::Transaction> open_;             // of the producer
  std::optional<TaskId> locked_;                          // by the locker
  std::optional<Database::Transaction> locking_;          // the locker's transaction
  std::optional<std::string> locked_circuit_;             // by the locker of circuits
  std::optional<Database::Transaction> locking_circuit_;  // its transaction
  std::optional<Database::Emission> emitting_;            // the emitter's transaction
  std::int64_t last_position_before_emit_ = 0;
  std::uint64_t queue_changes_ = 0;
  std::set<std::tuple<TaskId, int, std::string>> recorded_;  // steps of attempts
  std::int64_t last_value_ = 0;                              // of steps, events and progress
  std::map<std::int64_t, std::vector<ClientCall>> calls_;    // by producer
  struct Tokens {
    std::int64_t model = 0;
    std::int64_t postgres = 0;
  };
  Tokens settled_before_;
  Tokens seen_before_;
  std::int64_t last_position_before_ = 0;   // of this step
  std::string time_zone_;                   // of the schedule
  TimePoint next_tick_;                     // before this step
  std::int64_t next_tick_in_postgres_ = 0;  // the same in µs since 1970
  bool model_notified_ = false;
  std::set<std::string> model_told_to_cancel_;  // leases of workers
  std::set<std::string> model_told_of_circuits_;
};

}  // namespace dogged::sim
