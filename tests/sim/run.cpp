// See run.hpp.
#include "run.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "keyed_task.hpp"
#include "worker.hpp"

namespace dogged::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration time_of_faults = 12s;
/// After the faults, a task's next attempt ends within two leases, the longest delay and the longest handlers.
constexpr Duration longest_standstill = 25s;

class Run {
 public:
  explicit Run(const RunSettings& settings)
      : settings_(settings),
        scheduler_(settings.seed),
        database_(scheduler_, settings.mutant),
        world_{
            .scheduler = scheduler_, .database = database_, .mutant = settings.mutant, .left_out = settings_.left_out} {
    world_.traces_steps = settings_.traces_steps;
    if (settings_.traces) {
      world_.trace = [this](const std::string& what) {
        const auto ms = std::chrono::duration_cast<milliseconds>(scheduler_.now() - begin_).count();
        result_.trace.push_back(std::to_string(ms) + " ms: " + what);
      };
    }
    database_.on_lease_ended = [this](std::int64_t lease) {
      if (!database_.workers().at(lease).stopped) ++leases_ended_;
      check_knows_first(lease);
    };
    database_.on_notify = [this](std::int64_t lease, const std::string& queue) {
      for (const auto& worker : workers_) worker->notify(lease, queue);
    };
    database_.on_circuit_changed = [this](const std::string&) {
      for (const auto& worker : workers_) worker->tell_circuits_changed();
    };
    database_.on_cancel = [this](std::int64_t lease) {
      for (const auto& worker : workers_) worker->tell_of_cancellation(lease);
    };
    database_.on_worker_began = [this] { tell_upkeep({.worker_began = true}); };
    database_.on_schedules_changed = [this] { tell_upkeep({.schedules_changed = true}); };
  }

  RunResult take() {
    try {
      under_faults();
      to_the_end();
      in_calm();
    } catch (const Broken& broken) {
      result_.broken = broken.promise;
    }
    result_.tasks = database_.tasks().size();
    result_.attempts = database_.attempts().size();
    result_.incidents = std::move(world_.happened);
    return std::move(result_);
  }

 private:
  void run_until(TimePoint end) { scheduler_.run_until(end); }

  void under_faults() {
    begin_ = scheduler_.now();
    const bool is_calm = scheduler_.chance(10);
    if (!is_calm) {
      world_.faults = {.lost_request = static_cast<int>(scheduler_.pick(0, 4)),
                       .lost_answer = static_cast<int>(scheduler_.pick(0, 4)),
                       .late_statement = static_cast<int>(scheduler_.pick(0, 3)),
                       .deadly_attempts = 70,
                       .failing_attempts = static_cast<int>(scheduler_.pick(0, 40)),
                       .snoozing_attempts = static_cast<int>(scheduler_.pick(0, 20)),
                       .refused_results = static_cast<int>(scheduler_.pick(0, 5)),
                       .long_attempts = static_cast<int>(scheduler_.pick(0, 25)),
                       .failures_for_good = static_cast<int>(scheduler_.pick(0, 20)),
                       .late_releases = 20,
                       .lost_notifications = static_cast<int>(scheduler_.pick(0, 30))};
    }
    world_.only_polls = scheduler_.chance(8);
    has_deadly_ = scheduler_.chance(20);
    const std::int64_t how_many = scheduler_.pick(2, 5);
    if (scheduler_.chance(50)) queues_ = {"default", "mail"};
    set_up_services();
    for (int i = 1; i <= how_many; ++i) {
      // The first serves all of them: in the calm it may be alone.
      const bool serves_all = i == 1 || scheduler_.chance(60);
      workers_.push_back(std::make_unique<Worker>(world_, i, serves_all ? queues_ : std::vector{any_queue()}));
    }
    if (scheduler_.chance(50)) {
      database_.set_schedule({.every = milliseconds{scheduler_.pick(200, 3000)},
                              .overlap = static_cast<Overlap>(scheduler_.pick(0, 4)),
                              .jitter = milliseconds{scheduler_.chance(30) ? scheduler_.pick(1, 1000) : 0}},
                             1s);
    }
    produce();
    emit_events();
    if (!is_calm) {
      disturb();
      refuse_reports();
      change_queues();
    }
    run_until(begin_ + time_of_faults);
    world_.faults = {.deadly_attempts = world_.faults.deadly_attempts};
    has_ended_ = true;
    mend_services();
    for (const std::string& queue : queues_) {
      if (!database_.queue_settings(queue).resumes_in) resume(queue);  // the other pauses end by themselves
    }
  }

  const std::string& any_queue() { return any_queue(scheduler_); }
  int any_priority() { return any_priority(scheduler_); }
  template <class Source>
  const std::string& any_queue(Source& random) {
    return queues_[static_cast<std::size_t>(random.pick(0, static_cast<std::int64_t>(queues_.size()) - 1))];
  }
  template <class Source>
  static int any_priority(Source& random) {
    return random.chance(70) ? 0 : static_cast<int>(random.pick(-1, 1));
  }

  /// Circuits that open, and are half-open, some times in a run; and retry budgets.
  void set_up_services() {
    Random random = scheduler_.stream(std::uint64_t{1} << 32, 0);
    world_.has_circuits = random.chance(50);
    if (world_.has_circuits) {
      for (const std::string& name : circuits()) {
        database_.publish_circuit(name, {.failure_threshold = static_cast<int>(random.pick(1, 4)),
                                         .recovery_timeout = milliseconds{random.pick(50, 1000)},
                                         .success_threshold = static_cast<int>(random.pick(1, 3))});
      }
    }
    if (random.chance(30)) database_.set_retry_budget(any_queue(random), any_budget(random));
  }

  static const std::vector<std::string>& circuits() {
    static const std::vector<std::string> all{std::string{circuit_of(Kind::charging)},
                                              std::string{circuit_of(Kind::mailing)}};
    return all;
  }

  /// So small that retries wait, and so large that they all run in time.
  static RetryBudgetSettings any_budget(Random& random) {
    return {.share = static_cast<double>(random.pick(1, 30)) / 100,
            .min_retries_per_second = static_cast<double>(random.pick(3, 10)),
            .window = 1s};
  }

  void mend_services() {
    world_.broken_services.clear();
    for (const auto& [name, row] : database_.durable().circuits) {
      if (!row.circuit.is_forced) continue;
      database_.unlock_circuit(name);
      (void)database_.change_circuit(name, detail::CircuitEvent::Kind::reset);
    }
  }

  Database::NewTask any_task(Random& random) {
    Database::NewTask task{.delay = milliseconds{random.chance(15) ? random.pick(1, 2000) : 0},
                           .queue = any_queue(random),
                           .priority = any_priority(random)};
    switch (random.pick(0, 19)) {
      case 0:
        task.kind = Kind::fragile;
        break;
      case 1:
        task.kind = Kind::stuck;
        break;
      case 2:
      case 3:
        task.kind = Kind::transactional;
        break;
      case 4:
        if (std::exchange(has_deadly_, false)) task.kind = Kind::deadly;
        break;
      case 5:
      case 6:
        task.expires_in = task.delay + milliseconds{random.pick(50, 3000)};
        break;
      case 7:
      case 8:
        task.kind = Kind::stepwise;
        break;
      case 9:
      case 10:
      case 11:
        if (world_.has_circuits) task.kind = Kind::charging;
        break;
      case 12:
        if (world_.has_circuits) task.kind = Kind::mailing;
        break;
      default:
        break;
    }
    return task;
  }

