// Circuits and retry budgets of a worker, as HandingOut, Circuits, GivingBack::defer and the completer treat them.
// See worker.hpp.
#include <algorithm>
#include <utility>

#include "claim/core/release_verdict.hpp"
#include "tasks/definition.hpp"
#include "worker.hpp"

namespace dogged::sim {
namespace {

using namespace std::chrono_literals;
using runtime::CircuitLedger;
using runtime::ClaimedTask;
using runtime::Deferral;
using runtime::SortedOut;
using runtime::SortingOut;

std::vector<ClaimedTask> tasks_of(const std::vector<Deferral>& deferrals) {
  std::vector<ClaimedTask> tasks;
  for (const Deferral& deferral : deferrals) tasks.push_back(deferral.task);
  return tasks;
}

/// Of all that a worker defines.
std::set<Kind> kinds_of(std::string_view circuit) {
  std::set<Kind> kinds;
  for (const Kind kind : {Kind::charging, Kind::mailing}) {
    if (circuit_of(kind) == circuit) kinds.insert(kind);
  }
  return kinds;
}

}  // namespace

// The claimer.

/// The circuits are asked first, each in its turn.
void Worker::hand_out(const std::shared_ptr<Claimed>& claimed) {
  for (const ClaimedTask& task : claimed->tasks) {
    promises::a_task_put_off_is_claimed_in_time(task.id, world_.put_off, now());
  }
  std::set<TaskId> first_runs;  // taken for retries
  if (world_.mutant == Mutant::budget_of_first_runs) {
    for (ClaimedTask& task : claimed->tasks) {
      if (std::exchange(task.retry_count, std::max(task.retry_count, 1)) == 0) first_runs.insert(task.id);
    }
  }
  const auto sorting = std::make_shared<SortingOut>(std::move(claimed->tasks), claimed->has_more, now());
  std::vector<Chore> chores;
  for (const auto& [circuit, count] : sorting->asks()) {
    chores.push_back([this, sorting, circuit = circuit, count = count] { ask_circuit(sorting, circuit, count); });
  }
  chores.push_back([this, claimed, sorting, first_runs] { hand_out(*claimed, std::move(*sorting), first_runs); });
  chores_.insert(chores_.begin(), chores.begin(), chores.end());
  claimer_continue();
}

/// The worker hands over first the tasks that begin.
void Worker::hand_out(const Claimed& claimed, SortingOut sorting, const std::set<TaskId>& first_runs) {
  Executor& executor = life_->executors[claimed.queue];
  SortedOut sorted = sorted_out(executor, std::move(sorting), first_runs);
  note_not_begun(tasks_of(sorted.over_budget));
  executor.pool.submit(std::move(sorted.begin));
  begin_tasks();
  std::vector<Chore> chores;
  if (!sorted.expired.empty()) {
    chores.push_back([this, expired = std::move(sorted.expired)] { end_expired(expired); });
  }
  for (const std::vector<Deferral>* deferrals : {&sorted.by_circuit, &sorted.over_budget}) {
    if (!deferrals->empty()) chores.push_back([this, tasks = *deferrals] { defer(tasks); });
  }
  for (const std::string_view circuit : sorted.in_place) {
    chores.push_back([this, claimed, name = std::string{circuit}] { defer_ready(claimed, name); });
  }
  chores_.insert(chores_.begin(), chores.begin(), chores.end());
  claimer_continue();
}

SortedOut Worker::sorted_out(Executor& executor, SortingOut sorting, const std::set<TaskId>& first_runs) {
  runtime::RetryThrottle* const retries =
      world_.mutant == Mutant::budget_is_not_asked ? nullptr : executor.retries.get();
  const TimePoint at = world_.mutant == Mutant::budget_that_is_not_refilled ? executor.budget_since : now();
  SortedOut sorted = std::move(sorting).finish(
      retries, at, [this] { return static_cast<double>(world_.scheduler.pick(0, 999)) / 1000; });
  const auto tell = [&](ClaimedTask& task) {
    if (first_runs.contains(task.id)) task.retry_count = 0;
  };
  for (ClaimedTask& task : sorted.begin) tell(task);
  for (Deferral& deferral : sorted.over_budget) tell(deferral.task);
  for (const Deferral& deferral : sorted.over_budget) promises::first_runs_are_not_held_back(deferral.task);
  if (executor.retries) {
    promises::retries_stay_within_their_budget(sorted.begin, executor.retries->settings(), now(), executor.begun);
  }
  return sorted;
}

/// As Circuits::ask.
void Worker::ask_circuit(const std::shared_ptr<SortingOut>& sorting, std::string_view circuit, std::size_t count) {
  const auto take = [this, sorting, circuit, count](const CircuitLedger::Admission& admission) {
    const auto draw = [this] { return static_cast<double>(world_.scheduler.pick(0, 999)) / 1000; };
    sorting->on_answer(circuit, life_->circuits.answer(circuit, admission, count, draw));
    claimer_continue();
  };
  const std::string name{circuit};
  if (const auto admission = life_->circuits.admit(circuit, count, now())) {
    if (world_.circuits_are_heard) {
      promises::an_open_circuit_is_heard(name, *admission, world_.database, world_.latest_told());
    }
    return take(*admission);
  }
  if (!claimer_has_connection_) {
    claimer_failed();
    return claimer_continue();
  }
  const auto answer = std::make_shared<CircuitLedger::Admission>();
  change_circuit(
      name,
      [this, answer, count](circuit::SharedCircuit as_read) {
        if (world_.mutant == Mutant::probes_never_expire && as_read.circuit.state == CircuitState::half_open) {
          as_read.now_ms = as_read.circuit.since_ms;
        }
        const auto [admission, after] = CircuitLedger::ask(as_read, count);
        *answer = admission;
        if (world_.mutant == Mutant::half_open_lets_all_through && admission.let_through > 0) {
          answer->let_through = count;
        }
        return after;
      },
      [this, answer, name, circuit, take](std::optional<TimePoint> asked_at) {
        if (!asked_at) return take(life_->circuits.admit_while_locked(circuit));
        promises::a_half_open_circuit_lets_probes_through(name, *answer, world_.database, *asked_at, world_.probes);
        take(*answer);
      },
      [this] {
        claimer_failed();
        later(world_.scheduler.between(1ms, 100ms), [this] { claimer_step(); });
      });
}

/// As Circuits::try_change: a transaction locks the row, and writes what `how` makes of it. `then` is told whether the
/// row was free.
template <class How, class Then, class Fails>
void Worker::change_circuit(const std::string& name, How how, Then then, Fails fails) {
  Database& database = world_.database;
  ask(
      [this, &database, name, how = std::move(how), then = std::move(then), fails, asked_at = now()] {
        const auto locked = database.try_lock_circuit(name, until_given_up);
        return [this, &database, name, how, then, fails, asked_at, locked] {
          if (!locked) {
            (void)life_->circuits.on_locked(name, now());
            return then(std::nullopt);
          }
          circuit::SharedCircuit changed = locked->circuit;
          changed.circuit = how(locked->circuit);
          ask(
              [this, &database, then, fails, asked_at, changed, lock = locked->lock] {
                const bool is_saved = database.save_circuit(changed.name, lock, changed.circuit);
                return [this, then, fails, asked_at, changed, is_saved, saved_at = now()] {
                  if (!is_saved) return fails();
                  (void)life_->circuits.on_changed(changed, asked_at);
                  then(std::optional{saved_at});
                };
              },
              fails);
        };
      },
      fails);
}

/// As GivingBack::defer.
void Worker::defer(const std::vector<Deferral>& tasks) {
  std::vector<Database::PutOff> put_off;
  for (const auto& [task, wait] : tasks) {
    put_off.push_back({{task.id, task.attempt}, wait});
    plan_->on_deferred(wait, now());
  }
  const auto statement = [this, put_off, lease = lease_id(), session = plan_->certainty().session()] {
    const std::vector<runtime::Attempt> left = world_.database.defer(lease, put_off, session);
    std::vector<TaskId> mine;
    for (const runtime::Attempt& attempt : left) {
      const runtime::Holder holder = world_.database.who_holds(lease, attempt);
      if (release_verdict(holder, attempt.number) == runtime::ReleaseVerdict::locked) mine.push_back(attempt.id);
    }
    if (world_.circuits_are_heard) {
      for (const auto& [attempt, wait] : put_off) world_.put_off[attempt.id] = now() + wait + world_.latest_told();
      for (const runtime::Attempt& attempt : left) world_.put_off.erase(attempt.id);
    }
    return mine;
  };
  if (world_.scheduler.chance(world_.faults.late_releases)) {
    return arrives_late([statement] { (void)statement(); });
  }
  ask_claimer([this, statement] {
    return [this, mine = statement()] {
      for (const TaskId id : mine) plan_->on_locked(id, now());
    };
  });
}

/// As HandingOut::defer_ready.
void Worker::defer_ready(const Claimed& claimed, const std::string& circuit) {
  ask_claimer([this, circuit, queue = claimed.claim.queue, from = claimed.first] {
    const std::vector<TaskId> deferred = world_.database.defer_ready(circuit, queue, from, kinds_of(circuit));
    if (world_.circuits_are_heard) {
      for (const TaskId id : deferred) world_.put_off[id] = world_.database.due_at(id) + world_.latest_begin();
    }
    return [] {};
  });
}

/// As Circuits::refresh.
void Worker::refresh_circuits() {
  if (!world_.has_circuits) return claimer_continue();
  ask_claimer([this, asked_at = now()] {
    return [this, asked_at, circuits = world_.database.read_circuits()] {
      if (world_.mutant != Mutant::reads_no_circuits) (void)life_->circuits.on_read(circuits, asked_at);
    };
  });
}

/// As Claimer::change_retry_budget.
void Worker::change_retry_budget(Executor& executor, const std::optional<RetryBudgetSettings>& budget, TimePoint now) {
  executor.terms.retry_budget = budget;
  executor.retries = budget ? std::make_unique<runtime::RetryThrottle>(*budget) : nullptr;
  executor.budget_since = now;
  executor.begun = {};
}

void Worker::tell_circuits_changed() {
  if (!life_) return;
  const auto row = world_.database.workers().find(lease_id());
  if (row == world_.database.workers().end() || !row->second.listens) return;
  later(world_.scheduler.between(20us, 2ms), [this] {
    circuits_told_ = true;
    end_wait();
  });
}

// Attempts report to circuits, and the completer writes the reports.

void Worker::note_event(std::string_view circuit, detail::CircuitEvent event) {
  if (circuit.empty()) return;
  life_->circuits.note(circuit, event);
  if (event.kind == detail::CircuitEvent::Kind::failure) ++life_->failures[std::string{circuit}].noted;
}

void Worker::note_not_begun(const std::vector<ClaimedTask>& tasks) {
  for (const ClaimedTask& task : tasks) {
    note_event(task.definition->circuit, {detail::CircuitEvent::Kind::abandon, task.circuit_generation});
  }
  completer_step();
}

/// As Circuits::write_noted: a transaction for each circuit.
void Worker::write_circuits() {
  writing_.emplace(CircuitWriting{life_->circuits.take_noted(), {}});
  for (const auto& [name, events] : writing_->left) writing_->untried.push_back(name);
  write_next_circuit();
}

void Worker::write_next_circuit() {
  const auto end = [this](Duration pause) {
    if (world_.mutant == Mutant::drops_circuit_events) writing_->left.clear();
    life_->owes_circuits = false;  // what could not be written is lost with the worker
    life_->circuits.on_written(std::move(writing_->left), now());
    writing_.reset();
    later(pause, [this] { completer_step(); });
  };
  if (writing_->untried.empty()) return end(1us);
  const std::string name = std::move(writing_->untried.back());
  writing_->untried.pop_back();
  const CircuitLedger::Events events = writing_->left.at(name);
  change_circuit(
      name,
      [this, events](const circuit::SharedCircuit& as_read) {
        promises::note_places_that_become_free(as_read.name, events, world_.database, world_.probes);
        return CircuitLedger::after(as_read, events);
      },
      [this, name, events](std::optional<TimePoint> written_at) {
        if (written_at) {
          promises::CircuitFailures& failures = life_->failures[name];
          for (const detail::CircuitEvent& event : events) {
            failures.written += event.kind == detail::CircuitEvent::Kind::failure ? 1 : 0;
          }
          promises::no_failure_is_written_twice(name, failures);
          if (world_.mutant != Mutant::writes_circuit_events_again) writing_->left.erase(name);
        }
        write_next_circuit();
      },
      [this, end] { end(world_.scheduler.between(1ms, 100ms)); });
}

void Worker::check_circuits() const {
  if (!life_) return;
  for (const auto& [name, row] : world_.database.durable().circuits) {
    promises::a_worker_knows_its_circuits(number_, name, life_->circuits.state(name), row);
    if (const auto failures = life_->failures.find(name); failures != life_->failures.end()) {
      promises::every_failure_is_written(number_, name, failures->second);
    }
  }
}

}  // namespace dogged::sim
