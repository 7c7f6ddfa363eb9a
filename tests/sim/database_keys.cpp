// The statements of unique keys (schema/unique.sql). See database.hpp.
//
// What a call makes of the key and of its holder is decided at once, under the locks of its transaction, and is there
// when that commits.
#include <algorithm>

#include "database.hpp"
#include "promises.hpp"

namespace dogged::sim {

bool Database::is_held(const KeyRow& row, const KeyRule& rule) const {
  if (rule.period && now() >= row.taken_at + *rule.period) return false;
  if (rule.while_ == While::kept) return true;
  const bool is_live = now_.live.contains(row.task);
  const bool is_pending = is_live && now_.tasks.at(row.task).state == Task::State::pending;
  if (mutant_ == Mutant::key_that_is_free_while_its_task_runs) return is_pending;
  return rule.while_ == While::pending ? is_pending : is_live;
}

bool Database::has_other_holder(TaskId id, const Task& task) const {
  const auto row = now_.keys.find(task.key);
  return row != now_.keys.end() && row->second.task != id && now_.live.contains(row->second.task);
}

std::optional<Database::Unique> Database::enqueue_unique(Transaction& transaction, const NewTask& task) {
  const KeyRule& rule = task.rule;
  if (taking_.contains(task.key) && mutant_ != Mutant::key_that_two_transactions_take) return std::nullopt;
  const auto row = now_.keys.find(task.key);
  if (row == now_.keys.end()) return take_key(transaction, task);
  const TaskId holder = row->second.task;
  const bool is_in_time = !rule.period || now() < row->second.taken_at + *rule.period;
  const bool is_pending = now_.live.contains(holder) && now_.tasks.at(holder).state == Task::State::pending;
  const bool changes = rule.conflict != Conflict::keep && rule.conflict != Conflict::refuse;
  const bool locks = is_in_time && is_pending && (changes || rule.while_ == While::pending);
  if (locks && is_locked(now_.tasks.at(holder))) return std::nullopt;
  if (!is_held(row->second, rule)) return take_key(transaction, task);
  ++last_position_;  // the id that it would have had
  promises::an_answer_names_the_holder(holder, task.key, rule, *this);
  if (rule.conflict == Conflict::refuse) return Unique{Unique::Outcome::refused, holder};
  if (locks) lock_row(transaction, holder);
  if (!changes || !is_pending) return Unique{Unique::Outcome::existed, holder};
  change_holder(transaction, task, holder);
  return Unique{Unique::Outcome::updated, holder};
}

/// A worker that looks meanwhile passes over the locked task.
void Database::lock_row(Transaction& transaction, TaskId id) {
  Task& task = now_.tasks.at(id);
  transaction.stay_pending.insert(id);
  if (mutant_ == Mutant::holder_that_is_not_locked) return;
  ++task.row_locks;
  transaction.locked.push_back(id);
  if (!task.deferred && mutant_ != Mutant::holder_that_is_passed_over) transaction.told.insert(task.queue);
}

Database::Unique Database::take_key(Transaction& transaction, const NewTask& task) {
  promises::a_key_is_taken_when_it_is_free(task.key, task.rule, *this);
  const TaskId id = ++last_position_;
  taking_.insert(task.key);
  transaction.taken[task.key] = {id, now()};
  transaction.ids.push_back(id);
  transaction.tasks.push_back(task);
  for (const auto& [worker, row] : now_.workers) {
    if (row.asleep && row.queues.contains(task.queue)) transaction.sleepers.emplace(worker, task.queue);
  }
  return {Unique::Outcome::enqueued, id};
}

/// A task that waits for a retry keeps the time of that.
void Database::change_holder(Transaction& transaction, const NewTask& task, TaskId id) {
  const Task& holder = now_.tasks.at(id);
  const KeyRule& rule = task.rule;
  HolderChange& change = transaction.changes[id];
  change.args = rule.conflict == Conflict::reschedule ? holder.args : task.args;
  if (rule.conflict == Conflict::replace || holder.attempt > 0) return;
  TimePoint due = now() + task.delay;
  const bool has_latest = rule.latest && mutant_ != Mutant::debounce_without_end;
  if (has_latest) due = std::min(due, holder.enqueued_at + *rule.latest);
  due = std::max(due, now());
  promises::no_debounce_goes_on_for_ever(id, due, holder.enqueued_at, now(), rule);
  change.due = due;
  change.defers = due > now();
  if (holder.deferred && !change.defers) change.position = ++last_position_;
  for (const auto& [worker, row] : now_.workers) {
    const bool is_told = due < holder.due_at && row.asleep && row.queues.contains(holder.queue);
    if (is_told) transaction.sleepers.emplace(worker, holder.queue);
  }
}

void Database::commit_keys(const Transaction& transaction) {
  for (const TaskId id : transaction.stay_pending) promises::a_holder_begins_after_the_call(id, *this);
  for (const auto& [id, change] : transaction.changes) {
    Task& task = now_.tasks.at(id);
    task.args = change.args;
    if (!change.due) continue;
    task.due_at = *change.due;
    task.deferred = change.defers;
    if (change.position) task.position = *change.position;
  }
  for (const auto& [key, row] : transaction.taken) {
    now_.keys[key] = row;
    promises::a_key_has_one_holder(row.task, *this);
  }
  release_keys(transaction);
  for (const std::string& queue : transaction.told) {
    for (const auto& [id, row] : now_.workers) notify(id, queue);
  }
}

void Database::release_keys(const Transaction& transaction) {
  for (const auto& [key, row] : transaction.taken) taking_.erase(key);
  for (const TaskId id : transaction.locked) --now_.tasks.at(id).row_locks;
}

}  // namespace dogged::sim
