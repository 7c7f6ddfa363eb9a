// See database.hpp.
#include "database.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "promises.hpp"

namespace dogged::sim {
namespace {

constexpr runtime::Place in_front_of_all = runtime::Place{1} << 46;

bool is_in(const std::vector<runtime::Watermarks::Range>& ranges, runtime::Place place) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [place](const auto& range) { return place > range.after && place <= range.upto; });
}

std::optional<lifecycle::Status> status_of(const Task& task) {
  switch (task.state) {
    case Task::State::pending:
      return lifecycle::Status::pending;
    case Task::State::running:
      return lifecycle::Status::running;
    case Task::State::ended:
      break;
  }
  return lifecycle::status_from_text(task.ended_as);
}

}  // namespace

const lifecycle::Rules& rules_of(Kind kind) {
  using namespace std::chrono_literals;
  static const lifecycle::Rules plain{.policy = Exponential{.base = 100ms, .max_retries = 5, .jitter = Jitter::full()},
                                      .auto_retry_for = {"AGAIN", "TIMEOUT", "NOT_COMMITTED"},
                                      .max_losses = 3,
                                      .max_snoozes = 2};
  static const lifecycle::Rules fragile{.policy = plain.policy,
                                        .auto_retry_for = plain.auto_retry_for,
                                        .max_losses = 3,
                                        .max_snoozes = 2,
                                        .retry_lost = false};
  return kind == Kind::fragile ? fragile : plain;
}

Database::Transaction Database::begin() {
  Transaction transaction;
  transaction.id = now_.next_transaction++;
  transaction.history = history_;
  open_.insert(transaction.id);
  return transaction;
}

void Database::enqueue(Transaction& transaction, int how_many, const NewTask& task) {
  for (int i = 0; i < how_many; ++i) {
    transaction.ids.push_back(++last_position_);
    transaction.tasks.push_back(task);
  }
  for (const auto& [id, worker] : now_.workers) {
    if (worker.asleep && worker.queues.contains(task.queue)) transaction.sleepers.emplace(id, task.queue);
  }
}

void Database::commit(const Transaction& transaction) {
  if (transaction.history != history_) return;
  open_.erase(transaction.id);
  for (std::size_t i = 0; i < transaction.ids.size(); ++i) {
    const TaskId id = transaction.ids[i];
    const NewTask& added = transaction.tasks[i];
    Task& task = now_.tasks[id];
    task.kind = added.kind;
    task.queue = added.queue;
    task.priority = added.priority;
    task.position = id;
    task.deferred = added.delay > milliseconds{0};
    task.due_at = now() + added.delay;
    if (added.expires_in) task.expires_at = now() + *added.expires_in;
    task.key = added.key;
    task.rule = added.rule;
    task.args = added.args;
    if (!task.key.empty()) now_.ledger.args[id] = added.args;
    task.enqueued_at = now();
    now_.live.insert(id);
    now_.ledger.enqueued.insert(id);
  }
  commit_keys(transaction);
  if (mutant_ == Mutant::no_notification) return;
  for (const auto& [worker, queue] : transaction.sleepers) notify(worker, queue);
}

void Database::roll_back(const Transaction& transaction) {
  if (transaction.history != history_) return;
  open_.erase(transaction.id);
  release_keys(transaction);
}

Task* Database::held(std::int64_t worker, const runtime::Attempt& attempt) {
  if (!now_.live.contains(attempt.id)) return nullptr;
  Task& task = now_.tasks.at(attempt.id);
  const bool is_held = task.state == Task::State::running && task.worker == worker && task.attempt == attempt.number;
  return is_held ? &task : nullptr;
}

Task* Database::unlocked(TaskId id) {
  if (!now_.live.contains(id)) return nullptr;
  Task& task = now_.tasks.at(id);
  return is_locked(task) ? nullptr : &task;
}

void Database::end(TaskId id, Task& task, std::string_view status) {
  task.state = Task::State::ended;
  task.deferred = false;
  task.ended_as = status;
  now_.live.erase(id);
}