  /// A transaction or the call of a client every now and then.
  void produce() {
    if (has_ended_) return;
    const Incident incident{Incident::Kind::production, 0, ++productions_};
    Random random = world_.stream_of(incident);
    const Duration next = random.chance(10) ? random.between(500ms, 2s) : random.between(1ms, 150ms);
    scheduler_.after(next, [this] { produce(); });
    if (!world_.happens(incident)) return;
    if (random.chance(12)) return run_keyed_transaction(random);
    if (random.chance(10)) return call(productions_, static_cast<int>(random.pick(1, 2)), any_task(random));
    run_transaction(random);
  }

  /// Some are long, some are rolled back, some enqueue tasks of the future.
  void run_transaction(Random random) {
    auto transaction = std::make_shared<Database::Transaction>(database_.begin());
    scheduler_.after(random.between(10us, 2ms), [this, transaction, random]() mutable {
      database_.enqueue(*transaction, static_cast<int>(random.pick(1, 4)), any_task(random));
      const Duration open = random.chance(5) ? random.between(50ms, 2s) : random.between(10us, 3ms);
      scheduler_.after(open, [this, transaction, rolls_back = random.chance(5)] {
        if (rolls_back) return database_.roll_back(*transaction);
        world_.trace(names_of(transaction->ids) + " is enqueued");
        database_.commit(*transaction);
      });
    });
  }

  void run_keyed_transaction(Random random) {
    auto transaction = std::make_shared<Database::Transaction>(database_.begin());
    const Database::NewTask task = any_keyed_task(scheduler_, random, productions_);
    const Duration open = random.chance(20) ? random.between(20ms, 800ms) : random.between(10us, 3ms);
    meet_key(std::move(transaction), task, open, random.chance(10));
  }

  /// Tries again while it would wait for a lock.
  void meet_key(std::shared_ptr<Database::Transaction> transaction, const Database::NewTask& task, Duration open,
                bool rolls_back) {
    if (transaction->history != database_.history()) return;
    const std::optional<Database::Unique> answer = database_.enqueue_unique(*transaction, task);
    if (!answer) return scheduler_.after(2ms, [=, this] { meet_key(transaction, task, open, rolls_back); });
    world_.trace("task " + std::to_string(answer->id) + " is the answer to a call with the key " + task.key);
    const bool is_error = answer->outcome == Database::Unique::Outcome::refused ||
                          answer->outcome == Database::Unique::Outcome::would_never_run;
    const bool is_undone = rolls_back || is_error;
    scheduler_.after(open, [this, transaction, is_undone] {
      if (is_undone) return database_.roll_back(*transaction);
      database_.commit(*transaction);
    });
  }

  /// Every now and then an event of a new task, which may wait for it already, or come to the wait later.
  void emit_events() {
    if (has_ended_) return;
    const Incident incident{Incident::Kind::emission, 0, ++emissions_};
    Random random = world_.stream_of(incident);
    scheduler_.after(random.between(20ms, 300ms), [this] { emit_events(); });
    const TaskId id = database_.last_position() + random.pick(-20, 3);
    const Duration open = random.chance(20) ? random.between(20ms, 800ms) : random.between(10us, 3ms);
    if (world_.happens(incident)) emit(event_for(id), open, random.chance(10));
  }

  /// Tries again while it would wait for a lock.
  void emit(const std::string& event, Duration open, bool rolls_back) {
    const std::optional<Database::Emission> emission = database_.emit(event, ++payloads_);
    if (!emission) return scheduler_.after(5ms, [=, this] { emit(event, open, rolls_back); });
    scheduler_.after(open, [this, emission = *emission, rolls_back] {
      if (rolls_back) return database_.roll_back(emission);
      if (emission.transaction.history != database_.history()) return;  // a failover has ended the transaction
      world_.trace(emission.name + " is emitted, and resumes " + std::to_string(emission.resumed.size()) + " tasks");
      database_.commit(emission);
      for (const auto& [id, position] : emission.resumed) {
        resumed_until_[{id, database_.tasks().at(id).attempt + 1}] = scheduler_.now() + world_.latest_begin();
      }
    });
  }

  static std::string names_of(const std::vector<TaskId>& ids) {
    return ids.size() == 1 ? "task " + std::to_string(ids.front())
                           : "each of tasks " + std::to_string(ids.front()) + " to " + std::to_string(ids.back());
  }

  /// The only call of a client, which repeats it until it has an answer. As RepeatableCalls::repeat.
  void call(std::int64_t number, int how_many, const Database::NewTask& task) {
    const auto again = [=, this] { call(number, how_many, task); };
    const CallKey key{number, 1};
    const auto execute = [=, this, history = database_.history()] {
      if (database_.history() != history) return std::vector<TaskId>{};
      database_.reserve_producer(key.producer);
      const std::optional<CallRow> made = database_.call_made(key);
      return made ? made->tasks : database_.enqueue_once(key, how_many, task).value();
    };
    const Incident incident{Incident::Kind::call, 0, ++tries_};
    Random random = world_.stream_of(incident);
    const Duration there = random.between(20us, 2ms);
    const Duration until_repeated = random.between(1ms, 300ms);
    const int fate = static_cast<int>(random.pick(0, 99));
    if (scheduler_.now() + there < world_.server_is_back_at) return scheduler_.after(until_repeated, again);
    const int late = world_.faults.late_statement;
    const bool goes_wrong = fate < late + world_.faults.lost_answer && world_.happens(incident);
    if (goes_wrong && fate < late) {
      world_.trace("the call " + std::to_string(number) + " arrives late, and is repeated");
      scheduler_.after(random.between(1ms, 3s), [execute] { (void)execute(); });
      return scheduler_.after(until_repeated, again);
    }
    if (goes_wrong) world_.trace("the answer to the call " + std::to_string(number) + " is lost, and it is repeated");
    scheduler_.after(there, [=, this] {
      const std::vector<TaskId> tasks = execute();
      if (goes_wrong || tasks.empty()) return again();
      world_.trace("the call " + std::to_string(number) + " is answered: " + names_of(tasks) + " is enqueued");
      answers_[key] = tasks;
    });
  }

  /// Of a worker that goes by another time, it cannot be said.
  void check_knows_first(std::int64_t lease) const {
    if (database_.clock_was_set() || scheduler_.now() < world_.lost_renewals_until) return;
    for (const auto& worker : workers_) {
      if (worker->lease() == lease) worker->check_knows_first();
    }
  }

  void tell_upkeep(const runtime::ToldToUpkeep& told) {
    for (const auto& worker : workers_) worker->tell_upkeep(told);
  }

  void pause(const std::string& queue, std::optional<milliseconds> resumes_in = {}) {
    world_.trace("the queue " + queue + " is paused" +
                 (resumes_in ? " for " + std::to_string(resumes_in->count()) + " ms" : std::string{}));
    database_.pause(queue, resumes_in);
    tell_queues_changed();
  }

  void resume(const std::string& queue) {
    world_.trace("the queue " + queue + " goes on");
    database_.resume(queue);
    tell_queues_changed();
  }

  void set_concurrency(const std::string& queue, std::optional<std::size_t> at_once) {
    world_.trace("each worker runs " + std::to_string(at_once.value_or(concurrency)) + " tasks of the queue " + queue +
                 " at once");
    database_.set_concurrency(queue, at_once);
    tell_queues_changed();
  }

