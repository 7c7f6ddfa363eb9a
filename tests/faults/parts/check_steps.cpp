// See checks.hpp.
#include <algorithm>
#include <limits>
#include <set>

#include "checks.hpp"

namespace dogged::faults {
namespace {

using faults::name_of;  // beside that of a step

using AttemptOf = std::map<std::pair<TaskId, int>, const AttemptRow*>;

std::string name_of(const StepRow& step) {
  return "the step " + step.name + " of " + name_of(step.task_id, step.attempt);
}

/// When the task left the attempt, by the database. A handler that the worker gave up writes its steps on until the
/// worker's report is written. This may be seconds after the end that the report names. The next claim comes after the
/// report.
TimeUs held_until(const AttemptRow& attempt, const AttemptOf& attempts) {
  const bool may_be_given_up =
      attempt.outcome == "interrupted" || attempt.outcome == "timed_out" || attempt.outcome == "cancelled";
  if (!may_be_given_up) return attempt.finished_at;
  const auto next = attempts.find({attempt.task_id, attempt.attempt + 1});
  return next == attempts.end() ? std::numeric_limits<TimeUs>::max() - at_once : next->second->claimed_at;
}

/// A step is written by the worker that holds the attempt, while it holds it.
void check_writer(const StepRow& step, const AttemptOf& attempts, Complaints& complaints) {
  const auto found = attempts.find({step.task_id, step.attempt});
  if (found == attempts.end()) {
    complaints.push_back(name_of(step) + " is of an attempt that is not there");
    return;
  }
  const AttemptRow& attempt = *found->second;
  if (attempt.worker_id != step.worker_id) {
    complaints.push_back(name_of(step) + " was written by worker " + std::to_string(step.worker_id) + ", and worker " +
                         std::to_string(attempt.worker_id) + " had the task");
  }
  if (step.finished_at < attempt.claimed_at || step.finished_at > held_until(attempt, attempts) + at_once) {
    complaints.push_back(name_of(step) + " was written while the attempt did not have the task (" + attempt.outcome +
                         ")");
  }
}

/// Whether a worker may have lost this attempt while its step was being written. Then the step may be on record, and
/// the next attempt may have run it as well (docs/decisions/0017).
bool was_lost_meanwhile(const StepRow& step, const AttemptOf& attempts) {
  const auto found = attempts.find({step.task_id, step.attempt});
  if (found == attempts.end()) return false;
  const AttemptRow& attempt = *found->second;
  const bool ended_by_itself =
      attempt.outcome == "succeeded" || attempt.outcome == "failed" || attempt.outcome == "snoozed";
  return !ended_by_itself && step.finished_at + at_once > attempt.finished_at;
}

void check_one_value(const StepRow& earlier, const StepRow& later, const AttemptOf& attempts, Complaints& complaints) {
  if (earlier.task_id != later.task_id || earlier.name != later.name) return;
  if (earlier.attempt == later.attempt) {
    complaints.push_back(name_of(earlier) + " is on record twice");
  } else if (!was_lost_meanwhile(earlier, attempts)) {
    complaints.push_back(name_of(earlier) + " was on record, and attempt " + std::to_string(later.attempt) +
                         " has run it again");
  }
}

using StepsOf = std::map<TaskId, std::vector<const StepRow*>>;

/// Each step gave its handler the result that the attempt that ran the step has recorded.
void check_what_handlers_got(const Evidence& evidence, const StepsOf& steps, Complaints& complaints) {
  static const std::vector<const StepRow*> none;
  for (const Execution& execution : evidence.executions) {
    const auto found = steps.find(execution.task);
    const auto& recorded = found == steps.end() ? none : found->second;
    for (const PassedStep& passed : execution.steps) {
      const bool is_on_record = std::any_of(recorded.begin(), recorded.end(), [&](const StepRow* step) {
        return step->name == passed.name && step->attempt == passed.gave &&
               step->result == std::to_string(passed.gave) && step->attempt <= execution.attempt;
      });
      if (is_on_record) continue;
      complaints.push_back(name_of(execution.task, execution.attempt) + " got " + std::to_string(passed.gave) +
                           " from the step " + passed.name + ", and no record says so");
    }
  }
}

std::set<std::string> steps_of(const Plan& plan) {
  std::set<std::string> names;
  for (int number = 1; number <= steps_of_stepwise; ++number) names.insert("step-" + std::to_string(number));
  if (plan.sleep_ms > 0) names.insert("sleep");
  if (!plan.event.empty()) names.insert(plan.event);
  return names;
}

void check_all_are_recorded(const TaskRow& task, const std::vector<const StepRow*>& recorded, Complaints& complaints) {
  if (task.name != stepwise.name() || task.status != "succeeded") return;
  std::set<std::string> missing = steps_of(task.plan);
  for (const StepRow* step : recorded) missing.erase(step->name);
  for (const std::string& name : missing)
    complaints.push_back(name_of(task.id) + " succeeded without the step " + name);
}

/// An emit and a wait hold the same lock until they commit, so one of them comes before the other.
void check_no_event_is_lost(const StepRow& step, const Evidence& evidence, Complaints& complaints) {
  if (step.result != "{}") return;
  for (const EventRow& event : evidence.events) {
    if (event.name != step.name || event.emitted_at >= step.finished_at) continue;
    complaints.push_back(name_of(step) + " ended without the event, which came " +
                         std::to_string(step.finished_at - event.emitted_at) + " µs before");
  }
}

bool is_live(const WaitRow& wait) { return wait.status == "pending" || wait.status == "running"; }

}  // namespace

void check_steps(const Evidence& evidence, const AttemptsOf& attempts, Complaints& complaints) {
  AttemptOf attempt_of;
  for (const auto& [id, rows] : attempts) {
    for (const AttemptRow& row : rows) attempt_of[{id, row.attempt}] = &row;
  }
  StepsOf steps_by_task;
  for (const StepRow& step : evidence.steps) {
    check_writer(step, attempt_of, complaints);
    check_no_event_is_lost(step, evidence, complaints);
    std::vector<const StepRow*>& before = steps_by_task[step.task_id];
    if (!before.empty()) check_one_value(*before.back(), step, attempt_of, complaints);
    before.push_back(&step);
  }
  check_what_handlers_got(evidence, steps_by_task, complaints);
  for (const TaskRow& task : evidence.tasks) {
    check_all_are_recorded(task, steps_by_task[task.id], complaints);
    steps_by_task.erase(task.id);
  }
  for (const auto& [id, steps] : steps_by_task) complaints.push_back(name_of(id) + " has steps, and is not there");
  for (const WaitRow& wait : evidence.end.waits) {
    if (is_live(wait) || wait.status == "failed") continue;  // a dead letter may be replayed
    complaints.push_back(name_of(wait.task_id) + "'s wait for " + wait.name + " is there, and the task is " +
                         (wait.status.empty() ? "gone" : wait.status));
  }
}

void check_waits(const Moment& moment, Complaints& complaints) {
  for (const WaitRow& wait : moment.waits) {
    const std::string name = name_of(wait.task_id) + "'s wait for " + wait.name;
    if (!is_live(wait)) continue;  // the row is there until retention
    if (wait.task_attempt < wait.attempt) {
      complaints.push_back(name + " is of attempt " + std::to_string(wait.attempt) + ", which has not begun");
    }
    if (wait.task_attempt != wait.attempt) continue;  // the next attempt may be on its way to the wait
    if (wait.status != "pending") {
      complaints.push_back(name + " is not over, and its task is " + wait.status);
    } else if (wait.has_arrived && wait.is_deferred) {
      complaints.push_back(name + " has its event, and the task sleeps on");
    } else if (!wait.has_arrived && wait.due_in_us != 0) {
      complaints.push_back(name + " ends " + std::to_string(-wait.due_in_us) + " µs after the task is due");
    }
  }
}

}  // namespace dogged::faults