std::string_view Database::cancel(TaskId id) {
  Task* const task = unlocked(id);
  if (task == nullptr) return now_.live.contains(id) ? "" : "ended";
  if (task->state == Task::State::running) {
    task->cancel_requested = true;
    if (mutant_ != Mutant::cancel_without_a_notification) on_cancel(task->worker);
    return "requested";
  }
  end(id, *task, "cancelled");
  now_.ledger.cancelled.insert(id);
  return "cancelled";
}

std::vector<runtime::Attempt> Database::cancelling(std::int64_t worker) const {
  std::vector<runtime::Attempt> attempts;
  for (const TaskId id : now_.live) {
    const Task& task = now_.tasks.at(id);
    if (task.state == Task::State::running && task.worker == worker && task.cancel_requested) {
      attempts.push_back({id, task.attempt});
    }
  }
  return attempts;
}

bool Database::replay(TaskId id, milliseconds delay, ReplaySteps steps) {
  const auto found = now_.tasks.find(id);
  if (found == now_.tasks.end() || is_locked(found->second)) return false;
  Task& task = found->second;
  if (task.state != Task::State::ended || task.ended_as != "failed") return false;
  if (!task.key.empty()) {
    if (taking_.contains(task.key)) return false;  // it waits
    end_expired_holder(task.key);
    if (has_other_holder(id, task) && mutant_ != Mutant::replay_beside_its_twin) return false;
    now_.keys[task.key] = {id, now()};
  }
  task.state = Task::State::pending;
  task.ended_as.clear();
  task.retry_count = 0;
  task.losses = 0;
  task.snoozes = 0;
  task.cancel_requested = false;
  task.expires_at.reset();
  task.deferred = delay > milliseconds{0};
  task.due_at = now() + delay;
  if (mutant_ != Mutant::made_ready_at_an_old_place) task.position = ++last_position_;
  if (steps == ReplaySteps::again) {
    now_.steps_again[id].insert(task.attempt);
    std::erase_if(now_.ledger.waits_until, [id](const auto& wait) { return wait.first.first == id; });
  }
  now_.live.insert(id);
  now_.ledger.replayed[id].insert(task.attempt);
  if (!task.key.empty()) promises::a_key_has_one_holder(id, *this);
  notify_sleepers(task.queue);
  return true;
}

bool Database::reschedule(TaskId id, milliseconds delay) {
  Task* const task = unlocked(id);
  if (task == nullptr || task->state != Task::State::pending) return false;
  if (task->expires_at && now() + delay >= *task->expires_at) return false;
  const bool becomes_ready = task->deferred && delay == milliseconds{0};
  task->deferred = delay > milliseconds{0};
  task->due_at = now() + delay;
  task->was_put_off = false;
  now_.ledger.not_before.erase(id);
  if (becomes_ready && mutant_ != Mutant::made_ready_at_an_old_place) task->position = ++last_position_;
  if (mutant_ != Mutant::reschedule_without_a_notification) notify_sleepers(task->queue);
  return true;
}

void Database::pause(const std::string& queue, std::optional<milliseconds> resumes_in) {
  QueueRow& row = queues_[queue];
  row.is_paused = true;
  row.paused_until.reset();
  if (resumes_in && mutant_ != Mutant::pause_that_never_ends) row.paused_until = now() + *resumes_in;
}

void Database::resume(const std::string& queue) {
  QueueRow& row = queues_[queue];
  row.is_paused = false;
  row.paused_until.reset();
}

runtime::QueueSettings Database::queue_settings(const std::string& queue) const {
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return {};
  const QueueRow& row = found->second;
  runtime::QueueSettings settings{.is_paused = row.is_paused && (!row.paused_until || *row.paused_until > now()),
                                  .concurrency = row.concurrency,
                                  .retry_budget = row.retry_budget};
  if (settings.is_paused && row.paused_until) {
    settings.resumes_in = std::chrono::ceil<milliseconds>(*row.paused_until - now());
  }
  return settings;
}

