// See checker.hpp. One function a promise.
#include "checker.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "checks.hpp"

namespace dogged::faults {
namespace {

using faults::name_of;  // beside that of a row

std::string name_of(const AttemptRow& row) { return name_of(row.task_id, row.attempt) + " (" + row.outcome + ")"; }

bool counts_as_end(const AttemptRow& row) { return row.outcome == "succeeded" || row.outcome == "failed"; }

AttemptsOf by_task(const Evidence& evidence) {
  AttemptsOf attempts;
  for (const AttemptRow& row : evidence.attempts) attempts[row.task_id].push_back(row);
  return attempts;
}

// ---- nothing is lost, nothing appears ------------------------------------------------------------------------------

void check_tasks_are_there(const Evidence& evidence, Complaints& complaints) {
  std::map<std::int64_t, TaskId> found;
  std::set<TaskId> ids;
  for (const TaskRow& task : evidence.tasks) {
    if (!ids.insert(task.id).second) complaints.push_back(name_of(task.id) + " stands in two places");
    if (!task.schedule.empty()) continue;  // its tick answers for it
    if (const auto [other, is_new] = found.emplace(task.plan.key, task.id); !is_new) {
      complaints.push_back(name_of(task.id) + " is there twice: key " + std::to_string(task.plan.key) + " is also " +
                           name_of(other->second));
    }
  }
  const std::set<std::int64_t> in_doubt{evidence.in_doubt.begin(), evidence.in_doubt.end()};
  for (const auto& [key, id] : found) {
    const auto enqueued = evidence.enqueued.find(key);
    if (enqueued == evidence.enqueued.end() ? !in_doubt.contains(key) : enqueued->second != id) {
      complaints.push_back(name_of(id) + " with key " + std::to_string(key) + " was not enqueued as that");
    }
  }
  for (const auto& [key, id] : evidence.enqueued) {
    if (!found.contains(key)) complaints.push_back(name_of(id) + " with key " + std::to_string(key) + " is lost");
  }
}

void check_attempts_have_tasks(const Evidence& evidence, const AttemptsOf& attempts, Complaints& complaints) {
  std::set<TaskId> ids;
  for (const TaskRow& task : evidence.tasks) ids.insert(task.id);
  for (const auto& [id, rows] : attempts) {
    if (!ids.contains(id)) complaints.push_back(name_of(id) + " has attempts, and is not there");
  }
}

// ---- each task's history follows from its rules --------------------------------------------------------------------

/// The state of a task after its attempts, one after the other.
struct Tally {
  int retry_count = 0;
  int losses = 0;
  int waits = 0;
  std::string status = "pending";
};

/// An attempt's effect, from the rules in tasks.hpp and docs/lifecycle.md.
void add(Tally& tally, const AttemptRow& row, const Rules& rules) {
  tally.status = "pending";
  if (row.outcome == "succeeded") {
    tally.status = "succeeded";
  } else if (row.outcome == "lost") {
    ++tally.losses;
    if (!rules.retry_lost || tally.losses >= rules.max_losses) tally.status = "failed";
  } else if (row.outcome == "failed" || row.outcome == "timed_out") {
    if (row.error_code == rules.retried_code && tally.retry_count < rules.max_retries) {
      ++tally.retry_count;
    } else {
      tally.status = "failed";
    }
  } else if (row.outcome == "snoozed") {
    ++tally.waits;
  } else if (row.outcome != "interrupted") {
    tally.status = "no outcome of these tasks";
  }
}

/// Each wait suspends the task once: the next attempt begins when the time is over, or the event is there.
int waits_of(const Plan& plan) { return (plan.sleep_ms > 0 ? 1 : 0) + (plan.event.empty() ? 0 : 1); }

std::string expected_code(const AttemptRow& row, const Plan& plan) {
  if (row.outcome == "failed") return plan.code;
  if (row.outcome == "timed_out") return "TIMEOUT";
  return row.outcome == "lost" ? "WORKER_LOST" : "";
}

void check_history(const TaskRow& task, const std::vector<AttemptRow>& rows, Complaints& complaints) {
  const Rules rules = rules_of(task.name);
  Tally tally;
  int number = 0;
  for (const AttemptRow& row : rows) {
    if (row.attempt != ++number)
      complaints.push_back(name_of(row) + " is the one with number " + std::to_string(number));
    if (number > 1 && tally.status != "pending")
      complaints.push_back(name_of(row) + " comes after the end of its task");
    if (row.outcome == "failed" && tally.retry_count >= task.plan.failures) {
      complaints.push_back(name_of(row) + " has failed, and " + task.name + " was to succeed by then");
    }
    add(tally, row, rules);
    if (tally.waits > waits_of(task.plan)) {
      complaints.push_back(name_of(row) + " is more than the task has waits");
    }
    if (row.will_retry != (tally.status == "pending")) {
      complaints.push_back(name_of(row) + " says will_retry " + (row.will_retry ? "true" : "false") +
                           ", and by its rules the task is " + tally.status);
    }
    if (row.error_code != expected_code(row, task.plan)) {
      complaints.push_back(name_of(row) + " has the error code \"" + row.error_code + "\"");
    }
  }
  if (task.status == "pending" || task.status == "running") {
    complaints.push_back(name_of(task.id) + " has not ended: it is " + task.status);
  } else if (task.status != tally.status) {
    complaints.push_back(name_of(task.id) + " is " + task.status + ", and by its attempts it is " + tally.status);
  }
  const auto compare = [&](const char* column, int is, int by_attempts) {
    if (is == by_attempts) return;
    complaints.push_back(name_of(task.id) + " has " + column + " " + std::to_string(is) +
                         ", and by its attempts it is " + std::to_string(by_attempts));
  };
  compare("attempt", task.attempt, number);
  compare("retry_count", task.retry_count, tally.retry_count);
  compare("losses", task.losses, tally.losses);
}

void check_times(const Plan& plan, const std::vector<AttemptRow>& rows, Complaints& complaints) {
  const AttemptRow* before = nullptr;
  for (const AttemptRow& row : rows) {
    if (!(row.claimed_at <= row.started_at && row.started_at <= row.finished_at)) {
      complaints.push_back(name_of(row) + " was not claimed, started and finished in this order");
    }
    if (before != nullptr && row.claimed_at < before->finished_at) {
      complaints.push_back(name_of(row) + " was claimed before the attempt before it was over");
    }
    const bool may_be_early = before != nullptr && before->outcome == "snoozed" && !plan.event.empty();
    if (before != nullptr && !may_be_early && before->next_retry_at && row.claimed_at < *before->next_retry_at) {
      complaints.push_back(name_of(row) + " came " + std::to_string(*before->next_retry_at - row.claimed_at) +
                           " µs before its next_retry_at");
    }
    before = &row;
  }
}

void check_histories(const Evidence& evidence, const AttemptsOf& attempts, Complaints& complaints) {
  static const std::vector<AttemptRow> none;
  for (const TaskRow& task : evidence.tasks) {
    const auto rows = attempts.find(task.id);
    check_history(task, rows == attempts.end() ? none : rows->second, complaints);
    check_times(task.plan, rows == attempts.end() ? none : rows->second, complaints);
  }
}

// ---- leases --------------------------------------------------------------------------------------------------------

/// The worker's process replaced itself: the new one has the same process id, and ends the old lease as it registers. A
/// worker whose lease another worker has ended registers later, after its next heartbeat.
bool has_begun_anew(const WorkerRow& worker, const std::map<std::int64_t, WorkerRow>& workers) {
  return std::any_of(workers.upper_bound(worker.id), workers.end(), [&](const auto& later) {
    const TimeUs gap = later.second.started_at - *worker.lease_ended_at;
    return later.second.pid == worker.pid && gap >= 0 && gap < at_once;
  });
}

void check_leases(const Evidence& evidence, Complaints& complaints) {
  for (const AttemptRow& row : evidence.attempts) {
    const auto found = evidence.workers.find(row.worker_id);
    if (found == evidence.workers.end()) {
      complaints.push_back(name_of(row) + " is of worker " + std::to_string(row.worker_id) + ", which is not there");
      continue;
    }
    const WorkerRow& worker = found->second;
    const auto end =
        std::min(worker.lease_ended_at.value_or(row.claimed_at), worker.stopped_at.value_or(row.claimed_at));
    if (row.claimed_at > end) {
      complaints.push_back(name_of(row) + " was claimed by worker " + std::to_string(worker.id) + " after its end");
    }
    if (row.outcome != "lost") continue;
    if (!worker.lease_ended_at || row.finished_at < *worker.lease_ended_at) {
      complaints.push_back(name_of(row) + " was declared lost before the lease of worker " + std::to_string(worker.id) +
                           " was ended");
    } else if (*worker.lease_ended_at < worker.lease_until && !has_begun_anew(worker, evidence.workers)) {
      complaints.push_back("the lease of worker " + std::to_string(worker.id) + " was ended before it had lapsed");
    }
  }
}

// ---- the handlers' own log -----------------------------------------------------------------------------------------

using ExecutionOf = std::map<std::pair<TaskId, int>, Execution>;

/// No attempt runs twice, so that each execution is the one of its attempt.
ExecutionOf by_attempt(const Evidence& evidence, Complaints& complaints) {
  ExecutionOf executions;
  for (const Execution& execution : evidence.executions) {
    if (!executions.emplace(std::pair{execution.task, execution.attempt}, execution).second) {
      complaints.push_back(name_of(execution.task, execution.attempt) + " was executed twice");
    }
  }
  return executions;
}

void check_execution(const AttemptRow& row, const Execution& execution, const Evidence& evidence,
                     Complaints& complaints) {
  const auto worker = evidence.workers.find(row.worker_id);
  if (worker != evidence.workers.end() && worker->second.pid != execution.pid) {
    complaints.push_back(name_of(row) + " is recorded for process " + std::to_string(worker->second.pid) +
                         ", and was executed by " + std::to_string(execution.pid));
  }
  const std::string expected = row.outcome == "succeeded" ? std::string{succeeded} : row.error_code;
  if (counts_as_end(row) && execution.how != expected) {
    complaints.push_back(name_of(row) + " counts, and its execution ended as \"" + execution.how + "\"");
  }
}

void check_executions(const Evidence& evidence, const ExecutionOf& executions, Complaints& complaints) {
  std::set<std::pair<TaskId, int>> recorded;
  for (const AttemptRow& row : evidence.attempts) {
    recorded.emplace(row.task_id, row.attempt);
    const auto execution = executions.find({row.task_id, row.attempt});
    if (execution != executions.end()) {
      check_execution(row, execution->second, evidence, complaints);
    } else if (row.outcome != "lost") {  // a lost one may not have begun
      complaints.push_back(name_of(row) + " was never executed");
    }
  }
  for (const auto& [attempt, execution] : executions) {
    if (!recorded.contains(attempt)) {
      complaints.push_back(name_of(attempt.first, attempt.second) + " was executed, and has no row");
    }
  }
}

/// Executions that count, that is, whose end was taken. The others may well overlap: a worker that lost its lease goes
/// on until its handler heeds its stop token.
void check_overlaps(const AttemptsOf& attempts, const ExecutionOf& executions, Complaints& complaints) {
  for (const auto& [id, rows] : attempts) {
    std::int64_t free_ns = 0;
    for (const AttemptRow& row : rows) {
      const auto execution = executions.find({row.task_id, row.attempt});
      if (!counts_as_end(row) || execution == executions.end()) continue;
      if (execution->second.started_ns < free_ns)
        complaints.push_back(name_of(row) + " overlaps one that counts as well");
      free_ns = execution->second.ended_ns.value_or(free_ns);
    }
  }
}

// ---- history does not change ---------------------------------------------------------------------------------------

void check_nothing_changed(const Evidence& evidence, Complaints& complaints) {
  std::map<std::pair<TaskId, int>, std::string> at_the_end;
  for (const AttemptRow& row : evidence.attempts) at_the_end[{row.task_id, row.attempt}] = row.whole;
  for (const auto& [attempt, seen] : evidence.attempts_seen) {
    const auto now = at_the_end.find(attempt);
    if (now == at_the_end.end()) {
      complaints.push_back(name_of(attempt.first, attempt.second) + " had a row, and has none any more");
    } else if (now->second != seen) {
      complaints.push_back(name_of(attempt.first, attempt.second) + " changed from " + seen + " to " + now->second);
    }
  }
}

// ---- parts that other files use ------------------------------------------------------------------------------------

bool has_ended(const TaskRow& task) { return task.status != "pending" && task.status != "running"; }

}  // namespace

void check_one_at_a_time(std::vector<const TaskRow*> tasks, const AttemptsOf& attempts, const std::string& whose,
                         Complaints& complaints) {
  // Of a task that never ran, nothing tells when it ended.
  std::erase_if(tasks, [&](const TaskRow* task) { return !attempts.contains(task->id) && has_ended(*task); });
  const auto began_at = [&](const TaskRow* task) {
    const auto rows = attempts.find(task->id);
    return rows == attempts.end() ? std::numeric_limits<TimeUs>::max() : rows->second.front().claimed_at;
  };
  std::stable_sort(tasks.begin(), tasks.end(),
                   [&](const TaskRow* a, const TaskRow* b) { return began_at(a) < began_at(b); });
  for (std::size_t i = 1; i < tasks.size(); ++i) {
    const TaskRow& before = *tasks[i - 1];
    if (has_ended(before) && attempts.at(before.id).back().finished_at <= began_at(tasks[i])) continue;
    complaints.push_back(name_of(tasks[i]->id) + " " + whose + " began before " + name_of(before.id) + " had ended");
  }
}

namespace {

// ---- lateness ------------------------------------------------------------------------------------------------------

/// Workers connect again with a backoff that doubles from 100 ms to 5 s, with 25 % jitter. After an outage a worker may
/// wait for one and a half times as long as the outage took.
TimeUs reconnecting_after(const Outage& outage) {
  constexpr TimeUs at_least = 500'000;
  constexpr TimeUs longest_backoff = 6'250'000;
  return std::clamp((outage.to - outage.from) * 3 / 2, at_least, longest_backoff);
}

/// How much of [from, to] the server was away.
TimeUs time_away(const Evidence& evidence, TimeUs from, TimeUs to) {
  TimeUs away = 0;
  for (const Outage& outage : evidence.outages) {
    const TimeUs begin = std::max(from, outage.from);
    const TimeUs end = std::min(to, outage.to + reconnecting_after(outage));
    away += std::max<TimeUs>(0, end - begin);
  }
  return away;
}

}  // namespace

Lateness lateness(const Evidence& evidence) {
  Lateness worst;
  for (const auto& [id, rows] : by_task(evidence)) {
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      const auto worker = evidence.workers.find(rows[i].worker_id);
      if (rows[i].outcome != "lost" || worker == evidence.workers.end()) continue;
      const TimeUs lapsed = worker->second.lease_until;
      const TimeUs late = rows[i + 1].started_at - lapsed - time_away(evidence, lapsed, rows[i + 1].started_at);
      if (worst.task == 0 || late > worst.at_most) worst = {late, id, rows[i].attempt, lapsed, rows[i].finished_at};
    }
  }
  return worst;
}

std::vector<std::string> broken_promises(const Evidence& evidence) {
  Complaints complaints;
  const AttemptsOf attempts = by_task(evidence);
  check_tasks_are_there(evidence, complaints);
  check_attempts_have_tasks(evidence, attempts, complaints);
  check_histories(evidence, attempts, complaints);
  check_leases(evidence, complaints);
  const ExecutionOf executions = by_attempt(evidence, complaints);
  check_executions(evidence, executions, complaints);
  check_overlaps(attempts, executions, complaints);
  check_nothing_changed(evidence, complaints);
  check_ticks(evidence, attempts, complaints);
  check_keys(evidence, attempts, complaints);
  check_steps(evidence, attempts, complaints);
  const std::vector<std::string> at_the_end = broken_promises(evidence.end);
  complaints.insert(complaints.end(), at_the_end.begin(), at_the_end.end());
  return complaints;
}

std::vector<std::string> broken_promises(const Moment& moment) {
  Complaints complaints;
  check_keys(moment, complaints);
  check_waits(moment, complaints);
  return complaints;
}

}  // namespace dogged::faults
