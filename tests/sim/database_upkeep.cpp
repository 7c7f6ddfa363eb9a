// The rescue of tasks, the works that the database refuses for a while, and the progress of handlers
// (write_progress.sql). See database.hpp.
#include <algorithm>

#include "database.hpp"
#include "promises.hpp"
#include "upkeep/core/lost_report.hpp"

namespace dogged::sim {

void Database::refuse(Work work, Duration time) {
  TimePoint& until = refused_until_.at(static_cast<std::size_t>(work));
  until = std::max(until, scheduler_.now() + time);
}

/// Fenced: the values of an attempt that another one has followed change nothing. Of the tasks that have ended, dead
/// letters alone get a row.
void Database::write_progress(const Progress& said) {
  const bool is_fenced = mutant_ != Mutant::progress_without_a_fence;
  for (const auto& [attempt, value] : said) {
    const auto& [id, number] = attempt;
    const auto task = now_.tasks.find(id);
    if (task == now_.tasks.end() || (is_fenced && task->second.attempt != number)) continue;
    if (!now_.live.contains(id) && task->second.ended_as != "failed") continue;
    ProgressRow& row = now_.progress[id];
    if (is_fenced && row.attempt > number) continue;
    row = {number, value};
    int& latest = now_.ledger.progress[id];
    latest = std::max(latest, task->second.attempt);
  }
}

std::vector<std::int64_t> Database::workers_to_rescue() {
  std::vector<std::int64_t> workers;
  for (const auto& [id, row] : now_.workers) {
    if (can_be_rescued(row) && (row.lease_ended || scheduler_.chance(2))) workers.push_back(id);
  }
  return workers;
}

std::vector<runtime::RescueTasks::Claim> Database::claims_of(std::int64_t worker) {
  std::vector<runtime::RescueTasks::Claim> claims;
  for (const auto& [number, ids] : row_of(worker).claims) {
    claims.push_back({number, static_cast<std::int64_t>(ids.size())});
  }
  return claims;
}

std::set<TaskId> Database::held_by_claims(std::int64_t worker, const std::vector<std::int64_t>& claims) {
  std::set<TaskId> held;
  const WorkerRow& row = row_of(worker);
  for (const std::int64_t claim : claims) {
    const auto found = row.claims.find(claim);
    if (found == row.claims.end()) continue;
    for (const TaskId id : found->second) {
      if (!now_.live.contains(id)) continue;
      const Task& task = now_.tasks.at(id);
      if (task.state == Task::State::running && task.worker == worker) held.insert(id);
    }
  }
  return held;
}

/// Locks the worker's row (lock_rescue.sql), reads tasks (lost_tasks.sql), ends their attempts (complete.sql), and
/// wakes workers (wake_for_rescued.sql).
std::optional<std::size_t> Database::rescue_batch(std::int64_t rescuer, std::int64_t worker,
                                                  const std::vector<std::int64_t>& claims) {
  const WorkerRow& lost = row_of(worker);
  if (!can_be_rescued(lost)) return std::nullopt;
  std::size_t count = 0;
  for (const TaskId id : held_by_claims(worker, claims)) {
    if (count == tasks_at_once_) break;
    Task& task = now_.tasks.at(id);
    if (is_locked(task)) continue;
    promises::a_loss_follows_the_end_of_its_lease(id, task.attempt, lost);
    rescue(id, task, worker);
    ++count;
  }
  if (count > 0 && mutant_ != Mutant::rescue_that_wakes_nobody) wake_others(rescuer, lost.queues);
  return count;
}

void Database::rescue(TaskId id, Task& task, std::int64_t worker) {
  const lifecycle::Rules& rules = rules_of(task.kind);
  runtime::LostAttempt lost{
      .id = id,
      .queue = task.queue,
      .attempt = task.attempt,
      .retry_count = task.retry_count,
      .losses = task.losses,
      .cancel_requested = task.cancel_requested,
      .declared = {{.retry_lost = rules.retry_lost, .max_losses = rules.max_losses, .dead_letter = rules.dead_letter}}};
  if (task.expires_at) lost.expires_in = std::chrono::floor<milliseconds>(*task.expires_at - now());
  const runtime::Report report = runtime::lost_report(lost, "its worker is lost", now());
  lifecycle::Transition to = report.transition;
  if (mutant_ == Mutant::loss_that_does_not_count && to.next_run) --to.losses;
  if (mutant_ == Mutant::loss_without_a_row) {
    give_back(id, task);
    ++task.attempt;
    return;
  }
  record(id, task, to, worker);
  if (to.next_run) run_again(id, task, *to.next_run, report.finished_at);
}

bool Database::mark_rescued(std::int64_t worker) {
  WorkerRow& row = row_of(worker);
  if (!can_be_rescued(row)) return false;
  std::vector<std::int64_t> claims;
  for (const auto& [number, ids] : row.claims) claims.push_back(number);
  if (!held_by_claims(worker, claims).empty() && mutant_ != Mutant::rescue_forgets_claims) return true;
  row.rescued = true;
  row.claims.clear();
  return true;
}

void Database::refuse_rescue_of(std::int64_t worker, Duration time) {
  TimePoint& until = refuses_rescue_[worker];
  until = std::max(until, scheduler_.now() + time);
}

TimePoint Database::refuses_rescue_until(std::int64_t worker) const {
  const auto found = refuses_rescue_.find(worker);
  return found == refuses_rescue_.end() ? TimePoint{} : found->second;
}

}  // namespace dogged::sim