  void tell_queues_changed() {
    for (const auto& worker : workers_) worker->tell_queues_changed();
  }

  void disturb() {
    if (has_ended_) return;
    const Incident incident{Incident::Kind::disturbance, 0, ++disturbances_};
    Random random = world_.stream_of(incident);
    scheduler_.after(random.between(5ms, 400ms), [this] { disturb(); });
    if (world_.happens(incident)) disturb(random);
  }

  void disturb(Random& random) {
    Worker& worker =
        *workers_[static_cast<std::size_t>(random.pick(0, static_cast<std::int64_t>(workers_.size()) - 1))];
    switch (random.pick(0, 13)) {
      case 0:
        worker.crash(random.between(1ms, 2s));
        break;
      case 1:
        worker.freeze(random.between(100ms, 6s));
        break;
      case 2:
        worker.lose_notifications();
        break;
      case 3:
        worker.break_connection();
        break;
      case 4:
        pause_or_resume(any_queue(random));
        break;
      case 5:
        if (random.chance(30)) {
          world_.trace("the database's clock is set");
          database_.step_clock(random.between(-3s, 5s));
        }
        break;
      case 6:
        if (random.chance(20)) {
          lose_server(random.between(50ms, 6s));
        } else if (random.chance(10)) {
          fail_over(random);
        }
        break;
      case 7:
        if (random.chance(20)) return worker.restart();
        worker.stop(random.between(1ms, 2s));
        break;
      case 8:
        replay_unique_task(random);
        break;
      case 9:
        disturb_schedule(random);
        break;
      case 10:
        if (random.chance(25)) {
          refuse_a_rescue(random);
        } else {
          refuse(static_cast<Work>(random.pick(0, 2)), random.between(10ms, 2s));
        }
        break;
      default:
        if (random.chance(75)) return disturb_task(random);
        disturb_services(random);
    }
  }

  /// Every now and then nobody can write reports for a while, also no worker that has just begun.
  void refuse_reports() {
    if (has_ended_) return;
    const Incident incident{Incident::Kind::refusal, 0, ++refusals_};
    Random random = world_.stream_of(incident);
    scheduler_.after(random.between(300ms, 3s), [this] { refuse_reports(); });
    if (random.chance(30) && world_.happens(incident)) refuse(Work::reports, random.between(10ms, 2s));
  }

  /// Every now and then an operator pauses a queue for a while, or sets its concurrency.
  void change_queues() {
    if (has_ended_) return;
    const Incident incident{Incident::Kind::queue_change, 0, ++queue_changes_};
    Random random = world_.stream_of(incident);
    scheduler_.after(random.between(300ms, 3s), [this] { change_queues(); });
    if (!random.chance(50) || !world_.happens(incident)) return;
    const std::string& queue = any_queue(random);
    if (random.chance(60)) return pause(queue, milliseconds{random.pick(1, 2000)});
    set_concurrency(queue, random.chance(30) ? std::nullopt : std::optional{any_concurrency(random)});
  }

  static std::size_t any_concurrency(Random& random) {
    return static_cast<std::size_t>(random.pick(1, 2 * static_cast<std::int64_t>(concurrency)));
  }

  /// A right is missing for a while, or an operator's transaction holds a lock.
  void refuse(Work work, Duration time) {
    static const std::vector<std::string> names{"the firing of ticks", "the comparison of declarations",
                                                "the writing of progress", "the writing of reports"};
    world_.trace(names.at(static_cast<std::size_t>(work)) + " is refused for " +
                 std::to_string(std::chrono::duration_cast<milliseconds>(time).count()) + " ms");
    database_.refuse(work, time);
  }

  /// Of a worker that may be alive still.
  void refuse_a_rescue(Random& random) {
    std::vector<std::int64_t> leases;
    for (const auto& [lease, row] : database_.workers()) {
      if (!row.rescued && !row.stopped) leases.push_back(lease);
    }
    if (leases.empty()) return;
    const auto index = random.pick(0, static_cast<std::int64_t>(leases.size()) - 1);
    refuse_rescue_of(leases[static_cast<std::size_t>(index)], random.between(10ms, 4s));
  }

  void refuse_rescue_of(std::int64_t lease, Duration time) {
    world_.trace("the rescue of lease " + std::to_string(lease) + " is refused for " +
                 std::to_string(std::chrono::duration_cast<milliseconds>(time).count()) + " ms");
    database_.refuse_rescue_of(lease, time);
  }

  /// A service breaks for a while, an operator opens its circuit, closes it or locks its row, or sets a retry budget.
  void disturb_services(Random& random) {
    const std::string name = circuits()[random.chance(70) ? 0 : 1];
    const std::string queue = any_queue(random);
    const std::int64_t what = random.pick(0, 9);
    if (what < 3) {
      world_.trace("the retry budget of the queue " + queue + (what == 0 ? " is lifted" : " is set"));
      database_.set_retry_budget(queue, what == 0 ? std::nullopt : std::optional{any_budget(random)});
      tell_queues_changed();
    } else if (!world_.has_circuits) {
      return;
    } else if (what < 8) {
      world_.trace("the service behind the circuit " + name + " is broken");
      world_.broken_services.insert(name);
      scheduler_.after(random.between(200ms, 3s), [this, name] { world_.broken_services.erase(name); });
    } else if (what == 8) {
      world_.trace("the circuit " + name + " is locked");
      (void)database_.lock_circuit(name, random.between(10ms, 1500ms));
    } else {
      const bool opens = !database_.circuit(name).circuit.is_forced;
      world_.trace("the circuit " + name + " is " + (opens ? "opened" : "closed") + " by hand");
      using Kind = detail::CircuitEvent::Kind;
      (void)database_.change_circuit(name, opens ? Kind::force_open : Kind::reset);
    }
  }

  /// As at a failover: no statement is answered, and no worker is notified until the server is back.
  void lose_server(Duration time) {
    world_.trace("the server is away");
    world_.server_is_back_at = scheduler_.now() + time;
    for (const auto& worker : workers_) worker->lose_server();
  }

  void pause_or_resume(const std::string& queue) {
    if (database_.is_paused(queue)) return resume(queue);
    pause(queue);
  }

  /// From now on the replica lags. A moment later the server is lost, and the replica takes over without later commits.
  void fail_over(Random& random) {
    if (replica_) return;
    world_.trace("the replica lags");
    replica_ = database_.durable();
    scheduler_.after(random.between(1ms, 300ms), [this, away = random.between(50ms, 4s)] {
      if (has_ended_) return;
      world_.trace("a failover loses the last commits");
      lose_server(away);
      const std::set<TaskId> half_lost = database_.fail_over(*std::exchange(replica_, std::nullopt));
      world_.half_lost.insert(half_lost.begin(), half_lost.end());
      world_.lost_renewals_until = scheduler_.now() + lease_length;
    });
  }

  /// A dead letter whose key another task may hold meanwhile.
  void replay_unique_task(Random& random) {
    const auto& tasks = database_.tasks();
    const auto letter = std::find_if(tasks.rbegin(), tasks.rend(), [&random](const auto& one) {
      return !one.second.key.empty() && one.second.ended_as == "failed" && random.chance(70);
    });
    if (letter == tasks.rend()) return;
    const TaskId id = letter->first;
    const bool is_replayed = database_.replay(id, milliseconds{random.chance(50) ? random.pick(1, 1500) : 0});
    world_.trace("task " + std::to_string(id) + " with a key is " + (is_replayed ? "" : "not ") + "replayed");
  }