std::set<TaskId> Database::fail_over(Durable replica) {
  std::set<TaskId> changed;
  for (const auto& [id, task] : now_.tasks) {
    const auto before = replica.tasks.find(id);
    const bool is_same = before != replica.tasks.end() && before->second.state == task.state &&
                         before->second.attempt == task.attempt && before->second.worker == task.worker;
    if (!is_same) changed.insert(id);
  }
  for (const auto& [step, rows] : now_.steps) {
    const auto before = replica.steps.find(step);
    if (before == replica.steps.end() || before->second.size() != rows.size()) changed.insert(step.first);
  }
  for (const auto& [loop, row] : now_.checkpoints) {
    const auto before = replica.checkpoints.find(loop);
    if (before == replica.checkpoints.end() || before->second.place != row.place) changed.insert(loop.first);
  }
  now_ = std::move(replica);
  ++history_;
  open_.clear();
  emitting_.clear();
  taking_.clear();
  circuit_locks_.clear();
  for (auto& [id, task] : now_.tasks) {
    task.locked_until = {};
    task.row_locks = 0;
  }
  for (auto& [id, row] : now_.workers) row.listens = false;
  return changed;
}

WorkerRow& Database::row_of(std::int64_t worker) {
  const auto found = now_.workers.find(worker);
  if (found != now_.workers.end()) return found->second;
  lost_row_ = {};
  lost_row_.lease_ended = true;
  lost_row_.claim_session = -1;
  return lost_row_;
}

std::optional<std::int64_t> Database::register_worker(const std::string& name, milliseconds lease,
                                                      std::optional<std::int64_t> previous, const Queues& queues) {
  const auto holder = name_holder(name);
  if (holder && mutant_ != Mutant::name_of_a_lapsed_lease && row_of(holder->id).lease_until < now()) {
    end_lease(row_of(holder->id));
    on_lease_ended(holder->id);
  }
  if (previous) end_lease(row_of(*previous));
  ++last_worker_;  // the sequence counts on if the name is taken
  if (name_holder(name)) return std::nullopt;
  WorkerRow& row = now_.workers[last_worker_];
  row.name = name;
  row.began_at = row.heartbeat_at = now();
  row.lease_until = now() + lease;
  row.queues = queues;
  on_worker_began();
  return last_worker_;
}

std::optional<runtime::Registering::Holder> Database::name_holder(const std::string& name) const {
  const auto found = std::find_if(now_.workers.begin(), now_.workers.end(), [&name](const auto& worker) {
    return worker.second.name == name && !worker.second.lease_ended && !worker.second.stopped;
  });
  if (found == now_.workers.end()) return std::nullopt;
  const auto heartbeat_at = found->second.heartbeat_at.time_since_epoch();
  return runtime::Registering::Holder{found->first,
                                      std::chrono::duration_cast<std::chrono::microseconds>(heartbeat_at).count()};
}

bool Database::heartbeat(std::int64_t worker, milliseconds lease) {
  if (!now_.workers.contains(worker)) return false;
  WorkerRow& row = row_of(worker);
  if (row.lease_ended && mutant_ != Mutant::lease_renewed_after_its_end) return false;
  row.heartbeat_at = now();
  row.lease_until = now() + lease;
  row.lease_ended = false;
  return true;
}

void Database::begin_claim_session(std::int64_t worker, std::int64_t session) {
  WorkerRow& row = row_of(worker);
  row.claim_session = std::max(row.claim_session, session);
}

bool Database::has_session(std::int64_t worker, std::int64_t session) const {
  const auto found = now_.workers.find(worker);
  return found != now_.workers.end() && found->second.claim_session == session;
}

std::vector<std::vector<Database::Claimed>> Database::claim(std::int64_t worker,
                                                            const std::vector<runtime::QueueClaim>& claims,
                                                            std::int64_t session) {
  std::vector<std::vector<Claimed>> claimed(claims.size());
  if (!now_.workers.contains(worker)) return claimed;
  WorkerRow& row = row_of(worker);
  if (!has_session(worker, session) && mutant_ != Mutant::claim_of_an_old_session) return claimed;
  if ((row.lease_ended && mutant_ != Mutant::claim_of_an_ended_lease) || row.stopped) return claimed;
  std::vector<TaskId> ids;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    claimed[i] = claim_from(worker, row, claims[i]);
    for (const Claimed& task : claimed[i]) ids.push_back(task.id);
  }
  if (!ids.empty() && mutant_ != Mutant::claim_without_a_note) row.claims[++last_claim_] = std::move(ids);
  return claimed;
}

