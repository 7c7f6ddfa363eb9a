// The statements of steps, waits and events (src/sql/step, schema/steps.sql, schema/events.sql). See database.hpp.
#include <algorithm>
#include <utility>

#include "database.hpp"
#include "promises.hpp"

namespace dogged::sim {

using Answer = runtime::WaitPlan::Answer;

int Database::steps_since(TaskId id) const {
  const auto again = now_.steps_again.find(id);
  return again == now_.steps_again.end() ? 0 : *again->second.rbegin();
}

const StepRow* Database::counting_step(TaskId id, const std::string& name) const {
  const auto found = now_.steps.find({id, name});
  if (found == now_.steps.end()) return nullptr;
  const auto& [attempt, latest] = *found->second.rbegin();
  return attempt > steps_since(id) ? &latest : nullptr;
}

Database::Recorded Database::recorded_step(std::int64_t worker, const runtime::Attempt& attempt,
                                           const std::string& name) {
  if (held(worker, attempt) == nullptr) return {};
  if (mutant_ == Mutant::record_that_is_not_found) return {.is_held = true};
  const StepRow* const step = counting_step(attempt.id, name);
  return {.is_held = true,
          .step = step,
          .attempt = step == nullptr ? 0 : now_.steps.at({attempt.id, name}).rbegin()->first};
}

std::optional<std::set<std::string>> Database::names_of_steps(std::int64_t worker, const runtime::Attempt& attempt) {
  if (held(worker, attempt) == nullptr) return std::nullopt;
  std::set<std::string> names;
  if (mutant_ == Mutant::record_that_is_not_found) return names;
  for (auto step = now_.steps.lower_bound({attempt.id, ""});
       step != now_.steps.end() && step->first.first == attempt.id; ++step) {
    const std::string& name = step->first.second;
    if (counting_step(attempt.id, name) != nullptr) names.insert(name);
  }
  return names;
}

bool Database::record_step(std::int64_t worker, const runtime::Attempt& attempt, const std::string& name,
                           std::int64_t value) {
  const auto found = now_.tasks.find(attempt.id);
  if (found == now_.tasks.end()) return false;
  const Task& task = found->second;
  const bool is_of_worker = task.state == Task::State::running && task.worker == worker;
  const bool is_attempt = task.attempt == attempt.number || mutant_ == Mutant::step_of_any_attempt;
  if (!(is_of_worker && is_attempt) && mutant_ != Mutant::step_without_a_fence) return false;
  promises::a_step_is_of_the_holder(attempt.id, name, task, worker, attempt.number);
  now_.steps[{attempt.id, name}].try_emplace(task.attempt, StepRow{worker, value});
  return true;
}

Database::LastCheckpoint Database::last_checkpoint(std::int64_t worker, const runtime::Attempt& attempt,
                                                   const std::string& name) {
  if (held(worker, attempt) == nullptr) return {};
  const auto found = now_.checkpoints.find({attempt.id, name});
  const bool counts = found != now_.checkpoints.end() && found->second.attempt > steps_since(attempt.id) &&
                      mutant_ != Mutant::checkpoint_that_is_not_found;
  return {true, counts ? std::optional{found->second} : std::nullopt};
}

bool Database::save_checkpoint(std::int64_t worker, const runtime::Attempt& attempt, const std::string& name,
                               std::int64_t place) {
  if (held(worker, attempt) == nullptr && mutant_ != Mutant::checkpoint_without_a_fence) return false;
  const auto task = now_.tasks.find(attempt.id);
  if (task == now_.tasks.end()) return false;
  promises::a_step_is_of_the_holder(attempt.id, name, task->second, worker, attempt.number);
  CheckpointRow& row = now_.checkpoints[{attempt.id, name}];
  if (row.attempt > attempt.number) return false;
  row = {attempt.number, place};
  return true;
}

Database::StepIn Database::step_in(std::int64_t worker, const runtime::Attempt& attempt, const std::string& name,
                                   std::int64_t value) {
  const auto charge = [&] { now_.ledger.charges[{attempt.id, name}].push_back(attempt.number); };
  if (mutant_ == Mutant::charge_outside_the_transaction) charge();
  const Task* const task = held(worker, attempt);
  if (task == nullptr) return StepIn::lost;
  if (is_locked(*task)) return StepIn::locked;
  const bool is_new = now_.steps[{attempt.id, name}].try_emplace(attempt.number, StepRow{worker, value}).second;
  if (!is_new) return StepIn::twice;
  if (mutant_ != Mutant::charge_outside_the_transaction) charge();
  return StepIn::recorded;
}

Database::Wait Database::wait_durably(std::int64_t worker, const runtime::Attempt& attempt, const std::string& name,
                                      bool for_event, milliseconds time) {
  if (for_event && emitting_.contains(name) && mutant_ != Mutant::wait_beside_an_emit) return {Answer::busy};
  Task* const task = held(worker, attempt);
  if (task == nullptr) {
    const auto row = now_.attempts.find({attempt.id, attempt.number});
    const bool is_suspended =
        row != now_.attempts.end() && row->second.worker == worker && row->second.outcome == "snoozed";
    return {is_suspended ? Answer::suspended : Answer::lost};
  }
  if (task->cancel_requested) return {Answer::cancelled};
  if (const StepRow* const over = counting_step(attempt.id, name)) return {Answer::over, over->value};

  const StepOfTask step{attempt.id, name};
  WaitRow wait{.attempt = attempt.number, .for_event = for_event, .until = now() + time};
  const auto begun = now_.waits.find(step);
  const bool goes_on = begun != now_.waits.end() && begun->second.for_event == for_event &&
                       begun->second.attempt > steps_since(attempt.id) && mutant_ != Mutant::wait_that_begins_anew;
  if (goes_on) wait = begun->second;
  const auto event = now_.events.find(name);
  const bool finds_event = for_event && event != now_.events.end();
  if (!wait.payload && finds_event && mutant_ != Mutant::wait_that_overlooks_an_event) wait.payload = event->second;
  if (wait.payload || wait.until <= now()) {
    promises::no_event_is_missed(attempt.id, name, !wait.payload && finds_event);
    now_.steps[step].try_emplace(attempt.number, StepRow{worker, wait.payload});
    now_.waits.erase(step);
    return {Answer::over, wait.payload};
  }
  if (is_locked(*task)) return {Answer::busy};
  promises::no_event_is_missed(attempt.id, name, finds_event);
  wait.attempt = attempt.number;
  suspend(attempt.id, *task, name, wait);
  return {Answer::suspended, {}, std::chrono::ceil<milliseconds>(wait.until - now())};
}

void Database::suspend(TaskId id, Task& task, const std::string& name, WaitRow wait) {
  const TimePoint until = now_.ledger.waits_until.try_emplace({id, name}, wait.until).first->second;
  promises::a_wait_keeps_its_time(id, name, wait.until, until);
  const AttemptRow row{.outcome = "snoozed", .worker = task.worker, .will_retry = true, .waits = true};
  promises::an_attempt_is_recorded_once(id, task.attempt,
                                        now_.attempts.emplace(std::pair{id, task.attempt}, row).second);
  task.state = Task::State::pending;
  task.worker = 0;
  task.deferred = true;
  task.due_at = wait.until;
  now_.ledger.not_before[id] = wait.until - clock_ahead_;
  now_.waits[{id, name}] = std::move(wait);
}

/// The suspended tasks that the event resumes.
std::vector<TaskId> Database::waiting_for(const std::string& name) const {
  std::vector<TaskId> ids;
  if (mutant_ == Mutant::event_that_wakes_nobody) return ids;
  for (const auto& [step, wait] : now_.waits) {
    const auto& [id, waits_for] = step;
    if (waits_for != name || !wait.for_event || wait.payload || !now_.live.contains(id)) continue;
    const Task& task = now_.tasks.at(id);
    if (task.state == Task::State::pending && task.deferred && task.attempt == wait.attempt) ids.push_back(id);
  }
  return ids;
}

std::optional<Database::Emission> Database::emit(const std::string& name, std::int64_t payload) {
  const std::vector<TaskId> ids = waiting_for(name);
  const bool is_free = std::none_of(ids.begin(), ids.end(), [this](TaskId id) { return is_locked(now_.tasks.at(id)); });
  if (emitting_.contains(name) || !is_free) return std::nullopt;
  Emission emission{begin(), name, payload, {}};
  emitting_.insert(name);
  for (const TaskId id : ids) {
    Task& task = now_.tasks.at(id);
    ++task.row_locks;
    emission.resumed[id] = mutant_ == Mutant::event_that_keeps_the_place ? task.position : ++last_position_;
    for (const auto& [worker, row] : now_.workers) {
      if (row.asleep && row.queues.contains(task.queue)) emission.transaction.sleepers.emplace(worker, task.queue);
    }
  }
  return emission;
}

void Database::commit(const Emission& emission) {
  if (emission.transaction.history != history_) return;
  release_locks(emission);
  now_.events[emission.name] = emission.payload;
  for (auto& [step, wait] : now_.waits) {
    if (step.second == emission.name && wait.for_event && !wait.payload) wait.payload = emission.payload;
  }
  for (const auto& [id, position] : emission.resumed) {
    Task& task = now_.tasks.at(id);
    task.deferred = false;
    task.due_at = now();
    task.position = position;
    now_.ledger.not_before.erase(id);
  }
  Transaction transaction = emission.transaction;
  if (mutant_ == Mutant::event_without_a_notification) transaction.sleepers.clear();
  commit(transaction);
}

void Database::roll_back(const Emission& emission) {
  if (emission.transaction.history != history_) return;
  release_locks(emission);
  roll_back(emission.transaction);
}

void Database::release_locks(const Emission& emission) {
  emitting_.erase(emission.name);
  for (const auto& [id, position] : emission.resumed) --now_.tasks.at(id).row_locks;
}

}  // namespace dogged::sim