  void disturb_schedule(Random& random) {
    const ScheduleRow& schedule = database_.durable().schedule;
    if (schedule.settings.every == 0ms) return;
    switch (random.pick(0, 3)) {
      case 0:
      case 1:
        world_.trace(schedule.is_paused ? "the schedule goes on" : "the schedule is paused");
        if (schedule.is_paused) {
          database_.resume_schedule();
        } else {
          database_.pause_schedule();
        }
        break;
      case 2:
        change_schedule(random);
        break;
      default: {
        const milliseconds from{random.pick(1, 4000)};
        const milliseconds until{random.pick(0, from.count() - 1)};
        world_.trace("ticks are backfilled from " + std::to_string(from.count()) + " until " +
                     std::to_string(until.count()) + " ms ago");
        (void)database_.backfill_schedule(from, until, random.chance(50) ? Overlap::buffer_all : Overlap::allow_all);
      }
    }
  }

  void change_schedule(Random& random) {
    ScheduleSettings settings = database_.durable().schedule.settings;
    if (random.chance(70)) settings.every = milliseconds{random.pick(200, 3000)};
    if (random.chance(50)) settings.overlap = static_cast<Overlap>(random.pick(0, 4));
    if (random.chance(30)) settings.jitter = milliseconds{random.pick(0, 1000)};
    world_.trace("the schedule fires every " + std::to_string(settings.every.count()) + " ms");
    database_.change_schedule(settings, milliseconds{random.pick(-3000, 3000)});
  }

  void disturb_task(Random& random) {
    const auto& tasks = database_.tasks();
    if (tasks.empty()) return;
    // Mostly the newest tasks are alive.
    const auto back = random.pick(1, std::min<std::int64_t>(12, static_cast<std::int64_t>(tasks.size())));
    const TaskId id = std::prev(tasks.end(), back)->first;
    const milliseconds delay{random.chance(50) ? random.pick(1, 1500) : 0};
    if (random.chance(20)) {
      world_.trace("task " + std::to_string(id) + " is to be cancelled");
      database_.cancel(id);
    } else if (random.chance(25)) {
      const ReplaySteps steps = random.chance(40) ? ReplaySteps::again : ReplaySteps::keep;
      const bool is_replayed = database_.replay(id, delay, steps);
      if (is_replayed || database_.reschedule(id, delay)) {
        world_.trace("task " + std::to_string(id) + (is_replayed ? " is replayed" : " is rescheduled") + ", due in " +
                     std::to_string(delay.count()) + " ms");
      }
    } else {
      const Duration time = random.between(1ms, 1500ms);
      world_.trace("task " + std::to_string(id) + " is locked");
      database_.lock(id, time);
    }
  }

  /// Attempts are limited in number, so the loop ends. A fixed time would not do: four tasks that never end by
  /// themselves hold one worker's executors for longer (seed 43931).
  void until_all_have_ended() {
    std::size_t ended = database_.attempts().size();
    TimePoint limit = scheduler_.now() + longest_standstill;
    while (!database_.live().empty() && scheduler_.now() < limit) {
      run_until(scheduler_.now() + 100ms);
      if (std::exchange(ended, database_.attempts().size()) != ended) limit = scheduler_.now() + longest_standstill;
    }
  }

  void to_the_end() {
    database_.pause_schedule();
    until_all_have_ended();
    promises::hold_after_the_faults(database_, world_.begun, world_.half_lost, answers_);
    world_.faults = {};
    for (const std::string& queue : queues_) {
      database_.set_retry_budget(queue, std::nullopt);
      database_.set_concurrency(queue, std::nullopt);
    }
    tell_queues_changed();
  }

  /// Without faults, sleepers are notified of enqueued tasks, however the transaction and their falling asleep take
  /// turns. Tasks begin when they are due.
  void in_calm() {
    run_until(scheduler_.now() + 7s);  // workers that stood still have gone on
    world_.progress_is_timely = true;
    if (scheduler_.chance(50)) server_is_away();
    if (scheduler_.chance(25)) server_is_away_while_handlers_run();
    if (scheduler_.chance(25)) one_is_cancelled();
    if (scheduler_.chance(25)) one_dies();
    if (scheduler_.chance(20)) all_die_and_begin_again();
    if (scheduler_.chance(20)) a_rescue_is_refused();
    if (scheduler_.chance(25)) all_stop_in_turn();
    if (scheduler_.chance(25)) a_schedule_fires();
    if (!world_.only_polls && scheduler_.chance(20)) a_schedule_is_changed();
    if (scheduler_.chance(10)) a_schedule_is_declared();
    if (!world_.only_polls && scheduler_.chance(20)) a_worker_of_a_short_lease_dies();
    if (scheduler_.chance(15)) rescuers_stop();
    if (scheduler_.chance(20)) progress_is_refused();
    if (scheduler_.chance(5)) one_stops_without_a_server();
    if (scheduler_.chance(25)) events_resume_tasks();
    if (world_.has_circuits && scheduler_.chance(50)) a_service_breaks();
    // In half of the runs one worker is alone, so that no other worker makes up for its mistakes.
    if (scheduler_.chance(50)) {
      for (std::size_t i = 1; i < workers_.size(); ++i) workers_[i]->crash(24h);
      run_until(scheduler_.now() + 7s);
    }
    world_.faults.failing_attempts = 40;
    world_.faults.snoozing_attempts = 20;
    world_.faults.late_wake_ups = 50;
    world_.retries_are_timely = true;
    for (int i = 0; i < 6; ++i) {
      if (scheduler_.chance(50)) {  // more than they can take: they wake up, and fall asleep again
        Database::Transaction burst = database_.begin();
        database_.enqueue(burst, 12, {.queue = any_queue()});
        database_.commit(burst);
        run_until(scheduler_.now() + scheduler_.between(0us, 300ms));
      }
      // Broken connections make the workers begin anew, and fall asleep within 20 ms: after the transaction has begun,
      // or before.
      const bool breaks_before = scheduler_.chance(40);
      if (breaks_before) break_all();
      run_until(scheduler_.now() + scheduler_.between(0us, 30ms));
      Database::Transaction transaction = database_.begin();
      run_until(scheduler_.now() + scheduler_.between(0us, 2ms));
      if (!breaks_before && scheduler_.chance(70)) break_all();
      run_until(scheduler_.now() + scheduler_.between(0us, 30ms));
      const milliseconds delay{scheduler_.chance(30) ? scheduler_.pick(1, 600) : 0};
      database_.enqueue(transaction, static_cast<int>(delay.count() > 0 ? scheduler_.pick(1, 6) : 1),
                        {.delay = delay, .queue = any_queue(), .priority = any_priority()});
      run_until(scheduler_.now() + scheduler_.between(0us, 30ms));
      if (scheduler_.chance(20)) break_all();
      run_until(scheduler_.now() + scheduler_.between(0us, 30ms));
      database_.commit(transaction);
      world_.trace(std::to_string(transaction.ids.size()) + " tasks are enqueued, which are due in " +
                   std::to_string(delay.count()) + " ms");
      run_until(scheduler_.now() + delay + world_.latest_begin());
      for (const TaskId id : transaction.ids) {
        promises::a_task_begins_when_it_is_ready("enqueued", {id, 1}, world_.begun, scheduler_.now());
      }
      run_until(scheduler_.now() + scheduler_.between(1ms, 1500ms));
      if (scheduler_.chance(50)) make_ready_by_hand();
      if (scheduler_.chance(5)) events_resume_tasks();
      if (scheduler_.chance(20)) a_holder_is_met();
    }
    world_.faults.failing_attempts = 0;
    world_.faults.snoozing_attempts = 0;
    run_until(scheduler_.now() + 4s);
    for (const auto& [attempt, time] : world_.begins_until) {
      if (time > scheduler_.now()) continue;
      promises::a_task_begins_when_it_is_ready("a retry", attempt, world_.begun, time);
    }
    // Last, so that the seeds of before go on as they did until here.
    if (scheduler_.chance(25)) a_queue_is_paused();
    if (scheduler_.chance(25)) leases_lapse_before_reports_are_written();
    Random random = scheduler_.stream(std::uint64_t{1} << 34, 0);
    if (random.chance(25)) workers_begin_before_they_can_report(random);
    if (random.chance(25)) a_pause_ends_by_itself(random);
    if (random.chance(25)) a_concurrency_is_set(random);
    workers_rest();
  }