std::vector<Database::Claimed> Database::claim_from(std::int64_t worker, const WorkerRow& row,
                                                    const runtime::QueueClaim& claim) {
  std::vector<std::pair<runtime::Place, TaskId>> ready;
  for (const TaskId id : now_.live) {
    const Task& task = now_.tasks.at(id);
    if (task.state != Task::State::pending || task.deferred) continue;
    if (task.queue != claim.queue) continue;
    if (is_locked(task) && mutant_ != Mutant::claim_of_locked_rows) continue;
    if (is_in(claim.ranges, task.place())) ready.emplace_back(task.place(), id);
  }
  std::sort(ready.begin(), ready.end());
  if (ready.size() > claim.how_many) ready.resize(claim.how_many);
  std::vector<Claimed> claimed;
  for (const auto& [place, id] : ready) {
    Task& task = now_.tasks.at(id);
    promises::a_claim_takes_what_is_free(id, task, is_locked(task), row);
    promises::no_retry_is_early(id, now_.ledger, scheduler_.now(), clock_was_set());
    promises::a_cancelled_task_does_not_run_again(id, now_.ledger);
    now_.ledger.not_before.erase(id);
    task.state = Task::State::running;
    ++task.attempt;
    task.worker = worker;
    task.claimed_at = now();
    Claimed one{id, task.attempt, task.retry_count, task.losses, task.snoozes, task.kind, place, {}, task.args};
    if (!task.key.empty()) promises::an_attempt_gets_the_args_of_all_calls(id, one.args, now_.ledger);
    if (task.expires_at) one.expires_in = std::chrono::floor<milliseconds>(*task.expires_at - task.claimed_at);
    claimed.push_back(one);
  }
  return claimed;
}

void Database::give_back(TaskId id, Task& task) {
  task.state = Task::State::pending;
  --task.attempt;
  task.worker = 0;
  place_in_front(task);
  if (!task.cancel_requested) return;
  now_.ledger.cancelled.insert(id);
  if (mutant_ != Mutant::release_that_forgets_a_cancel) cancel(id);
}

void Database::place_in_front(Task& task) { task.position = ++last_position_ - in_front_of_all; }

Database::Unknown Database::release_unknown(std::int64_t worker, const std::vector<runtime::Attempt>& known,
                                            std::int64_t session) {
  Unknown unknown;
  if (!has_session(worker, session)) return unknown;
  std::set<TaskId> claimed;
  for (const auto& [number, ids] : row_of(worker).claims) claimed.insert(ids.begin(), ids.end());
  for (const TaskId id : claimed) {
    const auto found = now_.tasks.find(id);
    if (found == now_.tasks.end()) continue;
    Task& task = found->second;
    const bool is_known = std::any_of(known.begin(), known.end(), [id = id, attempt = task.attempt](const auto& one) {
      return one.id == id && one.number == attempt;
    });
    if (task.state != Task::State::running || task.worker != worker || is_known) continue;
    if (is_locked(task)) {
      unknown.locked.push_back(id);
      continue;
    }
    give_back(id, task);
    ++unknown.released;
  }
  return unknown;
}

std::vector<runtime::Attempt> Database::release(std::int64_t worker, const std::vector<runtime::Attempt>& attempts,
                                                std::int64_t session) {
  std::vector<runtime::Attempt> left;
  const bool counts = has_session(worker, session) || mutant_ == Mutant::release_of_an_old_session;
  for (const runtime::Attempt& attempt : attempts) {
    const auto found = now_.tasks.find(attempt.id);
    if (found == now_.tasks.end()) {
      left.push_back(attempt);
      continue;
    }
    Task& task = found->second;
    const bool is_held = task.state == Task::State::running && task.worker == worker && task.attempt == attempt.number;
    if (!counts || !is_held || is_locked(task)) {
      left.push_back(attempt);
      continue;
    }
    give_back(attempt.id, task);
  }
  wake_others(worker, row_of(worker).queues);
  return left;
}

