// Upkeep of a worker of the simulation, as upkeep.cpp carries it out, and what upkeep is told. See worker.hpp.
#include <algorithm>
#include <utility>

#include "worker.hpp"

namespace dogged::sim {
namespace {

using namespace std::chrono_literals;
using runtime::RescueTasks;
using runtime::ToldToUpkeep;
using runtime::UpkeepPlan;

}  // namespace

void declare(Database& database, std::int64_t lease, const std::optional<ScheduleSettings>& declared) {
  if (declared) (void)database.declare_schedule(lease, *declared, declared->every);
}

/// The keeper hears the notification, as one of a cancellation, and passes it on.
void Worker::tell_upkeep(const ToldToUpkeep& told) {
  if (!life_ || keeper_listens_on_ != keeper_connections_) return;
  const Incident incident{Incident::Kind::notification, number_, ++notifications_};
  Random random = world_.stream_of(incident);
  const Duration under_way = random.between(20us, 2ms);
  if (random.chance(world_.faults.lost_notifications) && world_.happens(incident)) {
    return world_.trace("worker " + std::to_string(number_) + ": a notification to upkeep is lost");
  }
  later(under_way, [this, told, connection = keeper_connections_] {
    if (connection == keeper_connections_) note_for_upkeep(told);
  });
}

/// As UpkeepInbox.
void Worker::note_for_upkeep(const ToldToUpkeep& told) {
  ToldToUpkeep& inbox = life_->told_to_upkeep;
  inbox.worker_began = inbox.worker_began || told.worker_began;
  inbox.schedules_changed = inbox.schedules_changed || told.schedules_changed;
  wake_upkeep();
}

ToldToUpkeep Worker::take_told() {
  ToldToUpkeep told = std::exchange(life_->told_to_upkeep, {});
  if (world_.mutant == Mutant::forgets_that_a_worker_began) told.worker_began = false;
  if (world_.mutant == Mutant::forgets_that_schedules_changed) told.schedules_changed = false;
  return told;
}

void Worker::wake_upkeep() {
  if (std::exchange(life_->upkeep_waits, false)) upkeep_step();
}

void Worker::stop_upkeep() {
  if (world_.mutant == Mutant::stops_before_its_rescue) return upkeep_ended();
  wake_upkeep();
}

/// Upkeep is the last service to end.
void Worker::upkeep_ended() {
  promises::a_worker_that_ends_rescues_what_it_has_ended(number_, life_->owes_rescue);
  begin_again();
}

void Worker::upkeep_step() {
  if (life_->rescue) return rescue();
  life_->upkeep_waits = false;
  if (life_->stops_services && life_->has_keeper_ended) life_->upkeep.on_stopping();
  life_->upkeep.on_told(take_told(), now());
  const UpkeepPlan::Action action = life_->upkeep.next(now());
  switch (action.step) {
    case UpkeepPlan::Step::fire_ticks:
      return fire_ticks();
    case UpkeepPlan::Step::connect:
      return ask_upkeep([] { return [] {}; });
    case UpkeepPlan::Step::look:
      return look(action.look_back);
    case UpkeepPlan::Step::end_leases:
      return end_leases();
    case UpkeepPlan::Step::rescue:
      return rescue();
    case UpkeepPlan::Step::expire:
      return ask_upkeep([this, look_back = action.look_back] {
        return [this, count = world_.database.expire(look_back)] { life_->upkeep.on_expired(count); };
      });
    case UpkeepPlan::Step::compare:
      return compare();
    case UpkeepPlan::Step::wait:
      return upkeep_waits(action.until);
    case UpkeepPlan::Step::end:
      return upkeep_ended();
  }
}

void Worker::upkeep_waits(TimePoint until) {
  life_->upkeep_waits = true;
  later(std::max(std::chrono::duration_cast<Duration>(until - now()), Duration{1us}),
        [this, wait = ++life_->upkeep_waits_so_far] {
          if (life_->upkeep_waits && wait == life_->upkeep_waits_so_far) upkeep_step();
        });
}

template <class Statement>
void Worker::ask_upkeep(Statement statement) {
  ask(
      [this, lease = lease_id(), statement = std::move(statement)]() mutable {
        if (world_.mutant == Mutant::ends_leases_once_the_server_is_back) {
          (void)world_.database.end_lapsed_leases(lease);
        }
        return [this, answer = statement()]() mutable {
          answer();
          upkeep_step();
        };
      },
      [this] {
        upkeep_failed();
        later(100ms, [this] { upkeep_step(); });
      });
}

void Worker::upkeep_failed() {
  life_->owes_rescue = false;  // other workers find the tasks
  if (life_->rescue) {
    life_->rescue.reset();
    life_->rescued_tasks = 0;
    tell_claimer({.has_rescued = true});  // batches before the failure have made tasks ready, perhaps
  }
  life_->upkeep.on_failure();
}

void Worker::look(std::optional<milliseconds> look_back) {
  ask_upkeep([this, lease = lease_id(), look_back] {
    return [this, found = world_.database.upkeep_due(lease, look_back)]() mutable {
      if (world_.mutant == Mutant::ignores_the_next_lapse) {
        found.comes_first = false;
        if (found.lapses_in >= milliseconds{0}) found.lapses_in.reset();
      }
      if (world_.mutant == Mutant::looks_late_for_ticks && found.tick_due_in > milliseconds{0}) {
        found.tick_due_in.reset();
      }
      if (life_->gave_ticks_up) found.tick_due_in.reset();
      (void)life_->upkeep.on_looked(found, life_->lease, now());
    };
  });
}

void Worker::end_leases() {
  ask_upkeep([this, lease = lease_id()] {
    return [this, ended = world_.database.end_lapsed_leases(lease)] {
      life_->owes_rescue = life_->owes_rescue || ended > 0;
      life_->upkeep.on_leases_ended();
    };
  });
}

/// As Rescue in rescue.cpp.
void Worker::rescue() {
  if (!life_->rescue) life_->rescue.emplace(looked_for_at_once);
  const RescueTasks::Action action = life_->rescue->next();
  switch (action.step) {
    case RescueTasks::Step::list_workers:
    case RescueTasks::Step::list_left:
      return list_workers_to_rescue();
    case RescueTasks::Step::list_claims:
    case RescueTasks::Step::rescue_batch:
    case RescueTasks::Step::mark_rescued:
      return rescue_tasks_of(action);
    case RescueTasks::Step::done:
      return end_rescue();
  }
}

void Worker::list_workers_to_rescue() {
  ask_upkeep(
      [this] { return [this, workers = world_.database.workers_to_rescue()] { life_->rescue->on_workers(workers); }; });
}

void Worker::rescue_tasks_of(const RescueTasks::Action& action) {
  Database& database = world_.database;
  if (action.step == RescueTasks::Step::list_claims) {
    return ask_for_rescue(action.worker, [this, &database, worker = action.worker] {
      return [this, claims = database.claims_of(worker)] { life_->rescue->on_claims(claims); };
    });
  }
  if (action.step == RescueTasks::Step::mark_rescued) {
    return ask_for_rescue(action.worker, [this, &database, worker = action.worker] {
      return [this, is_only_rescuer = database.mark_rescued(worker)] {
        is_only_rescuer ? life_->rescue->on_marked() : life_->rescue->on_locked();
      };
    });
  }
  ask_for_rescue(action.worker, [this, &database, lease = lease_id(), action] {
    return [this, tasks = database.rescue_batch(lease, action.worker, action.claims)] {
      if (!tasks) return life_->rescue->on_locked();
      life_->rescued_tasks += *tasks;
      life_->rescue->on_batch(*tasks);
    };
  });
}

template <class Statement>
void Worker::ask_for_rescue(std::int64_t worker, Statement statement) {
  ask_upkeep([this, worker, statement = std::move(statement)]() mutable -> Callback {
    if (world_.database.is_rescue_refused(worker)) return [this, worker] { rescue_refused(worker); };
    return statement();
  });
}

void Worker::rescue_refused(std::int64_t worker) {
  world_.trace("worker " + std::to_string(number_) + " is refused the rescue of lease " + std::to_string(worker));
  if (world_.mutant == Mutant::lets_a_refusal_stop_all_rescues) return upkeep_failed();
  life_->rescue->on_refused();
}

void Worker::end_rescue() {
  if (const std::size_t tasks = std::exchange(life_->rescued_tasks, 0); tasks > 0) {
    world_.trace("worker " + std::to_string(number_) + " has rescued " + std::to_string(tasks) + " tasks");
    tell_claimer({.has_rescued = true});
  }
  life_->owes_rescue = false;
  life_->upkeep.on_rescued(!life_->rescue->has_rescued_all());
  life_->rescue.reset();
  upkeep_step();
}

void Worker::fire_ticks() {
  ask_upkeep([this]() -> Callback {
    if (world_.database.is_refused(Work::ticks)) return [this] { ticks_refused(); };
    return [this, fired = world_.database.fire_due_ticks()]() mutable {
      if (fired.schedules > 0) world_.trace("worker " + std::to_string(number_) + " has fired ticks");
      if (world_.mutant == Mutant::looks_late_for_ticks && fired.due_in > milliseconds{0}) fired.due_in.reset();
      life_->upkeep.on_fired(fired.schedules, fired.due_in, now());
    };
  });
}

void Worker::ticks_refused() {
  world_.trace("worker " + std::to_string(number_) + " is refused the ticks");
  if (world_.mutant == Mutant::takes_refused_ticks_for_a_lost_server) return upkeep_failed();
  if (world_.mutant == Mutant::gives_refused_ticks_up) {
    life_->gave_ticks_up = true;
    return life_->upkeep.on_fired(0, std::nullopt, now());
  }
  life_->upkeep.on_ticks_refused(now());
}

/// As Upkeep::compare, of a schedule that the worker's program declares.
void Worker::compare() {
  ask_upkeep([this, lease = lease_id(), declared = declared_]() -> Callback {
    if (world_.database.is_refused(Work::comparison)) return [this] { comparison_refused(); };
    declare(world_.database, lease, declared);
    return [this] { life_->upkeep.on_compared(); };
  });
}

void Worker::comparison_refused() {
  world_.trace("worker " + std::to_string(number_) + " is refused the comparison");
  if (world_.mutant == Mutant::forgets_a_refused_comparison) return life_->upkeep.on_compared();
  life_->upkeep.on_comparison_refused(now());
}

}  // namespace dogged::sim
