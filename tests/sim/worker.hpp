// A worker process of the simulation: the real cores against the model instead of PostgreSQL. Claims: ClaimPlan,
// Mailbox, SortingOut, RetryThrottle, QueueChanges, LastRelease and CircuitLedger. Attempts: Pool, and the ending of
// attempts. Reports: CompleterPlan, ReportBatches and ReportBatch. Leases: Lease, KeeperPlan, UpkeepPlan and
// RescueTasks. The process: Registering, Incarnation and Shutdown. The network between them loses requests, answers and
// notifications, and delivers statements late. Handlers take virtual time.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "callback.hpp"
#include "circuits/core/ledger.hpp"
#include "claim/core/following.hpp"
#include "claim/core/last_release.hpp"
#include "claim/core/mailbox.hpp"
#include "claim/core/plan.hpp"
#include "claim/core/queue_changes.hpp"
#include "claim/core/retry_throttle.hpp"
#include "claim/core/sorting_out.hpp"
#include "database.hpp"
#include "lease/core/keeper_plan.hpp"
#include "lease/core/lease.hpp"
#include "promises.hpp"
#include "report/core/batch.hpp"
#include "report/core/batches.hpp"
#include "report/core/completer_plan.hpp"
#include "run/core/ending.hpp"
#include "run/core/pool.hpp"
#include "runtime/core/incarnation.hpp"
#include "runtime/core/registering.hpp"
#include "runtime/core/shutdown.hpp"
#include "scheduler.hpp"
#include "script.hpp"
#include "step/core/known_steps.hpp"
#include "step/core/record_plan.hpp"
#include "step/core/wait_plan.hpp"
#include "upkeep/core/plan.hpp"
#include "upkeep/core/rescue_tasks.hpp"