std::set<TaskId> Database::expire_claimed(std::int64_t worker, const std::vector<runtime::Attempt>& attempts,
                                          std::int64_t session) {
  std::set<TaskId> expired;
  if (!has_session(worker, session)) return expired;
  for (const runtime::Attempt& attempt : attempts) {
    Task* const task = unlocked(attempt.id);
    const bool is_held = task != nullptr && task->state == Task::State::running && task->worker == worker &&
                         task->attempt == attempt.number;
    if (!is_held || !task->expires_at || *task->expires_at > now()) continue;
    --task->attempt;
    task->worker = 0;
    end(attempt.id, *task, task->cancel_requested ? "cancelled" : "expired");
    expired.insert(attempt.id);
  }
  return expired;
}

void Database::record(TaskId id, Task& task, const lifecycle::Transition& to, std::int64_t worker) {
  const AttemptRow row{.outcome = std::string{lifecycle::to_text(to.outcome)},
                       .worker = worker,
                       .error_code = std::string{to.code()},
                       .will_retry = to.will_retry(),
                       .cancel_requested = task.cancel_requested};
  const bool is_new = now_.attempts.emplace(std::pair{id, task.attempt}, row).second;
  promises::an_attempt_is_recorded_once(id, task.attempt, is_new);
  promises::a_report_counts_before_the_end(id, task);
  task.worker = 0;
  task.retry_count = to.retry_count;
  task.losses = to.losses;
  if (to.outcome == lifecycle::Outcome::snoozed && mutant_ != Mutant::snooze_that_does_not_count) {
    task.snoozes = to.snoozes;
  }
  if (!to.next_run) end(id, task, lifecycle::to_text(to.status));
  if (task.cancel_requested) now_.ledger.cancelled.insert(id);
}

/// `finished_at` by the database's clock.
void Database::run_again(TaskId id, Task& task, const lifecycle::NextRun& next, TimePoint finished_at) {
  task.state = Task::State::pending;
  task.due_at = finished_at + next.delay;
  task.deferred = task.due_at > now() && mutant_ != Mutant::retry_without_its_delay;
  if (next.delay == milliseconds{0}) {
    place_in_front(task);
  } else if (!task.deferred) {
    task.position = ++last_position_;
  }
  if (next.delay > milliseconds{0}) now_.ledger.not_before[id] = task.due_at - clock_ahead_;
}

std::set<TaskId> Database::complete(std::int64_t worker, std::span<const runtime::Report> reports, TimePoint sent_at) {
  std::set<TaskId> refused;
  reporters_.insert(worker);
  for (const runtime::Report& report : reports) {
    const auto found = now_.tasks.find(report.id);
    if (found == now_.tasks.end()) {
      refused.insert(report.id);
      continue;
    }
    Task& task = found->second;
    const lifecycle::Transition& to = report.transition;
    const bool is_held =
        (task.state == Task::State::running && task.worker == worker) || mutant_ == Mutant::completion_without_a_fence;
    const bool is_attempt = task.attempt == report.attempt || mutant_ == Mutant::completion_of_any_attempt;
    const bool is_again = mutant_ == Mutant::completion_twice && now_.attempts.contains({report.id, report.attempt});
    const bool is_cancelled = task.cancel_requested && to.status != lifecycle::Status::succeeded &&
                              to.status != lifecycle::Status::cancelled &&
                              mutant_ != Mutant::completion_despite_a_cancel;
    const auto ago = std::chrono::duration_cast<std::chrono::microseconds>(sent_at - report.finished_at);
    const TimePoint finished_at = std::max(task.claimed_at, now() - ago);
    const bool is_too_late = to.next_run && task.expires_at && finished_at + to.next_run->delay > *task.expires_at &&
                             mutant_ != Mutant::retry_after_its_expiry;
    if (!is_again && (!is_held || !is_attempt || is_locked(task) || is_cancelled || is_too_late)) {
      refused.insert(report.id);
      continue;
    }
    promises::a_report_is_of_the_holder(report.id, task, worker, report.attempt);
    record(report.id, task, to, worker);
    promises::no_retry_comes_after_expiry(report.id, task, to, finished_at);
    if (to.next_run) run_again(report.id, task, *to.next_run, finished_at);
  }
  return refused;
}

