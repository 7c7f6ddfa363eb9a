// The statements of unique keys (schema/unique.sql). See database.hpp.
//
// A call decides at once about the key and its holder, under the locks of its transaction. The commit of the
// transaction makes the change visible.
#include <algorithm>

#include "database.hpp"
#include "promises.hpp"

namespace dogged::sim {
namespace {

Args joined(const Args& args, const Args& added) {
  Args all = args;
  all.insert(all.end(), added.begin(), added.end());
  return all;
}

}  // namespace

bool Database::is_held(const KeyRow& row, const KeyRule& rule, bool has_ended) const {
  if (rule.period && now() >= row.taken_at + *rule.period) return false;
  if (rule.while_ == While::kept) return true;
  const bool is_live = now_.live.contains(row.task) && !has_ended;
  const bool is_pending = is_live && now_.tasks.at(row.task).state == Task::State::pending;
  if (mutant_ == Mutant::key_that_is_free_while_its_task_runs) return is_pending;
  return rule.while_ == While::pending ? is_pending : is_live;
}

bool Database::has_other_holder(TaskId id, const Task& task) const {
  const auto row = now_.keys.find(task.key);
  return row != now_.keys.end() && row->second.task != id && now_.live.contains(row->second.task);
}

void Database::end_expired_holder(const std::string& key) {
  const auto row = now_.keys.find(key);
  if (row == now_.keys.end() || mutant_ == Mutant::key_of_an_expired_task) return;
  Task* const holder = unlocked(row->second.task);
  if (holder != nullptr && has_expired(*holder)) end(row->second.task, *holder, "expired");
}

std::optional<Database::Unique> Database::enqueue_unique(Transaction& transaction, const NewTask& task) {
  const KeyRule& rule = task.rule;
  if (taking_.contains(task.key) && mutant_ != Mutant::key_that_two_transactions_take) return std::nullopt;
  const auto row = now_.keys.find(task.key);
  if (row == now_.keys.end()) return take_key(transaction, task);
  const TaskId holder = row->second.task;
  const bool is_in_time = !rule.period || now() < row->second.taken_at + *rule.period;
  const bool was_ended = transaction.expired.contains(holder);
  const bool was_pending =
      now_.live.contains(holder) && !was_ended && now_.tasks.at(holder).state == Task::State::pending;
  const bool ends =
      is_in_time && was_pending && has_expired(now_.tasks.at(holder)) && mutant_ != Mutant::key_of_an_expired_task;
  const bool is_pending = was_pending && !ends;
  const bool changes = rule.conflict != Conflict::keep && rule.conflict != Conflict::refuse;
  const bool locks = is_in_time && is_pending && (changes || rule.while_ == While::pending);
  const bool waits = ends || (locks && !(merges_args(rule.conflict) && mutant_ == Mutant::merge_that_does_not_wait));
  if (waits && is_locked(now_.tasks.at(holder))) return std::nullopt;
  const bool is_held_by_it = is_held(row->second, rule, was_ended || ends);
  const bool is_refused = is_held_by_it && rule.conflict == Conflict::refuse;
  if (ends && !is_refused) {
    hold_row(transaction, holder);
    transaction.expired.insert(holder);
  }
  if (!is_held_by_it) return take_key(transaction, task);
  ++last_position_;  // the id that it would have had
  promises::an_answer_names_the_holder(holder, task.key, rule, *this);
  if (is_refused) return Unique{Unique::Outcome::refused, holder};
  const auto outcome = changes && is_pending ? change_holder(transaction, task, holder) : Unique::Outcome::existed;
  // An error undoes the call, its lock included.
  if (locks && outcome != Unique::Outcome::would_never_run) lock_row(transaction, holder);
  return Unique{outcome, holder};
}

void Database::hold_row(Transaction& transaction, TaskId id) {
  ++now_.tasks.at(id).row_locks;
  transaction.locked.push_back(id);
}

/// A worker that looks meanwhile passes over the locked task.
void Database::lock_row(Transaction& transaction, TaskId id) {
  const Task& task = now_.tasks.at(id);
  transaction.stay_pending.insert(id);
  if (mutant_ == Mutant::holder_that_is_not_locked) return;
  hold_row(transaction, id);
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

/// A task that waits for a retry, or was put off, keeps the time of that, and its expiry.
Database::Unique::Outcome Database::change_holder(Transaction& transaction, const NewTask& task, TaskId id) {
  const Task& holder = now_.tasks.at(id);
  const KeyRule& rule = task.rule;
  HolderChange change{.args = task.args, .given = task.args, .conflict = rule.conflict};
  if (rule.conflict == Conflict::reschedule) change.args = holder.args;
  if (merges_args(rule.conflict) && mutant_ != Mutant::merge_that_replaces) {
    change.args = joined(holder.args, task.args);
  }
  const bool moves = moves_first_run(rule.conflict) && holder.awaits_first_run();
  TimePoint due = holder.due_at;
  if (moves) {
    due = now() + task.delay;
    const bool has_latest = rule.latest && mutant_ != Mutant::debounce_without_end;
    if (has_latest) due = std::min(due, holder.enqueued_at + *rule.latest);
    due = std::max(due, now());
    promises::no_debounce_goes_on_for_ever(id, due, holder.enqueued_at, now(), rule);
    change.due = due;
    change.defers = due > now();
  }
  if (holder.awaits_first_run()) {
    change.expires_at = task.expires_in ? std::optional{now() + *task.expires_in} : holder.expires_at;
    if (change.expires_at && due >= *change.expires_at) return Unique::Outcome::would_never_run;
  }
  if (moves && holder.deferred && !change.defers) change.position = ++last_position_;
  transaction.changes[id] = change;
  for (const auto& [worker, row] : now_.workers) {
    const bool is_told = moves && due < holder.due_at && row.asleep && row.queues.contains(holder.queue);
    if (is_told) transaction.sleepers.emplace(worker, holder.queue);
  }
  return Unique::Outcome::updated;
}

void Database::commit_keys(const Transaction& transaction) {
  for (const TaskId id : transaction.stay_pending) promises::a_holder_begins_after_the_call(id, *this);
  for (const TaskId id : transaction.expired) end(id, now_.tasks.at(id), "expired");
  for (const auto& [id, change] : transaction.changes) {
    Task& task = now_.tasks.at(id);
    task.args = change.args;
    note_args(id, change);
    if (change.expires_at) task.expires_at = change.expires_at;
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

/// By the order of commits, whatever args the call has found.
void Database::note_args(TaskId id, const HolderChange& change) {
  if (change.conflict == Conflict::reschedule) return;
  Args& args = now_.ledger.args[id];
  args = merges_args(change.conflict) ? joined(args, change.given) : change.given;
}

void Database::release_keys(const Transaction& transaction) {
  for (const auto& [key, row] : transaction.taken) taking_.erase(key);
  for (const TaskId id : transaction.locked) --now_.tasks.at(id).row_locks;
}

}  // namespace dogged::sim