  /// A worker that was stopped, and stood still meanwhile, begins again late. If that is just when the server is back,
  /// the new worker ends the leases of others before they renew them (seed 4029768).
  void until_all_run() {
    const auto runs = [](const auto& worker) { return worker->lease().has_value(); };
    for (int i = 0; i < 60 && !std::all_of(workers_.begin(), workers_.end(), runs); ++i) {
      run_until(scheduler_.now() + 1s);
    }
  }

  void server_is_away() {
    until_all_run();
    const std::size_t ended = leases_ended_;
    lose_server(scheduler_.between(100ms, 9s));
    run_until(world_.server_is_back_at + 4s);
    promises::no_live_lease_is_ended(ended, leases_ended_);
  }

  /// For no longer than leases last. Unless said, there is a thread for each task.
  std::vector<TaskId> begin_long_handlers(int how_many = static_cast<int>(concurrency)) {
    world_.faults.long_attempts = 100;
    Database::Transaction transaction = database_.begin();
    database_.enqueue(transaction, how_many, {.queue = any_queue()});
    database_.commit(transaction);
    run_until(scheduler_.now() + world_.latest_begin());
    world_.faults.long_attempts = 0;
    return transaction.ids;
  }

  /// So many that workers claim ahead afterwards.
  void run_quick_handlers(int how_many, const std::string& queue) {
    Database::Transaction transaction = database_.begin();
    database_.enqueue(transaction, how_many, {.queue = queue});
    database_.commit(transaction);
    run_until(scheduler_.now() + 3s);
  }

  void server_is_away_while_handlers_run() {
    const std::vector<TaskId> ids = begin_long_handlers();
    lose_server(scheduler_.between(10ms, 1s));
    run_until(scheduler_.now() + 8s);
    for (const TaskId id : ids) promises::what_has_finished_counts(id, database_);
  }

  /// Its handler is asked to stop, and is given up if it does not.
  void one_is_cancelled() {
    const TaskId id = begin_long_handlers().front();
    const Task& task = database_.tasks().at(id);
    if (task.state != Task::State::running) return;
    const std::pair<TaskId, int> attempt{id, task.attempt};
    world_.trace("task " + std::to_string(id) + " is to be cancelled");
    database_.cancel(id);
    run_until(scheduler_.now() + 500ms + (world_.only_polls ? poll_interval : 0ms));
    promises::a_cancelled_handler_ends(attempt, database_);
    run_until(scheduler_.now() + 5s);  // the others end
  }

  using Attempt = std::pair<TaskId, int>;
  std::vector<Attempt> attempts_under(std::int64_t lease) {
    std::vector<Attempt> attempts;
    for (const TaskId id : database_.live()) {
      const Task& task = database_.tasks().at(id);
      if (task.state == Task::State::running && task.worker == lease) attempts.emplace_back(id, task.attempt);
    }
    return attempts;
  }

  /// In some runs a tick is due that is refused meanwhile.
  void one_dies() {
    (void)begin_long_handlers();
    const std::size_t index =
        static_cast<std::size_t>(scheduler_.pick(1, static_cast<std::int64_t>(workers_.size()) - 1));
    const auto lease = workers_[index]->lease();
    if (!lease) return;
    const std::vector<Attempt> lost = attempts_under(*lease);
    if (scheduler_.chance(30)) {
      refuse(Work::ticks, 20s);
      database_.set_schedule({.every = 10s}, 10ms);
    }
    workers_[index]->crash(20s);
    run_until(scheduler_.now() + 10ms);  // a renewal that was under way counts
    const TimePoint until = database_.lapses_at(*lease) + 1s + (world_.only_polls ? poll_interval : 0ms);
    run_until(scheduler_.now() + 12s);
    for (const auto& attempt : lost) {
      promises::a_lost_task_begins_again_in_time(attempt, database_, world_.begun, until);
    }
    run_until(scheduler_.now() + 10s);
    database_.pause_schedule();
  }

  /// The lease of a worker that has died keeps its name until it lapses. Nobody else is there to end it.
  void all_die_and_begin_again() {
    until_all_run();
    (void)begin_long_handlers();
    std::vector<std::int64_t> leases;
    std::vector<Attempt> lost;
    for (const auto& worker : workers_) {
      if (!worker->lease()) continue;
      leases.push_back(*worker->lease());
      const std::vector<Attempt> attempts = attempts_under(leases.back());
      lost.insert(lost.end(), attempts.begin(), attempts.end());
    }
    for (const auto& worker : workers_) worker->crash(scheduler_.between(1ms, 500ms));
    run_until(scheduler_.now() + 10ms);  // renewals that were under way count
    TimePoint until{};
    for (const std::int64_t lease : leases) until = std::max(until, database_.lapses_at(lease));
    until += 1s + (world_.only_polls ? poll_interval : 0ms);
    run_until(scheduler_.now() + 12s);
    for (const Attempt& attempt : lost) {
      promises::a_lost_task_begins_again_in_time(attempt, database_, world_.begun, until);
    }
  }

  /// Two workers die at once. The tasks of the older lease come first in a rescue, and PostgreSQL refuses to change
  /// them.
  void a_rescue_is_refused() {
    until_all_run();
    if (workers_.size() < 3) return;
    (void)begin_long_handlers();
    Worker* first = workers_[workers_.size() - 1].get();
    Worker* second = workers_[workers_.size() - 2].get();
    if (!first->lease() || !second->lease()) return;
    if (*second->lease() < *first->lease()) std::swap(first, second);
    const std::int64_t refused = *first->lease();
    const std::int64_t other = *second->lease();
    const std::vector<Attempt> lost = attempts_under(other);
    const std::vector<Attempt> lost_with_refusal = attempts_under(refused);
    refuse_rescue_of(refused, 14s);
    first->crash(24s);
    second->crash(24s);
    run_until(scheduler_.now() + 10ms);  // renewals that were under way count
    const Duration told_in = 1s + (world_.only_polls ? poll_interval : 0ms);
    const TimePoint until = database_.lapses_at(other) + told_in;
    run_until(scheduler_.now() + 12s);
    for (const Attempt& attempt : lost) {
      promises::a_lost_task_begins_again_in_time(attempt, database_, world_.begun, until);
    }
    const TimePoint refused_until = database_.refuses_rescue_until(refused) + heartbeat + told_in;
    run_until(scheduler_.now() + 20s);
    for (const Attempt& attempt : lost_with_refusal) {
      promises::a_lost_task_begins_again_in_time(attempt, database_, world_.begun, refused_until);
    }
  }