namespace dogged::sim {

inline constexpr milliseconds heartbeat{500};
inline constexpr milliseconds lease_length{3'000};
inline constexpr milliseconds poll_interval{2'000};
inline constexpr milliseconds compares_again_after{1'000};  // declarations, after a refusal
inline constexpr std::int64_t looked_for_at_once{4};        // tasks of claims: so that some claims are left for later
inline constexpr std::size_t concurrency = 3;               // of each queue, unless an operator sets another one
inline constexpr milliseconds stop_grace{200};              // how long a handler may run on after its stop token is set
inline constexpr runtime::ReportBatches::Limits batch_limits{.reports = 4};  // so that not all reports fit into one
inline constexpr milliseconds until_given_up{400};                           // a statement that is not answered

/// How much goes wrong. All zero once faults have stopped.
struct Faults {
  int lost_request = 0;  // percent of statements
  int lost_answer = 0;
  int late_statement = 0;
  int deadly_attempts = 0;    // percent of attempts of deadly tasks
  int failing_attempts = 0;   // percent of attempts
  int snoozing_attempts = 0;  // percent of attempts
  int refused_results = 0;    // percent of attempts that succeed: PostgreSQL refuses their batch, which is halved
  int long_attempts = 0;
  int failures_for_good = 0;   // percent of attempts that fail
  int late_wake_ups = 0;       // percent of those statements, also in the calm
  int late_releases = 0;       // of tasks that were claimed ahead
  int lost_notifications = 0;  // percent of those to upkeep
};

/// Something that happens to the workers, and that a run can leave out: a fault, or an operation of producers and
/// operators.
struct Incident {
  enum class Kind { disturbance, production, call, statement, emission, notification, refusal, queue_change };

  Kind kind;
  int who = 0;  // the worker, of a statement and of a notification
  std::int64_t number = 0;

  friend auto operator<=>(const Incident&, const Incident&) = default;
};

/// Shared by all workers of a run.
struct World {
  Scheduler& scheduler;
  Database& database;
  Mutant mutant = Mutant::none;
  const std::set<Incident>& left_out;
  std::vector<Incident> happened = {};
  Faults faults = {};
  bool only_polls = false;                     // no worker listens
  bool has_circuits = false;                   // tasks have circuits
  std::set<std::string> broken_services = {};  // the circuits whose attempts all fail
  promises::Probes probes = {};
  promises::PutOff put_off = {};
  std::optional<ScheduleSettings> declared = {};  // by the program of workers that begin from here on
  bool circuits_are_heard = false;                // from here on: no worker is dead, frozen or cut off
  TimePoint server_is_back_at = {};
  promises::Begun begun = {};
  promises::StepValues step_values = {};
  promises::SavedPlaces saved_places = {};
  std::int64_t last_value = 0;                                    // of a step: each run of a step gives another one
  std::int64_t last_progress = 0;                                 // each handler says another one
  bool progress_is_timely = false;                                // from here on
  bool retries_are_timely = false;                                // from here on
  std::map<std::pair<TaskId, int>, TimePoint> begins_until = {};  // such retries
  std::map<std::string, std::size_t> at_once = {};                // as set for queues: all workers know
  std::set<TaskId> half_lost = {};  // tasks of which a failover has lost something: an attempt may begin again
  TimePoint lost_renewals_until{};  // a failover has lost renewals: workers hold leases that others may end
  bool traces_steps = false;        // of claimers as well
  std::function<void(const std::string&)> trace = [](const std::string&) {};

  [[nodiscard]] Random stream_of(const Incident& incident) const {
    return scheduler.stream(static_cast<std::uint64_t>(incident.kind) << 8 | static_cast<std::uint64_t>(incident.who),
                            static_cast<std::uint64_t>(incident.number));
  }
  [[nodiscard]] bool happens(const Incident& incident) {
    if (left_out.contains(incident)) return false;
    happened.push_back(incident);
    return true;
  }

  /// In the calm after faults: later than it is due no task begins. For a worker that listens, less than half of the
  /// poll interval.
  [[nodiscard]] milliseconds latest_begin() const {
    return milliseconds{900} + (only_polls ? poll_interval : milliseconds{0});
  }
  /// A worker notices a notification or a known due time within this time.
  [[nodiscard]] milliseconds latest_told() const {
    return milliseconds{300} + (only_polls ? poll_interval : milliseconds{0});
  }
  /// A worker goes by a queue's new settings within this time.
  [[nodiscard]] milliseconds latest_followed() const {
    return milliseconds{300} + (only_polls ? runtime::Following::oldest : milliseconds{0});
  }
};

class Worker {
 public:
  Worker(World& world, int number, std::vector<std::string> queues);

  /// kill -9: all knowledge is gone, and statements under way may still arrive. Another process begins after `delay`.
  void crash(Duration delay);
  /// The worker stands still for `time`: statements' answers and notifications wait.
  void freeze(Duration time);
  /// A shutdown in order, as at a deploy. Another process begins after `delay`.
  void stop(Duration delay);
  /// A shutdown in order, after which the process begins anew by itself.
  void restart();
  /// All its connections are lost, and so are the notifications under way.
  void lose_server();
  /// The claimer's connection breaks, if the claimer waits on it.
  void break_connection();
  /// Notifications that are under way to it are lost.
  void lose_notifications() { heard_.clear(); }
  /// Nothing while it is down, or has not registered.
  [[nodiscard]] std::optional<std::int64_t> lease() const {
    return life_ ? std::optional{life_->lease.id()} : std::nullopt;
  }
  [[nodiscard]] const std::vector<std::string>& queues() const noexcept { return queues_; }
  /// The worker has sent so many statements in all its lives.
  [[nodiscard]] std::int64_t statements() const noexcept { return statements_; }
  /// Tasks of the queue, which it has claimed ahead, wait for a thread.
  [[nodiscard]] bool has_waiting(const std::string& queue) const;
  /// Another worker ends its lease.
  void check_knows_first() const;
  void notify(std::int64_t lease, const std::string& queue);
  /// Cancellation was requested of a task that the worker of this lease runs.
  void tell_of_cancellation(std::int64_t lease);
  /// A worker has registered, or a schedule was changed.
  void tell_upkeep(const runtime::ToldToUpkeep& told);
  /// The settings of queues have changed.
  void tell_queues_changed();
  void tell_circuits_changed();
  /// Nothing goes wrong any more, and all that the worker knew of its attempts had time to be written.
  void check_circuits() const;

 private:
  /// The place of one thread, and the handler in it. A handler that was given up runs on there.
  struct Runner {
    runtime::Pool::Slot slot = {};
    int handlers = 0;  // that have begun or ended: the end of an earlier one comes too late
    StopReason reason = StopReason::none;
    bool completion_begun = false;
    // Of a handler with steps.
    Script script = {};
    std::size_t item = 0;  // of the script
    runtime::KnownSteps known = {};
    runtime::WaitPlan wait = {};
    Database::Wait waited = {};  // the latest answer
  };
  /// The threads of one queue.
  struct Executor {
    std::string queue;
    runtime::Pool pool;
    std::vector<std::shared_ptr<Runner>> runners = {};                             // runners[i] has the pool's slot i
    runtime::QueueTerms terms = {.concurrency = concurrency, .retry_budget = {}};  // that are in force
    std::unique_ptr<runtime::RetryThrottle> retries = {};
    TimePoint budget_since = {};
    promises::BegunAttempts begun = {};  // since then
  };
  /// A process that registers.
  struct Candidate {
    runtime::Registering registering;
    bool is_again = false;
    std::optional<std::int64_t> previous;   // the lease of this process, also one that a failed try has registered
    TimePoint asked_at = {};                // for the latest lease
    std::optional<Duration> down_for = {};  // told to stop, and for how long
  };
  /// The services under one lease. Events for an earlier life are not delivered.
  struct Life {
    Life(std::int64_t id, const Candidate& candidate, bool listens, TimePoint now);
    runtime::Lease lease;
    runtime::KeeperPlan keeper;
    runtime::Incarnation incarnation;
    runtime::UpkeepPlan upkeep;
    runtime::CircuitLedger circuits = {};
    std::map<std::string, promises::CircuitFailures> failures = {};  // by circuit
    std::vector<Executor> executors = {};                            // in the order of the queues
    std::optional<runtime::Shutdown> shutdown = {};                  // once it drains
    std::vector<runtime::ClaimedTask> unstarted = {};                // taken from the executors, to be given back
    std::optional<runtime::LastRelease> last_release = {};
    std::vector<runtime::Report> given_up = {};  // of handlers that were given up at the end
    std::optional<Duration> down_for = {};       // after a shutdown; nothing: the process begins anew by itself
    bool stops_services = false;                 // the last step of a shutdown
    bool completer_finishes = false;
    bool awaits_completer = false;  // the shutdown does
    bool owes_circuits = false;     // events are due that the completer must write before its end
    Progress unwritten = {};        // the keeper's inbox
    Progress in_flight = {};        // the keeper is writing it
    bool owes_progress = false;     // the keeper must write what was said up to the stop
    std::int64_t last_before_stop = 0;
    bool is_keeper_connected = false;
    bool has_claimer_ended = false;
    bool has_keeper_ended = false;
    runtime::ToldToUpkeep told_to_upkeep = {};
    bool upkeep_waits = false;
    std::uint64_t upkeep_waits_so_far = 0;
    std::optional<runtime::RescueTasks> rescue = {};  // under way
    std::size_t rescued_tasks = 0;                    // in it
    bool owes_rescue = false;                         // of tasks whose leases this worker has ended
    bool gave_ticks_up = false;                       // of a mutant
  };

  void begin_life();
  void end_life();

  // Registering: worker_registering.cpp.
  void begin_process();
  void end_process(Duration down_for);
  void begin_registering(runtime::Registering::Occasion occasion, std::optional<std::int64_t> previous);
  void registering_step();
  template <class Statement>
  void ask_to_register(Statement statement);
  void declare_first();
  void withdraw();
  void sign_off(Duration down_for);
  /// Nothing happens if this life has ended, and nothing while the worker stands still.
  template <class What>
  void later(Duration delay, What what) {
    world_.scheduler.after(delay, [this, lives = lives_, what = std::move(what)]() mutable {
      if (lives != lives_) return;
      if (now() < frozen_until_) return later(frozen_until_ - now(), std::move(what));
      what();
    });
  }
  /// Asks the database: `statement` runs there, and gives what the worker does with the answer. `fails` runs in the
  /// worker where no answer comes.
  template <class Statement, class Fails>
  void ask(Statement statement, Fails fails);
  [[nodiscard]] std::int64_t lease_id() const { return life_->lease.id(); }
  [[nodiscard]] TimePoint now() const { return world_.scheduler.now(); }

  void claimer_step();
  /// With what is left to do of the last answer, or with the next step.
  void claimer_continue();
  template <class Statement>
  void ask_claimer_first(Statement statement);
  template <class Statement>
  void ask_claimer(Statement statement);
  void claimer_failed();
  void claimer_ended();
  void arrives_late(Callback statement);
  void carry_out(runtime::ClaimPlan::Action action);
  void hear(const runtime::ClaimPlan::Action& action);
  void wait(const runtime::ClaimPlan::Action& action);
  void claim(std::vector<runtime::QueueClaim> claims);
  [[nodiscard]] std::vector<runtime::ClaimedTask> taken(const std::vector<Database::Claimed>& claimed,
                                                        TimePoint asked_at) const;
  void settle(const runtime::Settling::Question& question);
  void follow_queues();
  void follow(std::size_t index, runtime::QueueSettings settings);
  void give_back_paused(const std::vector<std::size_t>& paused);
  void give_back_stale();
  void give_back(const std::vector<runtime::ClaimedTask>& tasks);
  void end_expired(const std::vector<runtime::ClaimedTask>& expired);

  // Circuits and retry budgets: worker_circuits.cpp.
  using Chore = std::function<void()>;
  struct Claimed {
    runtime::QueueClaim claim;
    std::size_t queue = 0;
    std::vector<runtime::ClaimedTask> tasks = {};
    runtime::Place first = 0;
    bool has_more = false;
  };
  void hand_out(const std::shared_ptr<Claimed>& claimed);
  void hand_out(const Claimed& claimed, runtime::SortingOut sorting, const std::set<TaskId>& first_runs);
  void ask_circuit(const std::shared_ptr<runtime::SortingOut>& sorting, std::string_view circuit, std::size_t count);
  [[nodiscard]] runtime::SortedOut sorted_out(Executor& executor, runtime::SortingOut sorting,
                                              const std::set<TaskId>& first_runs);
  void defer(const std::vector<runtime::Deferral>& tasks);
  void defer_ready(const Claimed& claimed, const std::string& circuit);
  void refresh_circuits();
  static void change_retry_budget(Executor& executor, const std::optional<RetryBudgetSettings>& budget, TimePoint now);
  void note_event(std::string_view circuit, detail::CircuitEvent event);
  void note_not_begun(const std::vector<runtime::ClaimedTask>& tasks);
  void write_circuits();
  void write_next_circuit();
  template <class How, class Then, class Fails>
  void change_circuit(const std::string& name, How how, Then then, Fails fails);
  [[nodiscard]] std::vector<TaskId> release(std::int64_t lease, const std::vector<runtime::Attempt>& attempts,
                                            std::int64_t session) const;
  [[nodiscard]] std::vector<runtime::Attempt> held() const;
  [[nodiscard]] runtime::ClaimPlan::Capacity capacity() const;
  void tell_claimer(const runtime::Told& told);
  void tell_of_room();
  void wake_claimer();
  void end_wait();
  void hear_all();

  static void add_missing_runners(Executor& executor);
  void begin_tasks();
  [[nodiscard]] bool begin_next(Executor& executor, const std::shared_ptr<Runner>& runner);
  void begin(Executor& executor, const std::shared_ptr<Runner>& runner);
  [[nodiscard]] Random stream_of_handler(const runtime::ClaimedTask& task, std::uint64_t part) const;
  [[nodiscard]] double draw_for(const runtime::ClaimedTask& task) const;
  void check_begins(const runtime::ClaimedTask& task);
  void end_task(Executor& executor, const std::shared_ptr<Runner>& runner);
  void end_in_transaction(Executor& executor, const std::shared_ptr<Runner>& runner);
  void end_handler(Executor& executor, Runner& runner, int handler, runtime::HandlerEnd end);

  // Handlers with steps: worker_steps.cpp.
  void begin_script(Executor& executor, const std::shared_ptr<Runner>& runner, Kind kind);
  void next_item(Executor& executor, const std::shared_ptr<Runner>& runner);
  void pass_item(Executor& executor, const std::shared_ptr<Runner>& runner, std::optional<std::int64_t> value);
  void begin_step(Executor& executor, const std::shared_ptr<Runner>& runner);
  void ask_for_names(Executor& executor, const std::shared_ptr<Runner>& runner);
  void ask_for_record(Executor& executor, const std::shared_ptr<Runner>& runner);
  void run_step(Executor& executor, const std::shared_ptr<Runner>& runner);
  void record_step(Executor& executor, const std::shared_ptr<Runner>& runner, runtime::RecordPlan plan,
                   std::int64_t value);
  [[nodiscard]] bool try_record(runtime::RecordPlan plan, std::int64_t lease, const runtime::Attempt& attempt,
                                const std::string& name, std::int64_t value);
  void begin_loop(Executor& executor, const std::shared_ptr<Runner>& runner);
  void next_row(Executor& executor, const std::shared_ptr<Runner>& runner, std::int64_t place);
  void save_place(Executor& executor, const std::shared_ptr<Runner>& runner, std::int64_t place);
  void charge(Executor& executor, const std::shared_ptr<Runner>& runner, std::int64_t value);
  void wait(Executor& executor, const std::shared_ptr<Runner>& runner);
  void ask_about_wait(Executor& executor, const std::shared_ptr<Runner>& runner);
  void fail(Executor& executor, Runner& runner, std::string_view code);
  template <class Statement>
  void ask_for_handler(Executor& executor, const std::shared_ptr<Runner>& runner, Statement statement);
  template <class Statement, class Again>
  void try_for_handler(Executor& executor, const std::shared_ptr<Runner>& runner, Statement statement, Again again);
  /// Nothing happens if the handler has ended before.
  template <class What>
  void later_in_handler(Duration delay, const std::shared_ptr<Runner>& runner, What what) {
    later(delay, [runner, handler = runner->handlers, what = std::move(what)]() mutable {
      if (runner->handlers == handler) what();
    });
  }
  [[nodiscard]] runtime::Attempt attempt_of(const Runner& runner) const;

  void hand_on(Executor& executor, Runner& runner, runtime::Report report);
  void stop(Executor& executor, const runtime::Pool::Stop& stop);
  void stop_all(StopReason reason);
  [[nodiscard]] bool runs(const runtime::Attempt& attempt) const;
  [[nodiscard]] bool holds_any() const;
  [[nodiscard]] bool waits_or_is_busy() const;
  [[nodiscard]] runtime::Report give_up(Executor& executor, std::size_t index);
  void replace(Executor& executor, std::size_t index);
  void check_ends(const Runner& runner) const;
  void add(runtime::Report report);

  void completer_step();
  void completer_waits(TimePoint until);
  void prove();
  void proof_failed();
  void send();
  void sending_failed();
  void explain();
  void batch_goes_on();
  void note_taken(const runtime::ReportBatch::Taken& taken);
  void batch_failed(Duration pause);
  void finish_completer();
  void note_finish();
  void completer_ended();

  void keeper_step();
  template <class Statement>
  void ask_keeper(Statement statement);
  void beat();
  void look_for_cancellations();
  void wake_keeper();
  void keeper_failed();
  void keeper_ended();

  // The progress that handlers note: worker_progress.cpp.
  void say_progress_in(Duration time, const std::shared_ptr<Runner>& runner);
  void check_progress_in(Duration time, const runtime::Attempt& attempt, std::int64_t value);
  void write_progress();
  void progress_refused();
  void put_progress_back();
  [[nodiscard]] bool keeper_may_write_last() const;
  void check_last_progress() const;

  void watch();
  void on_lease(runtime::Lease::Turn turn);
  void note_deadline(TimePoint deadline);
  [[nodiscard]] TimePoint enforce_deadlines(Executor& executor);
  void look_at_lease(bool stop_requested = false);

  void carry_out_shutdown();
  void shutdown_step_ended(bool success);
  void wait_for(TimePoint until, Callable<bool> is_over, std::function<void(bool)> then);
  void take_back();
  void last_release_step();
  template <class Statement>
  void ask_for_shutdown(Statement statement);
  void give_up_handlers();
  void record_interrupted();
  void stop_services();
  void begin_again();

  // Upkeep: worker_upkeep.cpp.
  void note_for_upkeep(const runtime::ToldToUpkeep& told);
  [[nodiscard]] runtime::ToldToUpkeep take_told();
  void wake_upkeep();
  void stop_upkeep();
  void upkeep_ended();
  void upkeep_failed();
  void upkeep_step();
  void upkeep_waits(TimePoint until);
  template <class Statement>
  void ask_upkeep(Statement statement);
  void look(std::optional<milliseconds> look_back);
  void end_leases();
  void rescue();
  void list_workers_to_rescue();
  void rescue_tasks_of(const runtime::RescueTasks::Action& action);
  template <class Statement>
  void ask_for_rescue(std::int64_t worker, Statement statement);
  void rescue_refused(std::int64_t worker);
  void end_rescue();
  void fire_ticks();
  void ticks_refused();
  void compare();
  void comparison_refused();

  World& world_;
  const int number_;
  const std::vector<std::string> queues_;
  const Queues queue_set_{queues_.begin(), queues_.end()};
  const bool has_fixed_name_;
  std::string name_;                               // of the process
  std::optional<ScheduleSettings> declared_ = {};  // by its program
  TimePoint frozen_until_{};
  std::int64_t processes_ = 0;
  std::int64_t lives_ = 0;
  std::int64_t statements_ = 0;
  std::int64_t notifications_ = 0;      // to upkeep
  std::int64_t connections_ = 0;        // an answer on an earlier one is lost
  bool claimer_has_connection_ = true;  // false: it is lost, and the claimer has not noticed
  std::optional<Candidate> candidate_;
  std::optional<Life> life_;

  std::unique_ptr<runtime::ClaimPlan> plan_;
  runtime::Mailbox mailbox_;
  bool claimer_waits_ = false;
  bool is_woken_ = false;  // the claimer's wake descriptor is readable
  std::uint64_t waits_ = 0;
  std::vector<std::string> heard_;  // notifications, by queue
  bool queues_told_ = false;
  bool circuits_told_ = false;
  std::deque<Chore> chores_;  // what is left to do of the answer to a claim

  bool keeper_waits_ = false;
  std::uint64_t keeper_waits_so_far_ = 0;
  std::int64_t keeper_connections_ = 0;
  std::optional<std::int64_t> keeper_listens_on_;  // one of its connections
  TimePoint watches_at_ = runtime::never;
  std::uint64_t watches_ = 0;

  runtime::ReportBatches reports_{batch_limits};
  std::optional<runtime::ReportBatch> batch_;  // in flight
  bool has_made_ready_ = false;                // the batch in flight
  /// The reports to circuits that the completer writes, one after the other.
  struct CircuitWriting {
    runtime::CircuitLedger::EventsByCircuit left;
    std::vector<std::string> untried;
  };
  std::optional<CircuitWriting> writing_;
  runtime::CompleterPlan completer_;
  bool is_proving_ = false;
  TimePoint completer_wakes_at_ = runtime::never;
};

/// Writes the declarations of the program of the lease's worker.
void declare(Database& database, std::int64_t lease, const std::optional<ScheduleSettings>& declared);

/// Of a task's declaration.
[[nodiscard]] Kind kind_of(const runtime::ClaimedTask& task);

template <class Statement, class Fails>
void Worker::ask(Statement statement, Fails fails) {
  using namespace std::chrono_literals;
  Scheduler& scheduler = world_.scheduler;
  auto execute = [statement = std::move(statement), &database = world_.database,
                  history = world_.database.history()]() mutable {
    return database.history() == history ? std::optional{statement()} : std::nullopt;
  };
  const Incident incident{Incident::Kind::statement, number_, ++statements_};
  Random random = world_.stream_of(incident);
  const Faults& faults = world_.faults;
  const int lost = 10 * faults.lost_request;
  const int late = lost + 10 * faults.late_statement;
  const int unanswered = late + 10 * faults.lost_answer;
  const Duration there = random.between(20us, 2ms);
  const Duration back = random.between(20us, 2ms);
  const int fate = static_cast<int>(random.pick(0, 999));
  const bool goes_wrong = fate < unanswered && now() + there >= world_.server_is_back_at && world_.happens(incident);
  if (now() + there < world_.server_is_back_at) {
    later(random.between(1ms, 100ms), std::move(fails));
  } else if (goes_wrong && fate < late) {
    world_.trace("worker " + std::to_string(number_) + ": a request " + (fate < lost ? "is lost" : "arrives late"));
    later(random.between(1ms, until_given_up), std::move(fails));
    // A late one arrives also when the worker has crashed meanwhile.
    if (fate >= lost) scheduler.after(random.between(1ms, 3s), std::move(execute));
  } else if (goes_wrong) {
    world_.trace("worker " + std::to_string(number_) + ": an answer is lost");
    scheduler.after(there, std::move(execute));
    later(there + random.between(1ms, until_given_up), std::move(fails));
  } else {
    scheduler.after(there, [this, lives = lives_, connection = connections_, back, execute = std::move(execute),
                            fails = std::move(fails)]() mutable {
      auto answer = execute();
      if (lives != lives_) return;
      later(back, [this, connection, answer = std::move(answer), fails = std::move(fails)]() mutable {
        if (connection == connections_) return answer.value()();
        fails();
      });
    });
  }
}

/// The answer itself goes on with the claimer's next step.
template <class Statement>
void Worker::ask_claimer_first(Statement statement) {
  if (!claimer_has_connection_) {
    claimer_failed();
    return claimer_continue();
  }
  ask(std::move(statement), [this] {
    if (world_.mutant != Mutant::ignores_a_lost_answer) claimer_failed();
    later(world_.scheduler.between(std::chrono::milliseconds{1}, std::chrono::milliseconds{100}),
          [this] { claimer_step(); });
  });
}

template <class Statement>
void Worker::ask_claimer(Statement statement) {
  ask_claimer_first([this, statement = std::move(statement)]() mutable {
    return [this, answer = statement()] {
      answer();
      claimer_continue();
    };
  });
}

template <class Statement>
void Worker::ask_keeper(Statement statement) {
  ask(
      [this, statement = std::move(statement)]() mutable {
        return [this, answer = statement()]() mutable {
          life_->is_keeper_connected = true;
          answer();
          keeper_step();
        };
      },
      [this] { keeper_failed(); });
}

}  // namespace dogged::sim
