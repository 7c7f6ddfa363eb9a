// See database.hpp.
#include "database.hpp"

#include <algorithm>

#include "lifecycle/lifecycle.hpp"

namespace dogged::sim {
namespace {

constexpr runtime::Place in_front_of_all = runtime::Place{1} << 46;

bool is_in(const std::vector<runtime::Watermarks::Range>& ranges, runtime::Place place) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [place](const auto& range) { return place > range.after && place <= range.upto; });
}

}  // namespace

Database::Transaction Database::begin() {
  Transaction transaction;
  transaction.id = now_.next_transaction++;
  transaction.history = history_;
  open_.insert(transaction.id);
  return transaction;
}

void Database::enqueue(Transaction& transaction, int how_many, milliseconds delay, const std::string& queue,
                       int priority) {
  transaction.delay = delay;
  transaction.queue = queue;
  transaction.priority = priority;
  for (int i = 0; i < how_many; ++i) transaction.ids.push_back(++last_position_);
  for (const auto& [id, worker] : now_.workers) {
    if (worker.asleep && worker.queues.contains(queue)) transaction.sleepers.insert(id);
  }
}

void Database::commit(const Transaction& transaction) {
  if (transaction.history != history_) return;
  open_.erase(transaction.id);
  for (const TaskId id : transaction.ids) {
    Task& task = now_.tasks[id];
    task.queue = transaction.queue;
    task.priority = transaction.priority;
    task.position = id;
    task.deferred = transaction.delay > milliseconds{0};
    task.due_at = now() + transaction.delay;
  }
  if (mutant_ == Mutant::no_notification) return;
  for (const std::int64_t worker : transaction.sleepers) notify(worker, transaction.queue);
}

void Database::roll_back(const Transaction& transaction) {
  if (transaction.history == history_) open_.erase(transaction.id);
}

void Database::cancel(TaskId id) {
  const auto found = now_.tasks.find(id);
  if (found == now_.tasks.end() || is_locked(found->second)) return;
  Task& task = found->second;
  if (task.state == Task::State::running) task.cancel_requested = true;
  if (task.state != Task::State::pending) return;
  task.state = Task::State::ended;
  task.deferred = false;
  task.outcome = "cancelled";
}

bool Database::replay(TaskId id, milliseconds delay) {
  const auto found = now_.tasks.find(id);
  if (found == now_.tasks.end() || is_locked(found->second)) return false;
  Task& task = found->second;
  if (task.state != Task::State::ended || task.outcome != "failed") return false;
  task.state = Task::State::pending;
  task.outcome.clear();
  task.retry_count = 0;
  task.cancel_requested = false;
  task.deferred = delay > milliseconds{0};
  task.due_at = now() + delay;
  if (mutant_ != Mutant::made_ready_at_an_old_place) task.position = ++last_position_;
  notify_sleepers(task.queue);
  return true;
}

bool Database::reschedule(TaskId id, milliseconds delay) {
  const auto found = now_.tasks.find(id);
  if (found == now_.tasks.end() || is_locked(found->second)) return false;
  Task& task = found->second;
  if (task.state != Task::State::pending) return false;
  const bool becomes_ready = task.deferred && delay == milliseconds{0};
  task.deferred = delay > milliseconds{0};
  task.due_at = now() + delay;
  if (becomes_ready && mutant_ != Mutant::made_ready_at_an_old_place) task.position = ++last_position_;
  if (mutant_ != Mutant::reschedule_without_a_notification) notify_sleepers(task.queue);
  return true;
}

void Database::pause(const std::string& queue, bool paused) {
  if (paused) {
    paused_.insert(queue);
  } else {
    paused_.erase(queue);
  }
}

