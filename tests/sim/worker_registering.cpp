// How a worker of the simulation registers, as registrar.cpp carries it out. See worker.hpp.
#include <algorithm>
#include <string>
#include <utility>

#include "worker.hpp"

namespace dogged::sim {
namespace {

using namespace std::chrono_literals;
using runtime::Registering;

}  // namespace

/// A process is named by its host and its id, unless --name is given.
void Worker::begin_process() {
  ++processes_;
  name_ = "worker " + std::to_string(number_);
  if (!has_fixed_name_) name_ += ", process " + std::to_string(processes_);
  declared_ = world_.declared;
  begin_registering(Registering::Occasion::start, std::nullopt);
}

/// The process supervisor begins another one.
void Worker::end_process(Duration down_for) {
  end_life();
  world_.scheduler.after(down_for, [this, lives = lives_] {
    if (lives == lives_) begin_process();
  });
}

void Worker::begin_registering(Registering::Occasion occasion, std::optional<std::int64_t> previous) {
  candidate_.emplace(
      Candidate{.registering = Registering{occasion}, .is_again = previous.has_value(), .previous = previous});
  registering_step();
}

void Worker::registering_step() {
  Database& database = world_.database;
  const Registering::Action action = candidate_->registering.next(now(), candidate_->down_for.has_value());
  switch (action.step) {
    case Registering::Step::prepare:
      return ask_to_register([] { return [](Registering& registering) { registering.on_prepared(); }; });
    case Registering::Step::ask:
      return ask_to_register([this, &database, name = name_, previous = candidate_->previous, asked_at = now()] {
        return [this, asked_at,
                lease = database.register_worker(name, lease_length, previous, queue_set_)](Registering& registering) {
          if (!lease) return registering.on_name_taken();
          candidate_->previous = lease;
          candidate_->asked_at = asked_at;
          registering.on_registered();
        };
      });
    case Registering::Step::find_holder:
      return ask_to_register([this, &database, name = name_] {
        return [this, holder = database.name_holder(name)](Registering& registering) {
          if (registering.on_holder(holder, now())) world_.trace(name_ + ": the name is in use");
        };
      });
    case Registering::Step::wait:  // a stop ends the wait
      if (world_.mutant == Mutant::waits_for_its_name_for_ever) return;
      return later(std::min<Duration>(10ms, action.until - now()), [this] { registering_step(); });
    case Registering::Step::declare:
      return declare_first();
    case Registering::Step::registered:
      return candidate_->down_for ? sign_off(*candidate_->down_for) : begin_life();
    case Registering::Step::refuse:
    case Registering::Step::fail:
      world_.trace(name_ + " cannot register: " + std::string{to_text(action.step)});
      return end_process(world_.scheduler.between(100ms, 1s));
    case Registering::Step::stop:
      return end_process(*candidate_->down_for);
  }
}

template <class Statement>
void Worker::ask_to_register(Statement statement) {
  ask(
      [this, statement = std::move(statement)] {
        return [this, answer = statement()] {
          answer(candidate_->registering);
          registering_step();
        };
      },
      [this] {
        candidate_->registering.on_failure();
        later(world_.scheduler.between(1ms, 100ms), [this] { registering_step(); });
      });
}

/// If PostgreSQL refuses the schedule, upkeep declares it later.
void Worker::declare_first() {
  ask(
      [this, lease = candidate_->previous.value(), declared = declared_] {
        Database& database = world_.database;
        if (!database.is_refused(Work::comparison)) declare(database, lease, declared);
        return [this] {
          candidate_->registering.on_declared();
          registering_step();
        };
      },
      [this] { withdraw(); });
}

/// A worker that does not start must not look alive until its lease has lapsed.
void Worker::withdraw() {
  const auto failed = [this] {
    candidate_->registering.on_failure();
    registering_step();
  };
  ask(
      [this, lease = candidate_->previous.value(), failed] {
        world_.database.stop_worker(lease);
        return failed;
      },
      failed);
}

/// The worker was told to stop after it had asked.
void Worker::sign_off(Duration down_for) {
  ask(
      [this, lease = candidate_->previous.value(), down_for] {
        world_.database.stop_worker(lease);
        return [this, down_for] { end_process(down_for); };
      },
      [this, down_for] { end_process(down_for); });
}

}  // namespace dogged::sim