  /// Its first tick comes when every worker has looked, however seldom, and further ones more often than workers look.
  /// In half of the runs a worker dies meanwhile, and in some ticks are refused for a while.
  void a_schedule_fires() {
    database_.set_schedule({.every = 150ms}, 7 * heartbeat);
    run_until(scheduler_.now() + 8 * heartbeat);
    if (scheduler_.chance(50)) workers_.back()->crash(scheduler_.between(1ms, 2s));
    const Duration refused = scheduler_.chance(40) ? scheduler_.between(400ms, 1s) : 0ms;
    if (refused > 0ms) refuse(Work::ticks, refused);
    run_until(scheduler_.now() + 5 * heartbeat);
    promises::a_tick_fires_once(database_);
    promises::a_tick_fires_in_time(database_, 400ms + (refused > 0ms ? refused + 1s : 0ms));  // upkeep waits 1 s
    promises::no_tick_is_overdue(database_);
    database_.pause_schedule();
    run_until(scheduler_.now() + 7s);  // what the worker lost has run again
  }

  /// When every worker has looked, however seldom. The next tick comes earlier than their next look.
  void a_schedule_is_changed() {
    database_.set_schedule({.every = 24h}, 24h);
    run_until(scheduler_.now() + 7 * heartbeat);
    database_.change_schedule({.every = 10s}, milliseconds{scheduler_.pick(5, 150)});
    run_until(scheduler_.now() + 1s);
    promises::a_tick_fires_in_time(database_, 100ms);
    promises::no_tick_is_overdue(database_);
    database_.pause_schedule();
  }

  /// A worker begins and declares a schedule, and PostgreSQL refuses the declaration. The refusal lasts until
  /// no worker counts as new. Upkeep compares once more after a refusal, and then at its next look.
  void a_schedule_is_declared() {
    const ScheduleSettings declared{.every = milliseconds{scheduler_.pick(20'000, 30'000)}};
    refuse(Work::comparison, scheduler_.between(7s, 9s));
    world_.declared = declared;
    workers_.back()->stop(1ms);
    run_until(database_.refused_until(Work::comparison) + compares_again_after + 7 * heartbeat);
    promises::a_declared_schedule_is_in_force(declared, database_);
    world_.declared.reset();
    database_.pause_schedule();
  }

  /// The workers that began first die as well, so that the others look seldom. A process claims a task, and dies at
  /// once. Only a worker that was told of the process knows how short its lease is.
  void a_worker_of_a_short_lease_dies() {
    if (workers_.size() < 3) return;
    for (Worker* worker : first_two()) worker->crash(20s);
    const auto alive = std::find_if(workers_.begin(), workers_.end(), [](const auto& one) { return one->lease(); });
    if (alive == workers_.end()) return;
    const std::string& queue = (*alive)->queues().front();
    run_until(scheduler_.now() + scheduler_.between(1ms, 500ms));
    const std::int64_t lease =
        database_.register_worker("short-lived", 200ms, std::nullopt, {queues_.begin(), queues_.end()}).value();
    const TimePoint until = database_.lapses_at(lease) + 1s;
    Database::Transaction transaction = database_.begin();
    database_.enqueue(transaction, 1, {.queue = queue});
    database_.commit(transaction);
    const auto claimed = database_.claim(lease, {{.queue = queue, .how_many = 1}}, 0).front();
    run_until(scheduler_.now() + 24s);
    for (const Database::Claimed& task : claimed) {
      promises::a_lost_task_begins_again_in_time({task.id, task.attempt}, database_, world_.begun, until);
    }
  }

  /// Of the workers that live, those of the oldest leases.
  std::vector<Worker*> first_two() {
    std::vector<Worker*> alive;
    for (const auto& worker : workers_) {
      if (worker->lease()) alive.push_back(worker.get());
    }
    std::sort(alive.begin(), alive.end(), [](const Worker* a, const Worker* b) { return *a->lease() < *b->lease(); });
    alive.resize(std::min<std::size_t>(alive.size(), 2));
    return alive;
  }

  /// While they end the lease of a worker that has died.
  void rescuers_stop() {
    const auto lease = workers_.back()->lease();
    if (!lease) return;
    workers_.back()->crash(10s);
    run_until(scheduler_.now() + 10ms);  // a renewal that was under way counts
    run_until(database_.lapses_at(*lease) + scheduler_.between(-15ms, 5ms));
    for (std::size_t i = 0; i + 1 < workers_.size(); ++i) workers_[i]->stop(scheduler_.between(1ms, 500ms));
    run_until(scheduler_.now() + 15s);
  }

  /// No report can be written, and the worker ends all the same: each step of its shutdown has a limit.
  void one_stops_without_a_server() {
    (void)begin_long_handlers();
    Worker& worker = *workers_.back();
    lose_server(25s);
    worker.stop(30s);
    run_until(scheduler_.now() + 20s);
    promises::a_worker_that_is_stopped_ends(worker.lease());
    run_until(scheduler_.now() + 35s);
    until_all_have_ended();
  }

  /// For a while, and handlers run on after it.
  void progress_is_refused() {
    (void)begin_long_handlers();
    refuse(Work::progress, scheduler_.between(100ms, 2500ms));
    run_until(scheduler_.now() + 7s);
  }

  /// The events come before the tasks wait for them, meanwhile and after. Nothing else would resume the tasks for days.
  void events_resume_tasks() {
    const Faults faults = std::exchange(world_.faults, {});
    Database::Transaction transaction = database_.begin();
    database_.enqueue(transaction, 6, {.queue = any_queue(), .kind = Kind::waiting});
    database_.commit(transaction);
    for (const TaskId id : transaction.ids) {
      const Duration when = scheduler_.chance(50) ? scheduler_.between(0us, 60ms) : scheduler_.between(60ms, 3s);
      scheduler_.after(when, [=, this] { emit(event_for(id), scheduler_.between(0us, 60ms), false); });
    }
    resumed_until_.clear();
    run_until(scheduler_.now() + 4s + world_.latest_begin());
    for (const auto& [attempt, until] : resumed_until_) {
      promises::a_task_begins_when_it_is_ready("resumed by an event", attempt, world_.begun, until);
    }
    for (const TaskId id : transaction.ids) promises::an_event_resumes_its_task(id, database_);
    world_.faults = faults;
  }

  /// Its tasks fail until their circuit opens. In half of the runs an operator has locked the circuit meanwhile. Then
  /// the service is mended.
  void a_service_breaks() {
    const Faults faults = std::exchange(world_.faults, {});
    const bool is_first = scheduler_.chance(70);
    const std::string& name = circuits()[is_first ? 0 : 1];
    const Kind kind = is_first ? Kind::charging : Kind::mailing;
    close_circuit(name, kind);
    world_.circuits_are_heard = true;
    world_.put_off.clear();
    const std::int64_t generation = database_.circuit(name).circuit.generation;
    world_.trace("the service behind the circuit " + name + " is broken");
    world_.broken_services = {name};
    if (scheduler_.chance(50)) (void)database_.lock_circuit(name, scheduler_.between(1ms, 1s));
    const std::vector<TaskId> ids = enqueue_now(10, {.queue = any_queue(), .kind = kind});
    run_until(scheduler_.now() + 1s + world_.latest_begin());
    const auto failures = std::count_if(ids.begin(), ids.end(), [this](TaskId id) {
      const auto row = database_.attempts().find({id, 1});
      return row != database_.attempts().end() && row->second.outcome == "failed";
    });
    promises::failures_open_a_circuit(name, generation, failures, database_);
    // While they are claimed, and put off.
    for (const TaskId id : enqueue_now(6, {.queue = any_queue(), .kind = kind})) {
      scheduler_.after(scheduler_.between(0us, 8ms), [this, id] { database_.cancel(id); });
    }
    run_until(scheduler_.now() + scheduler_.between(10ms, 300ms));
    world_.trace("the service behind the circuit " + name + " is mended");
    world_.broken_services.clear();
    close_circuit(name, kind);
    promises::a_mended_service_closes_its_circuit(name, database_);
    for (const auto& worker : workers_) worker->check_circuits();
    promises::no_task_is_put_off_for_ever(world_.put_off, database_, scheduler_.now());
    world_.circuits_are_heard = false;
    world_.put_off.clear();
    until_all_have_ended();
    promises::every_task_ends(database_);
    world_.faults = faults;
  }