bool Database::complete_in(std::int64_t worker, const runtime::Attempt& attempt) {
  if (mutant_ == Mutant::effects_outside_the_transaction) ++now_.ledger.effects[attempt.id];
  Task* const task = unlocked(attempt.id);
  const bool is_held = task != nullptr && task->state == Task::State::running && task->worker == worker &&
                       task->attempt == attempt.number;
  if (!is_held) return false;
  record(attempt.id, *task,
         {.status = lifecycle::Status::succeeded,
          .outcome = lifecycle::Outcome::succeeded,
          .retry_count = task->retry_count,
          .losses = task->losses},
         worker);
  if (mutant_ != Mutant::effects_outside_the_transaction) ++now_.ledger.effects[attempt.id];
  return true;
}

runtime::Holder Database::who_holds(std::int64_t worker, const runtime::Attempt& attempt) const {
  runtime::Holder holder;
  const auto found = now_.tasks.find(attempt.id);
  if (found == now_.tasks.end()) return holder;
  const Task& task = found->second;
  holder.task_attempt = task.attempt;
  holder.status = status_of(task);
  holder.worker = task.worker;
  holder.is_mine = task.state == Task::State::running && task.worker == worker && task.attempt == attempt.number;
  holder.cancel_requested = task.cancel_requested;
  if (task.expires_at && task.state != Task::State::ended) {
    const auto in_us = [](Duration time) {
      return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
    };
    holder.expires_in_us = in_us(*task.expires_at - now());
    holder.expires_after_claim_us = in_us(*task.expires_at - task.claimed_at);
  }
  if (const auto row = now_.attempts.find({attempt.id, attempt.number}); row != now_.attempts.end()) {
    holder.outcome = lifecycle::outcome_from_text(row->second.outcome);
    holder.recorded_for = row->second.worker;
  }
  return holder;
}

std::size_t Database::promote(const Queues& queues) {
  std::size_t promoted = 0;
  for (const std::string& queue : queues) {
    std::size_t of_queue = 0;
    for (const TaskId id : now_.live) {
      if (of_queue == tasks_at_once_) break;
      Task& task = now_.tasks.at(id);
      if (task.queue != queue || !task.deferred || is_locked(task)) continue;
      if (task.due_at > now() && mutant_ != Mutant::promotion_before_its_time) continue;
      task.deferred = false;
      if (mutant_ != Mutant::promotion_at_an_old_place) task.position = ++last_position_;
      ++of_queue;
    }
    promoted += of_queue;
  }
  return promoted;
}

bool Database::has_ready(const std::vector<runtime::QueueClaim>& in) const {
  for (const runtime::QueueClaim& claim : in) {
    for (const TaskId id : now_.live) {
      const Task& task = now_.tasks.at(id);
      if (task.state != Task::State::pending || task.deferred || task.queue != claim.queue) continue;
      if (is_in(claim.ranges, task.place())) return true;
    }
  }
  return false;
}

std::optional<milliseconds> Database::due_in(const Queues& queues) const {
  std::optional<milliseconds> least;
  for (const TaskId id : now_.live) {
    const Task& task = now_.tasks.at(id);
    if (!task.deferred || !queues.contains(task.queue)) continue;
    const auto left = std::max(std::chrono::ceil<milliseconds>(task.due_at - now()), milliseconds{0});
    if (!least || left < *least) least = left;
  }
  return least;
}

void Database::fall_asleep(std::int64_t worker) {
  WorkerRow& row = row_of(worker);
  if (!row.lease_ended && !row.stopped) row.asleep = true;
}

void Database::wake_up(std::int64_t worker, std::int64_t session) {
  if (has_session(worker, session) || mutant_ == Mutant::wake_up_of_an_old_session) row_of(worker).asleep = false;
}

std::int64_t Database::oldest_transaction() const { return open_.empty() ? now_.next_transaction : *open_.begin(); }

void Database::notify(std::int64_t worker, const std::string& queue) {
  if (row_of(worker).listens) on_notify(worker, queue);
}

void Database::notify_sleepers(const std::string& queue) {
  for (const auto& [id, row] : now_.workers) {
    if (row.asleep && row.queues.contains(queue)) notify(id, queue);
  }
}

