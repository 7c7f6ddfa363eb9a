// Handlers with durable steps, as Context::step, step_in, sleep and wait_event carry them out. See worker.hpp.
#include <memory>
#include <utility>

#include "run/core/ending.hpp"
#include "step/core/turns.hpp"
#include "worker.hpp"

namespace dogged::sim {
namespace {

using namespace std::chrono_literals;
using runtime::Attempt;
using runtime::RecordPlan;
using runtime::Turns;
using runtime::WaitPlan;
using Item = ScriptItem::Kind;

constexpr int giving_up = 30;     // percent of handlers that get no answer are asked to stop before they have one
constexpr int part_of_step = 16;  // of a handler's random numbers, and the next ones for later items

}  // namespace

Attempt Worker::attempt_of(const Runner& runner) const {
  const runtime::ClaimedTask& task = runner.slot.run().task;
  return {task.id, task.attempt};
}

/// As HandlerSession::ask: again and again, until the handler is asked to stop.
template <class Statement>
void Worker::ask_for_handler(Executor& executor, const std::shared_ptr<Runner>& runner, Statement statement) {
  try_for_handler(executor, runner, statement,
                  [this, &executor, runner, statement] { ask_for_handler(executor, runner, statement); });
}

/// One try. `again`: the next one.
template <class Statement, class Again>
void Worker::try_for_handler(Executor& executor, const std::shared_ptr<Runner>& runner, Statement statement,
                             Again again) {
  const int handler = runner->handlers;
  ask(
      [runner, handler, statement] {
        return [runner, handler, answer = statement()] {
          if (runner->handlers == handler) answer();
        };
      },
      [this, &executor, runner, handler, again] {
        if (runner->handlers != handler) return;
        const auto sequel = Turns::after(Turns::Failure::connection_lost, runner->reason != StopReason::none);
        if (sequel == Turns::Sequel::fail || world_.scheduler.chance(giving_up))
          return fail(executor, *runner, "AGAIN");
        later_in_handler(world_.scheduler.between(1ms, 100ms), runner, again);
      });
}

void Worker::fail(Executor& executor, Runner& runner, std::string_view code) {
  end_handler(executor, runner, runner.handlers, runtime::failed_with(ErrorCode{std::string{code}}, "failed"));
}

void Worker::begin_script(Executor& executor, const std::shared_ptr<Runner>& runner, Kind kind) {
  runner->script = script_of(world_.scheduler, kind, runner->slot.run().task.id);
  runner->item = 0;
  runner->known = {};
  next_item(executor, runner);
}

/// Some attempts fail between two items.
void Worker::next_item(Executor& executor, const std::shared_ptr<Runner>& runner) {
  if (runner->item == runner->script.size()) return end_task(executor, runner);
  Random random = stream_of_handler(runner->slot.run().task, part_of_step + runner->item);
  if (random.chance(world_.faults.failing_attempts / 4)) return fail(executor, *runner, "AGAIN");
  switch (runner->script[runner->item].kind) {
    case Item::step:
    case Item::charge:
      return begin_step(executor, runner);
    case Item::loop:
      return begin_loop(executor, runner);
    case Item::sleep:
    case Item::event:
      runner->wait = {};
      return wait(executor, runner);
  }
}

/// The item is on record: the handler goes on behind it.
void Worker::pass_item(Executor& executor, const std::shared_ptr<Runner>& runner, std::optional<std::int64_t> value) {
  const auto [id, attempt] = attempt_of(*runner);
  const std::string& name = runner->script[runner->item].name;
  if (!world_.half_lost.contains(id)) {
    promises::a_step_has_one_value(id, attempt, name, value, world_.database, world_.step_values);
  }
  ++runner->item;
  later_in_handler(world_.scheduler.between(1us, 2ms), runner,
                   [this, &executor, runner] { next_item(executor, runner); });
}

/// As Steps::recorded.
void Worker::begin_step(Executor& executor, const std::shared_ptr<Runner>& runner) {
  const std::string& name = runner->script[runner->item].name;
  switch (runner->known.next(name)) {
    case runtime::KnownSteps::Ask::names:
      return ask_for_names(executor, runner);
    case runtime::KnownSteps::Ask::result:
      return ask_for_record(executor, runner);
    case runtime::KnownSteps::Ask::nothing:
      runner->known.note_begun(name);
      return run_step(executor, runner);
  }
}

void Worker::ask_for_names(Executor& executor, const std::shared_ptr<Runner>& runner) {
  ask_for_handler(executor, runner, [this, &executor, runner, attempt = attempt_of(*runner), lease = lease_id()]() {
    return [this, &executor, runner, names = world_.database.names_of_steps(lease, attempt)] {
      if (!names) return fail(executor, *runner, "LEASE_LOST");
      runner->known.on_names(*names);
      begin_step(executor, runner);
    };
  });
}

void Worker::ask_for_record(Executor& executor, const std::shared_ptr<Runner>& runner) {
  ask_for_handler(executor, runner,
                  [this, &executor, runner, attempt = attempt_of(*runner), lease = lease_id(),
                   name = runner->script[runner->item].name]() {
                    const Database::Recorded recorded = world_.database.recorded_step(lease, attempt, name);
                    const std::optional<StepRow> step = recorded.step ? std::optional{*recorded.step} : std::nullopt;
                    return [this, &executor, runner, is_held = recorded.is_held, step] {
                      if (!is_held) return fail(executor, *runner, "LEASE_LOST");
                      if (step) return pass_item(executor, runner, step->value);
                      run_step(executor, runner);
                    };
                  });
}

void Worker::run_step(Executor& executor, const std::shared_ptr<Runner>& runner) {
  const auto [id, attempt] = attempt_of(*runner);
  const ScriptItem& item = runner->script[runner->item];
  if (!world_.half_lost.contains(id)) {
    promises::a_recorded_step_does_not_run_again(id, attempt, item.name, world_.database);
  }
  world_.trace("task " + std::to_string(id) + " attempt " + std::to_string(attempt) + " runs " + item.name);
  Random random = stream_of_handler(runner->slot.run().task, part_of_step + 8 + runner->item);
  const Duration takes =
      random.chance(world_.faults.long_attempts / 2) ? random.between(100ms, 2s) : random.between(100us, 20ms);
  later_in_handler(takes, runner, [this, &executor, runner, is_charge = item.kind == Item::charge] {
    const std::int64_t value = ++world_.last_value;
    if (is_charge) return charge(executor, runner, value);
    record_step(executor, runner, {}, value);
  });
}

/// As Steps::record. All statements of a try run at once.
void Worker::record_step(Executor& executor, const std::shared_ptr<Runner>& runner, RecordPlan plan,
                         std::int64_t value) {
  RecordPlan sent = plan;
  if (sent.next() == RecordPlan::Step::record) sent.on_sent();
  try_for_handler(
      executor, runner,
      [this, &executor, runner, plan, value, attempt = attempt_of(*runner), lease = lease_id(),
       name = runner->script[runner->item].name] {
        const bool is_held = try_record(plan, lease, attempt, name, value);
        return [this, &executor, runner, value, is_held] {
          if (!is_held) return fail(executor, *runner, "LEASE_LOST");
          pass_item(executor, runner, value);
        };
      },
      [this, &executor, runner, sent, value] { record_step(executor, runner, sent, value); });
}

/// The statements of one try. False if the worker does not hold the attempt any more.
bool Worker::try_record(RecordPlan plan, std::int64_t lease, const runtime::Attempt& attempt, const std::string& name,
                        std::int64_t value) {
  while (true) {
    switch (plan.next()) {
      case RecordPlan::Step::record:
        plan.on_sent();
        plan.on_answer(world_.database.record_step(lease, attempt, name, value));
        break;
      case RecordPlan::Step::look:
        plan.on_look(world_.database.recorded_step(lease, attempt, name).attempt == attempt.number);
        break;
      case RecordPlan::Step::recorded:
        return true;
      case RecordPlan::Step::lost:
        return false;
    }
  }
}

/// As the constructor of Checkpoint.
void Worker::begin_loop(Executor& executor, const std::shared_ptr<Runner>& runner) {
  ask_for_handler(executor, runner,
                  [this, &executor, runner, attempt = attempt_of(*runner), lease = lease_id(),
                   name = runner->script[runner->item].name]() {
                    const Database::LastCheckpoint last = world_.database.last_checkpoint(lease, attempt, name);
                    if (last.is_held && !world_.half_lost.contains(attempt.id)) {
                      promises::a_loop_goes_on(attempt.id, attempt.number, name, last.row, world_.database,
                                               world_.saved_places);
                    }
                    return [this, &executor, runner, last] {
                      if (!last.is_held) return fail(executor, *runner, "LEASE_LOST");
                      next_row(executor, runner, last.row ? last.row->place : 0);
                    };
                  });
}

void Worker::next_row(Executor& executor, const std::shared_ptr<Runner>& runner, std::int64_t place) {
  if (place == runner->script[runner->item].rows) return pass_item(executor, runner, std::nullopt);
  later_in_handler(world_.scheduler.between(100us, 50ms), runner, [this, &executor, runner, place] {
    if (runner->reason != StopReason::none || world_.scheduler.chance(40)) {
      return save_place(executor, runner, place + 1);
    }
    next_row(executor, runner, place + 1);
  });
}

/// As Checkpoint::advance, which stops after the place is saved.
void Worker::save_place(Executor& executor, const std::shared_ptr<Runner>& runner, std::int64_t place) {
  ask_for_handler(executor, runner,
                  [this, &executor, runner, place, attempt = attempt_of(*runner), lease = lease_id(),
                   name = runner->script[runner->item].name]() {
                    const bool is_held = world_.database.save_checkpoint(lease, attempt, name, place);
                    return [this, &executor, runner, place, is_held, attempt, name] {
                      if (!is_held) return fail(executor, *runner, "LEASE_LOST");
                      promises::note_place(attempt.id, attempt.number, name, place, world_.database,
                                           world_.saved_places);
                      if (runner->reason != StopReason::none) return fail(executor, *runner, "STOPPED");
                      next_row(executor, runner, place);
                    };
                  });
}

/// In a transaction of the handler's own. After a lost answer the attempt fails, and the next one knows.
void Worker::charge(Executor& executor, const std::shared_ptr<Runner>& runner, std::int64_t value) {
  const int handler = runner->handlers;
  ask(
      [this, &executor, runner, handler, value, attempt = attempt_of(*runner), lease = lease_id(),
       name = runner->script[runner->item].name]() {
        const Database::StepIn result = world_.database.step_in(lease, attempt, name, value);
        return [this, &executor, runner, handler, value, result] {
          if (runner->handlers != handler) return;
          switch (result) {
            case Database::StepIn::recorded:
              return pass_item(executor, runner, value);
            case Database::StepIn::locked:
              return later_in_handler(10ms, runner,
                                      [this, &executor, runner, value] { charge(executor, runner, value); });
            case Database::StepIn::lost:
              return fail(executor, *runner, "LEASE_LOST");
            case Database::StepIn::twice:
              return fail(executor, *runner, "INVALID_STEP");
          }
        };
      },
      [this, &executor, runner, handler] {
        if (runner->handlers == handler) fail(executor, *runner, "AGAIN");
      });
}

/// As Steps::wait.
void Worker::wait(Executor& executor, const std::shared_ptr<Runner>& runner) {
  const WaitPlan::Action action = runner->wait.next(now(), runner->reason != StopReason::none);
  switch (action.step) {
    case WaitPlan::Step::ask:
      return ask_about_wait(executor, runner);
    case WaitPlan::Step::pause:
      return later_in_handler(action.until - now(), runner, [this, &executor, runner] { wait(executor, runner); });
    case WaitPlan::Step::over:
      return pass_item(executor, runner, runner->waited.payload);
    case WaitPlan::Step::suspended: {
      runtime::HandlerEnd end;
      end.ending.outcome = lifecycle::Outcome::snoozed;
      end.ending.snooze = runner->waited.left.value_or(0ms);
      end.is_on_record = true;
      return end_handler(executor, *runner, runner->handlers, std::move(end));
    }
    case WaitPlan::Step::cancelled:
    case WaitPlan::Step::at_limit:
    case WaitPlan::Step::other_kind:
    case WaitPlan::Step::stopped:
      return fail(executor, *runner, "STOPPED");
    case WaitPlan::Step::lost:
      return fail(executor, *runner, "LEASE_LOST");
  }
}

void Worker::ask_about_wait(Executor& executor, const std::shared_ptr<Runner>& runner) {
  ask_for_handler(executor, runner,
                  [this, &executor, runner, attempt = attempt_of(*runner), lease = lease_id(),
                   item = runner->script[runner->item]]() {
                    const Database::Wait answer =
                        world_.database.wait_durably(lease, attempt, item.name, item.kind == Item::event, item.time);
                    return [this, &executor, runner, answer] {
                      runner->waited = answer;
                      runner->wait.on_answer(answer.answer, now());
                      wait(executor, runner);
                    };
                  });
}

}  // namespace dogged::sim