  /// Closes the circuit with enough tasks, if it is not closed. The limit allows for tasks that wait for up to two
  /// recovery timeouts, and for probes that fail or do not begin. Then all workers hear of the closed circuit.
  void close_circuit(const std::string& name, Kind kind) {
    const CircuitRow& row = database_.circuit(name);
    if (row.circuit.state != CircuitState::closed || row.circuit.failures > 0) {
      (void)enqueue_now(row.settings.success_threshold + 2, {.queue = any_queue(), .kind = kind});
    }
    const TimePoint limit = scheduler_.now() + 5 * row.settings.recovery_timeout + 4 * world_.latest_begin();
    while (row.circuit.state != CircuitState::closed && scheduler_.now() < limit) run_until(scheduler_.now() + 50ms);
    run_until(scheduler_.now() + world_.latest_told());
  }

  std::vector<TaskId> enqueue_now(int how_many, const Database::NewTask& task) {
    Database::Transaction transaction = database_.begin();
    database_.enqueue(transaction, how_many, task);
    database_.commit(transaction);
    return transaction.ids;
  }

  void all_stop_in_turn() {
    const std::size_t lost = promises::count_lost(database_);
    run_quick_handlers(100, any_queue());
    for (const auto& worker : workers_) {
      (void)begin_long_handlers(8);  // more than threads: some are claimed ahead
      worker->stop(scheduler_.between(1ms, 500ms));
      run_until(scheduler_.now() + 3s);
    }
    until_all_have_ended();
    promises::a_shutdown_loses_nothing(lost, database_);
    promises::hold_after_the_faults(database_, world_.begun, world_.half_lost, answers_);
  }

  /// While tasks that workers have claimed ahead wait for threads, which are busy for at least a second.
  void a_queue_is_paused() {
    const std::string& queue = any_queue();
    run_quick_handlers(200, queue);
    world_.faults.long_attempts = 100;
    Database::Transaction transaction = database_.begin();
    database_.enqueue(transaction, 40, {.queue = queue});
    database_.commit(transaction);
    const auto has_waiting = [&queue](const auto& worker) { return worker->has_waiting(queue); };
    const TimePoint limit = scheduler_.now() + world_.latest_begin();
    while (std::none_of(workers_.begin(), workers_.end(), has_waiting) && scheduler_.now() < limit) {
      run_until(scheduler_.now() + 1ms);
    }
    run_until(scheduler_.now() + scheduler_.between(0us, 100ms));
    pause(queue);
    const TimePoint until = scheduler_.now() + world_.latest_followed();
    run_until(until);
    promises::a_pause_holds_back_what_has_not_begun(queue, until, database_, world_.begun);
    run_until(scheduler_.now() + 5s);  // threads become free
    promises::a_pause_holds_back_what_has_not_begun(queue, until, database_, world_.begun);
    world_.faults.long_attempts = 0;
    resume(queue);
    until_all_have_ended();
    promises::every_task_ends(database_);
  }