void Database::wake_others(std::int64_t worker, const Queues& queues) {
  for (const auto& [id, row] : now_.workers) {
    const bool serves_one = std::any_of(queues.begin(), queues.end(),
                                        [&row = row](const auto& queue) { return row.queues.contains(queue); });
    if (id != worker && row.asleep && serves_one) notify(id, "");
  }
}

std::int64_t Database::sum_up_claims(std::int64_t worker, const std::vector<TaskId>& held, std::int64_t last,
                                     std::int64_t session) {
  WorkerRow& row = row_of(worker);
  if (!has_session(worker, session) || row.lease_ended) return 0;  // of a lost registration as well
  row.claims.erase(row.claims.lower_bound(last), row.claims.end());
  row.claims[++last_claim_] = held;
  return last_claim_;
}

Database::Settlement Database::settle_watermarks(const std::vector<runtime::ServedQueues::Part>& parts,
                                                 std::int64_t next_transaction, const std::vector<std::string>& names) {
  Settlement settlement;
  settlement.answer = {oldest_transaction(), now_.next_transaction++, last_position_};
  for (const auto& [queue, range] : parts) {
    if (settlement.answer.oldest < next_transaction) {
      settlement.settled.emplace_back(std::nullopt);
      continue;
    }
    runtime::Place upto = range.upto;
    for (const TaskId id : now_.live) {
      const Task& task = now_.tasks.at(id);
      if (task.state != Task::State::pending || task.deferred || task.queue != names.at(queue)) continue;
      if (task.place() > range.after && task.place() <= upto) upto = task.place() - 1;
    }
    settlement.settled.emplace_back(upto);
  }
  return settlement;
}

void Database::stop_worker(std::int64_t worker) {
  WorkerRow& row = row_of(worker);
  if (row.lease_ended) return;
  row.stopped = true;
  row.asleep = false;
}

runtime::Outlook Database::upkeep_due(std::int64_t worker, std::optional<milliseconds> back) const {
  runtime::Outlook outlook;
  std::size_t earlier = 0;
  for (const auto& [id, row] : now_.workers) {
    outlook.has_to_rescue = outlook.has_to_rescue || (row.lease_ended && !row.rescued);
    if (row.lease_ended || id == worker) continue;
    if (id < worker && !row.stopped) ++earlier;
    const auto lapses_in = std::chrono::ceil<milliseconds>(row.lease_until - now());
    outlook.lapses_in = std::min(outlook.lapses_in.value_or(lapses_in), lapses_in);
  }
  outlook.comes_first = earlier < 2;
  outlook.has_expired =
      std::any_of(now_.live.begin(), now_.live.end(), [&](TaskId id) { return has_expired(now_.tasks.at(id), back); });
  outlook.tick_due_in = tick_due_in();
  const TimePoint newest = now_.workers.empty() ? now() : now_.workers.rbegin()->second.began_at;
  outlook.newest_began_ago = std::chrono::floor<milliseconds>(now() - newest);
  return outlook;
}

std::size_t Database::end_lapsed_leases(std::int64_t worker) {
  const WorkerRow& me = row_of(worker);
  if (me.lease_ended || me.lease_until <= now()) return 0;
  std::size_t ended = 0;
  for (auto& [id, row] : now_.workers) {
    const bool has_lapsed = row.lease_until < now() || mutant_ == Mutant::lease_ended_before_its_lapse;
    if (row.lease_ended || !has_lapsed) continue;
    end_lease(row);
    on_lease_ended(id);
    ++ended;
  }
  return ended;
}

bool Database::has_expired(const Task& task, std::optional<milliseconds> back) const {
  return task.state == Task::State::pending && task.expires_at && *task.expires_at <= now() &&
         (!back || *task.expires_at > now() - *back);
}

std::size_t Database::expire(std::optional<milliseconds> back) {
  std::vector<TaskId> expired;
  for (const TaskId id : now_.live) {
    const Task& task = now_.tasks.at(id);
    if (has_expired(task, back) && !is_locked(task)) expired.push_back(id);
  }
  for (const TaskId id : expired) end(id, now_.tasks.at(id), "expired");
  return expired.size();
}

void Database::end_lease(WorkerRow& row) {
  row.lease_ended = true;
  row.asleep = false;
}

}  // namespace dogged::sim