std::set<TaskId> Database::fail_over(Durable replica) {
  std::set<TaskId> changed;
  for (const auto& [id, task] : now_.tasks) {
    const auto before = replica.tasks.find(id);
    const bool is_same = before != replica.tasks.end() && before->second.state == task.state &&
                         before->second.attempt == task.attempt && before->second.worker == task.worker;
    if (!is_same) changed.insert(id);
  }
  now_ = std::move(replica);
  ++history_;
  open_.clear();
  for (auto& [id, task] : now_.tasks) task.locked_until = {};
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

std::int64_t Database::register_worker(milliseconds lease, std::optional<std::int64_t> previous, const Queues& queues) {
  if (previous) end_lease(row_of(*previous));
  WorkerRow& row = now_.workers[++last_worker_];
  row.lease_until = now() + lease;
  row.queues = queues;
  return last_worker_;
}

bool Database::heartbeat(std::int64_t worker, milliseconds lease) {
  if (!now_.workers.contains(worker)) return false;
  WorkerRow& row = row_of(worker);
  if (row.lease_ended && mutant_ != Mutant::lease_renewed_after_its_end) return false;
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

std::vector<Database::Claimed> Database::claim(std::int64_t worker, const runtime::QueueClaim& claim,
                                               std::int64_t session) {
  if (!now_.workers.contains(worker)) return {};
  WorkerRow& row = row_of(worker);
  if (!has_session(worker, session) && mutant_ != Mutant::claim_of_an_old_session) return {};
  if (row.lease_ended && mutant_ != Mutant::claim_of_an_ended_lease) return {};
  std::vector<std::pair<runtime::Place, TaskId>> ready;
  for (const auto& [id, task] : now_.tasks) {
    if (task.state != Task::State::pending || task.deferred) continue;
    if (task.queue != claim.queue) continue;
    if (is_locked(task) && mutant_ != Mutant::claim_of_locked_rows) continue;
    if (is_in(claim.ranges, task.place())) ready.emplace_back(task.place(), id);
  }
  std::sort(ready.begin(), ready.end());
  if (ready.size() > claim.how_many) ready.resize(claim.how_many);
  std::vector<Claimed> claimed;
  std::vector<TaskId> ids;
  for (const auto& [place, id] : ready) {
    Task& task = now_.tasks.at(id);
    if (is_locked(task)) throw Broken{"a claim changes no row that somebody has locked"};
    task.state = Task::State::running;
    ++task.attempt;
    task.worker = worker;
    claimed.push_back({id, task.attempt, task.retry_count, place});
    ids.push_back(id);
  }
  if (!ids.empty() && mutant_ != Mutant::claim_without_a_note) row.claims[++last_claim_] = ids;
  if (!ids.empty() && row.lease_ended) throw Broken{"nothing is claimed under a lease that was ended"};
  return claimed;
}

void Database::give_back(Task& task) {
  task.state = Task::State::pending;
  --task.attempt;
  task.worker = 0;
  place_in_front(task);
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
    give_back(task);
    ++unknown.released;
    if (task.cancel_requested) cancel(id);
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
    give_back(task);
    if (task.cancel_requested) cancel(attempt.id);
  }
  wake_others(worker, row_of(worker).queues);
  return left;
}

void Database::record(TaskId id, const Task& task, const std::string& outcome, std::int64_t worker) {
  if (!now_.attempts.emplace(std::pair{id, task.attempt}, AttemptRow{outcome, worker}).second) {
    throw Broken{"every attempt is one row"};
  }
}

std::set<TaskId> Database::complete(std::int64_t worker, std::span<const runtime::Report> reports) {
  std::set<TaskId> refused;
  for (const runtime::Report& report : reports) {
    const auto found = now_.tasks.find(report.id);
    if (found == now_.tasks.end()) {
      refused.insert(report.id);
      continue;
    }
    Task& task = found->second;
    const bool is_held =
        (task.state == Task::State::running && task.worker == worker) || mutant_ == Mutant::completion_without_a_fence;
    const bool is_attempt = task.attempt == report.attempt || mutant_ == Mutant::completion_of_any_attempt;
    const bool is_again = mutant_ == Mutant::completion_twice && now_.attempts.contains({report.id, report.attempt});
    const lifecycle::Status to = report.transition.status;
    const bool is_cancelled = task.cancel_requested && to != lifecycle::Status::succeeded &&
                              to != lifecycle::Status::cancelled && mutant_ != Mutant::completion_despite_a_cancel;
    if (!is_again && (!is_held || !is_attempt || is_locked(task) || is_cancelled)) {
      refused.insert(report.id);
      continue;
    }
    if (task.attempt != report.attempt) throw Broken{"a report counts for its own attempt alone"};
    record(report.id, task, std::string{lifecycle::to_text(report.transition.outcome)}, worker);
    if (task.state == Task::State::ended) throw Broken{"a task that has ended stays ended"};
    task.worker = 0;
    task.retry_count = report.transition.retry_count;
    if (!report.transition.next_run) {
      task.state = Task::State::ended;
      task.outcome = lifecycle::to_text(report.transition.outcome);
      continue;
    }
    if (task.cancel_requested) throw Broken{"a task whose cancellation was requested is not retried"};
    const auto left = runtime::until_next_run(report, scheduler_.now());
    task.state = Task::State::pending;
    task.deferred = left.count() > 0;
    task.due_at = now() + std::max(left, std::chrono::microseconds{0});
    if (report.transition.next_run->delay == milliseconds{0}) {
      place_in_front(task);
    } else if (!task.deferred) {
      task.position = ++last_position_;
    }
  }
  return refused;
}

runtime::Holder Database::who_holds(std::int64_t worker, const runtime::Attempt& attempt) const {
  runtime::Holder holder;
  holder.id = attempt.id;
  const auto found = now_.tasks.find(attempt.id);
  if (found == now_.tasks.end()) return holder;
  const Task& task = found->second;
  holder.is_mine = task.state == Task::State::running && task.worker == worker && task.attempt == attempt.number;
  holder.cancel_requested = task.cancel_requested;
  if (const auto row = now_.attempts.find({attempt.id, attempt.number}); row != now_.attempts.end()) {
    holder.outcome = row->second.outcome;
    holder.recorded_for = row->second.worker;
  }
  return holder;
}

std::size_t Database::promote(const Queues& queues) {
  std::size_t promoted = 0;
  for (const std::string& queue : queues) {
    std::size_t of_queue = 0;
    for (auto& [id, task] : now_.tasks) {
      if (of_queue == promoted_at_once_) break;
      if (task.queue != queue || !task.deferred || task.due_at > now() || is_locked(task)) continue;
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
    for (const auto& [id, task] : now_.tasks) {
      if (task.state != Task::State::pending || task.deferred || task.queue != claim.queue) continue;
      if (is_in(claim.ranges, task.place())) return true;
    }
  }
  return false;
}

std::optional<milliseconds> Database::due_in(const Queues& queues) const {
  std::optional<milliseconds> least;
  for (const auto& [id, task] : now_.tasks) {
    if (!task.deferred || !queues.contains(task.queue)) continue;
    const auto left = std::max(std::chrono::ceil<milliseconds>(task.due_at - now()), milliseconds{0});
    if (!least || left < *least) least = left;
  }
  return least;
}

void Database::fall_asleep(std::int64_t worker) {
  WorkerRow& row = row_of(worker);
  if (!row.lease_ended) row.asleep = true;
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
    for (const auto& [id, task] : now_.tasks) {
      if (task.state != Task::State::pending || task.deferred || task.queue != names.at(queue)) continue;
      if (task.place() > range.after && task.place() <= upto) upto = task.place() - 1;
    }
    settlement.settled.emplace_back(upto);
  }
  return settlement;
}

runtime::Outlook Database::upkeep_due(std::int64_t worker) const {
  runtime::Outlook outlook;
  std::size_t earlier = 0;
  for (const auto& [id, row] : now_.workers) {
    outlook.has_to_rescue = outlook.has_to_rescue || (row.lease_ended && !row.rescued);
    if (row.lease_ended || id == worker) continue;
    if (id < worker) ++earlier;
    const auto lapses_in = std::chrono::ceil<milliseconds>(row.lease_until - now());
    outlook.lapses_in = std::min(outlook.lapses_in.value_or(lapses_in), lapses_in);
  }
  outlook.comes_first = earlier < 2;
  return outlook;
}

void Database::end_lapsed_leases(std::int64_t worker) {
  const WorkerRow& me = row_of(worker);
  if (me.lease_ended || me.lease_until <= now()) return;
  for (auto& [id, row] : now_.workers) {
    if (row.lease_ended || row.lease_until >= now()) continue;
    end_lease(row);
    ++lapsed_leases_ended_;
  }
}

void Database::end_lease(WorkerRow& row) {
  row.lease_ended = true;
  row.asleep = false;
}

Database::Rescued Database::rescue(std::int64_t worker) {
  Rescued rescued;
  Queues queues;
  for (auto& [id, row] : now_.workers) {
    const bool is_ended =
        row.lease_ended || (mutant_ == Mutant::rescue_of_live_leases && id != worker && scheduler_.chance(2));
    if (is_ended && !row.rescued) rescue_from(id, row, rescued, queues);
  }
  if (rescued.tasks > 0) wake_others(0, queues);
  return rescued;
}

void Database::rescue_from(std::int64_t id, WorkerRow& row, Rescued& rescued, Queues& queues) {
  bool has_all = true;
  std::set<TaskId> claimed;
  for (const auto& [number, ids] : row.claims) claimed.insert(ids.begin(), ids.end());
  for (const TaskId task_id : claimed) {
    const auto found = now_.tasks.find(task_id);
    if (found == now_.tasks.end()) continue;
    Task& task = found->second;
    if (task.state != Task::State::running || task.worker != id) continue;
    if (is_locked(task)) {
      has_all = mutant_ == Mutant::rescue_forgets_claims;
      continue;
    }
    record(task_id, task, "lost", id);
    ++rescued.tasks;
    queues.insert(task.queue);
    task.worker = 0;
    if (task.cancel_requested) {
      task.state = Task::State::ended;
      task.outcome = "cancelled";
      continue;
    }
    task.state = Task::State::pending;
    place_in_front(task);
  }
  rescued.all = rescued.all && has_all;
  if (has_all) {
    row.rescued = true;
    row.claims.clear();
  }
}

}  // namespace dogged::sim