  /// Nobody tells the workers when the pause ends. In half of the runs an operator changes its end meanwhile.
  void a_pause_ends_by_itself(Random& random) {
    until_all_have_ended();
    const std::string& queue = any_queue(random);
    if (random.chance(50)) {
      pause(queue, milliseconds{random.pick(500, 20'000)});
      run_until(scheduler_.now() + random.between(0us, 400ms));
    }
    const milliseconds time = world_.latest_followed() + milliseconds{random.pick(0, 3000)};
    pause(queue, time);
    const TimePoint ends_at = scheduler_.now() + time;
    const TimePoint known_at = scheduler_.now() + world_.latest_followed();
    run_until(scheduler_.now() + random.between(0us, time));
    const std::vector<TaskId> ids = enqueue_now(static_cast<int>(random.pick(1, 3)), {.queue = queue});
    run_until(ends_at - 1us);
    promises::a_pause_holds_back_what_has_not_begun(queue, known_at, database_, world_.begun);
    run_until(ends_at + world_.latest_begin());
    for (const TaskId id : ids) {
      promises::a_task_begins_when_it_is_ready("after a pause", {id, 1}, world_.begun, scheduler_.now());
    }
  }

  /// A right is missing when all workers begin anew. Tasks begin once the right is there.
  void workers_begin_before_they_can_report(Random& random) {
    until_all_have_ended();
    for (const auto& worker : workers_) worker->stop(random.between(1ms, 300ms));
    refuse(Work::reports, random.between(600ms, 3s));
    run_until(scheduler_.now() + 500ms);
    const std::string& queue = any_queue(random);
    const std::vector<TaskId> ids = enqueue_now(static_cast<int>(random.pick(1, 3)), {.queue = queue});
    run_until(database_.refused_until(Work::reports) + world_.latest_begin());
    for (const TaskId id : ids) {
      promises::a_task_begins_when_it_is_ready("before reports could be written", {id, 1}, world_.begun,
                                               scheduler_.now());
    }
    until_all_have_ended();
  }

  /// First fewer tasks than workers began with, while more are ready. Then so many that one worker can run them all.
  void a_concurrency_is_set(Random& random) {
    until_all_have_ended();
    const std::string& queue = any_queue(random);
    const auto own = static_cast<std::int64_t>(concurrency);
    const auto fewer = static_cast<std::size_t>(random.pick(1, own - 1));
    const auto more = static_cast<std::size_t>(random.pick(own + 1, 2 * own));
    set_concurrency(queue, fewer);
    run_until(scheduler_.now() + world_.latest_followed());
    world_.at_once[queue] = fewer;
    world_.faults.long_attempts = 100;
    const std::vector<TaskId> ids = enqueue_now(static_cast<int>(more), {.queue = queue});
    run_until(scheduler_.now() + world_.latest_begin());
    world_.at_once.clear();
    set_concurrency(queue, more);
    run_until(scheduler_.now() + world_.latest_followed() + world_.latest_begin());
    for (const TaskId id : ids) {
      promises::a_task_begins_when_it_is_ready("where more run at once", {id, 1}, world_.begun, scheduler_.now());
    }
    world_.faults.long_attempts = 0;
    set_concurrency(queue, std::nullopt);
    until_all_have_ended();
  }

  /// The server is away for longer than leases last. Nobody ends them, so the reports that workers kept still count.
  void leases_lapse_before_reports_are_written() {
    Database::Transaction transaction = database_.begin();
    database_.enqueue(transaction, static_cast<int>(concurrency), {.queue = any_queue()});
    database_.commit(transaction);
    const auto has_begun = [this](TaskId id) { return world_.begun.contains({id, 1}); };
    const TimePoint limit = scheduler_.now() + world_.latest_begin();
    while (std::none_of(transaction.ids.begin(), transaction.ids.end(), has_begun) && scheduler_.now() < limit) {
      run_until(scheduler_.now() + 100us);
    }
    std::vector<TaskId> begun;
    std::copy_if(transaction.ids.begin(), transaction.ids.end(), std::back_inserter(begun), has_begun);
    lose_server(scheduler_.between(3500ms, 6s));
    run_until(world_.server_is_back_at + 4s);
    for (const TaskId id : begun) promises::what_has_finished_counts(id, database_);
  }

  /// Nothing is left to do.
  void workers_rest() {
    until_all_have_ended();
    run_until(scheduler_.now() + 10s);
    std::vector<std::int64_t> before;
    for (const auto& worker : workers_) before.push_back(worker->statements());
    constexpr Duration time = 20s;
    run_until(scheduler_.now() + time);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      const std::int64_t asked = workers_[i]->statements() - before[i];
      promises::a_worker_at_rest_asks_little(static_cast<int>(i) + 1, asked, most_statements_at_rest(time));
    }
  }

  /// As docs/decisions/0012 counts them.
  [[nodiscard]] std::int64_t most_statements_at_rest(Duration time) const {
    const std::int64_t renewals = time / (lease_length / 3);
    const std::int64_t of_upkeep = time / heartbeat;  // of the two workers that began first
    // At each poll a claimer looks and reads its circuits. A claimer that only polls claims instead. Each second it
    // also asks for due tasks, and reads the settings of queues.
    const std::int64_t of_claimer = 2 * (time / poll_interval) + (world_.only_polls ? 2 * (time / 1s) : 0);
    constexpr std::int64_t rare = 4;  // such as a comparison of declarations
    return renewals + of_upkeep + of_claimer + rare;
  }

  /// A dead letter that is replayed, and a task of tomorrow that is rescheduled, begin when they are due.
  void make_ready_by_hand() {
    const milliseconds delay{scheduler_.chance(50) ? scheduler_.pick(1, 300) : 0};
    std::vector<std::pair<TaskId, int>> attempts;
    for (const auto& [id, task] : database_.tasks()) {
      const bool may_be_put_off = !circuit_of(task.kind).empty();
      if (attempts.empty() && !may_be_put_off && database_.replay(id, delay))
        attempts.emplace_back(id, task.attempt + 1);
    }
    Database::Transaction tomorrow = database_.begin();
    database_.enqueue(tomorrow, 1, {.delay = 24h, .queue = any_queue()});
    database_.commit(tomorrow);
    run_until(scheduler_.now() + scheduler_.between(0us, 500ms));
    const TaskId id = tomorrow.ids.front();
    world_.trace("task " + std::to_string(id) + " of tomorrow is rescheduled, due in " + std::to_string(delay.count()) +
                 " ms");
    (void)database_.reschedule(id, delay);
    attempts.emplace_back(id, 1);
    run_until(scheduler_.now() + delay + world_.latest_begin());
    for (const auto& attempt : attempts) {
      promises::a_task_begins_when_it_is_ready("replayed or rescheduled", attempt, world_.begun, scheduler_.now());
    }
  }

  /// A call meets a task that holds its key, and locks the task at the time at which it is due.
  void a_holder_is_met() {
    Random random{static_cast<std::uint64_t>(scheduler_.pick(1, 1'000'000))};
    Database::NewTask task = any_keyed_task(scheduler_, random, ++calls_in_calm_);
    task.key += ", in the calm " + std::to_string(calls_in_calm_);
    if (task.rule.conflict == Conflict::refuse) task.rule.conflict = Conflict::keep;
    task.expires_in.reset();
    task.queue = any_queue();
    const auto holder = std::make_shared<Database::Transaction>(database_.begin());
    const TaskId id = database_.enqueue_unique(*holder, task)->id;
    database_.commit(*holder);
    run_until(scheduler_.now() + std::max<Duration>(0ms, task.delay - scheduler_.between(0ms, 100ms)));
    const TimePoint called_at = scheduler_.now();
    task.delay = milliseconds{scheduler_.pick(0, 100)};
    meet_key(std::make_shared<Database::Transaction>(database_.begin()), task, scheduler_.between(0us, 300ms), false);
    run_until(called_at + 600ms + world_.latest_begin());  // the first delay is over as well
    promises::a_task_begins_when_it_is_ready("met by a call", {id, 1}, world_.begun, scheduler_.now());
  }

  void break_all() {
    for (const auto& worker : workers_) worker->break_connection();
  }

  const RunSettings settings_;
  Scheduler scheduler_;
  Database database_;
  World world_;
  std::vector<std::string> queues_{"default"};
  std::vector<std::unique_ptr<Worker>> workers_;
  std::optional<Database::Durable> replica_;  // while it lags
  TimePoint begin_{};
  bool has_ended_ = false;   // the time of faults
  bool has_deadly_ = false;  // one deadly task is still to come
  std::int64_t productions_ = 0;
  std::int64_t tries_ = 0;  // of calls
  std::int64_t disturbances_ = 0;
  std::int64_t emissions_ = 0;
  std::int64_t refusals_ = 0;  // of reports
  std::int64_t queue_changes_ = 0;
  std::int64_t calls_in_calm_ = 0;
  std::int64_t payloads_ = 0;                                  // of events: each has another one
  std::map<std::pair<TaskId, int>, TimePoint> resumed_until_;  // attempts that events make ready
  std::map<CallKey, std::vector<TaskId>> answers_;             // to calls
  std::size_t leases_ended_ = 0;                               // of workers that had not stopped
  RunResult result_;
};

}  // namespace

RunResult run(const RunSettings& settings) { return Run{settings}.take(); }

/// Delta debugging: leaves out a part of what happened, ever smaller ones, where the same promise is broken without it.
RunResult shrink(const RunSettings& failing, int most_runs) {
  const auto guarantee_of = [](const RunResult& result) {
    return result.broken ? result.broken->substr(0, result.broken->find(':')) : std::string{};
  };
  RunSettings settings = failing;
  settings.traces = false;
  RunResult least = run(settings);
  const std::string guarantee = guarantee_of(least);
  std::size_t parts = 2;
  int runs = 0;
  while (parts <= 2 * least.incidents.size() && runs < most_runs) {
    const std::vector<Incident> incidents = least.incidents;
    const std::size_t size = std::max<std::size_t>(1, (incidents.size() + parts - 1) / parts);
    bool is_smaller = false;
    // From the end: what comes after the failure is left out first.
    for (std::size_t end = incidents.size(); end > 0 && runs < most_runs; end -= std::min(end, size)) {
      RunSettings smaller = settings;
      smaller.left_out.insert(incidents.begin() + static_cast<std::ptrdiff_t>(end - std::min(end, size)),
                              incidents.begin() + static_cast<std::ptrdiff_t>(end));
      RunResult result = run(smaller);
      ++runs;
      if (guarantee_of(result) != guarantee || result.incidents.size() >= least.incidents.size()) continue;
      settings = std::move(smaller);
      least = std::move(result);
      is_smaller = true;
    }
    if (!is_smaller) {
      if (size == 1) break;
      parts *= 2;
    }
  }
  settings.traces = failing.traces;
  return settings.traces ? run(settings) : least;
}

}  // namespace dogged::sim
