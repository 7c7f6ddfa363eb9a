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
  transaction.id = next_transaction_++;
  open_.insert(transaction.id);
  return transaction;
}

void Database::enqueue(Transaction& transaction, int how_many, milliseconds delay) {
  transaction.delay = delay;
  for (int i = 0; i < how_many; ++i) transaction.ids.push_back(++last_position_);
  for (const auto& [id, worker] : workers_) {
    if (worker.asleep) transaction.sleepers.insert(id);
  }
}

void Database::commit(const Transaction& transaction) {
  open_.erase(transaction.id);
  for (const TaskId id : transaction.ids) {
    Task& task = tasks_[id];
    task.position = id;
    task.deferred = transaction.delay > milliseconds{0};
    task.due_at = now() + transaction.delay;
  }
  if (mutant_ == Mutant::no_notification) return;
  for (const std::int64_t worker : transaction.sleepers) notify(worker);
}

void Database::roll_back(const Transaction& transaction) { open_.erase(transaction.id); }

void Database::cancel(TaskId id) {
  const auto found = tasks_.find(id);
  if (found == tasks_.end() || is_locked(found->second)) return;
  Task& task = found->second;
  if (task.state == Task::State::running) task.cancel_requested = true;
  if (task.state != Task::State::pending) return;
  task.state = Task::State::ended;
  task.deferred = false;
  task.outcome = "cancelled";
}

std::int64_t Database::register_worker(milliseconds lease, std::optional<std::int64_t> previous) {
  if (previous) end_lease(workers_.at(*previous));
  workers_[++last_worker_].lease_until = now() + lease;
  return last_worker_;
}

bool Database::heartbeat(std::int64_t worker, milliseconds lease) {
  WorkerRow& row = workers_.at(worker);
  if (row.lease_ended && mutant_ != Mutant::lease_renewed_after_its_end) return false;
  row.lease_until = now() + lease;
  row.lease_ended = false;
  return true;
}

void Database::begin_claim_session(std::int64_t worker, std::int64_t session) {
  WorkerRow& row = workers_.at(worker);
  row.claim_session = std::max(row.claim_session, session);
}

bool Database::has_session(std::int64_t worker, std::int64_t session) const {
  return workers_.at(worker).claim_session == session;
}

std::vector<Database::Claimed> Database::claim(std::int64_t worker, const runtime::QueueClaim& claim,
                                               std::int64_t session) {
  WorkerRow& row = workers_.at(worker);
  if (!has_session(worker, session) && mutant_ != Mutant::claim_of_an_old_session) return {};
  if (row.lease_ended && mutant_ != Mutant::claim_of_an_ended_lease) return {};
  std::vector<std::pair<runtime::Place, TaskId>> ready;
  for (const auto& [id, task] : tasks_) {
    if (task.state != Task::State::pending || task.deferred) continue;
    if (is_locked(task) && mutant_ != Mutant::claim_of_locked_rows) continue;
    if (is_in(claim.ranges, task.position)) ready.emplace_back(task.position, id);
  }
  std::sort(ready.begin(), ready.end());
  if (ready.size() > claim.how_many) ready.resize(claim.how_many);
  std::vector<Claimed> claimed;
  std::vector<TaskId> ids;
  for (const auto& [place, id] : ready) {
    Task& task = tasks_.at(id);
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
  for (const auto& [number, ids] : workers_.at(worker).claims) claimed.insert(ids.begin(), ids.end());
  for (const TaskId id : claimed) {
    Task& task = tasks_.at(id);
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
    Task& task = tasks_.at(attempt.id);
    const bool is_held = task.state == Task::State::running && task.worker == worker && task.attempt == attempt.number;
    if (!counts || !is_held || is_locked(task)) {
      left.push_back(attempt);
      continue;
    }
    give_back(task);
    if (task.cancel_requested) cancel(attempt.id);
  }
  wake_others(worker);
  return left;
}

void Database::record(TaskId id, const Task& task, const std::string& outcome, std::int64_t worker) {
  if (!attempts_.emplace(std::pair{id, task.attempt}, AttemptRow{outcome, worker}).second) {
    throw Broken{"every attempt is one row"};
  }
}

std::set<TaskId> Database::complete(std::int64_t worker, std::span<const runtime::Report> reports) {
  std::set<TaskId> refused;
  for (const runtime::Report& report : reports) {
    Task& task = tasks_.at(report.id);
    const bool is_held =
        (task.state == Task::State::running && task.worker == worker) || mutant_ == Mutant::completion_without_a_fence;
    const bool is_attempt = task.attempt == report.attempt || mutant_ == Mutant::completion_of_any_attempt;
    const bool is_again = mutant_ == Mutant::completion_twice && attempts_.contains({report.id, report.attempt});
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
  const Task& task = tasks_.at(attempt.id);
  runtime::Holder holder;
  holder.id = attempt.id;
  holder.is_mine = task.state == Task::State::running && task.worker == worker && task.attempt == attempt.number;
  holder.cancel_requested = task.cancel_requested;
  if (const auto row = attempts_.find({attempt.id, attempt.number}); row != attempts_.end()) {
    holder.outcome = row->second.outcome;
    holder.recorded_for = row->second.worker;
  }
  return holder;
}

std::size_t Database::promote() {
  std::size_t promoted = 0;
  for (auto& [id, task] : tasks_) {
    if (promoted == promoted_at_once_) break;
    if (!task.deferred || task.due_at > now() || is_locked(task)) continue;
    task.deferred = false;
    if (mutant_ != Mutant::promotion_at_an_old_place) task.position = ++last_position_;
    ++promoted;
  }
  return promoted;
}

bool Database::has_ready(const std::vector<runtime::QueueClaim>& in) const {
  for (const runtime::QueueClaim& claim : in) {
    for (const auto& [id, task] : tasks_) {
      if (task.state != Task::State::pending || task.deferred) continue;
      if (is_in(claim.ranges, task.position)) return true;
    }
  }
  return false;
}

std::optional<milliseconds> Database::due_in() const {
  std::optional<milliseconds> least;
  for (const auto& [id, task] : tasks_) {
    if (!task.deferred) continue;
    const auto left = std::max(std::chrono::ceil<milliseconds>(task.due_at - now()), milliseconds{0});
    if (!least || left < *least) least = left;
  }
  return least;
}

void Database::fall_asleep(std::int64_t worker) {
  WorkerRow& row = workers_.at(worker);
  if (!row.lease_ended) row.asleep = true;
}

std::int64_t Database::oldest_transaction() const { return open_.empty() ? next_transaction_ : *open_.begin(); }

void Database::notify(std::int64_t worker) {
  if (workers_.at(worker).listens) on_notify(worker);
}

void Database::wake_others(std::int64_t worker) {
  for (const auto& [id, row] : workers_) {
    if (id != worker && row.asleep) notify(id);
  }
}

std::int64_t Database::sum_up_claims(std::int64_t worker, const std::vector<TaskId>& held, std::int64_t last,
                                     std::int64_t session) {
  WorkerRow& row = workers_.at(worker);
  if (!has_session(worker, session) || row.lease_ended) return 0;
  row.claims.erase(row.claims.lower_bound(last), row.claims.end());
  row.claims[++last_claim_] = held;
  return last_claim_;
}

Database::Settlement Database::settle_watermarks(const std::vector<runtime::ServedQueues::Part>& parts,
                                                 std::int64_t next_transaction) {
  Settlement settlement;
  settlement.answer = {oldest_transaction(), next_transaction_++, last_position_};
  for (const auto& [queue, range] : parts) {
    if (settlement.answer.oldest < next_transaction) {
      settlement.settled.emplace_back(std::nullopt);
      continue;
    }
    runtime::Place upto = range.upto;
    for (const auto& [id, task] : tasks_) {
      if (task.state != Task::State::pending || task.deferred) continue;
      if (task.position > range.after && task.position <= upto) upto = task.position - 1;
    }
    settlement.settled.emplace_back(upto);
  }
  return settlement;
}

runtime::Outlook Database::upkeep_due(std::int64_t worker) const {
  runtime::Outlook outlook;
  std::size_t earlier = 0;
  for (const auto& [id, row] : workers_) {
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
  const WorkerRow& me = workers_.at(worker);
  if (me.lease_ended || me.lease_until <= now()) return;
  for (auto& [id, row] : workers_) {
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
  for (auto& [id, row] : workers_) {
    const bool is_ended =
        row.lease_ended || (mutant_ == Mutant::rescue_of_live_leases && id != worker && scheduler_.chance(2));
    if (is_ended && !row.rescued) rescue_from(id, row, rescued);
  }
  if (rescued.tasks > 0) wake_others(0);
  return rescued;
}

void Database::rescue_from(std::int64_t id, WorkerRow& row, Rescued& rescued) {
  bool has_all = true;
  std::set<TaskId> claimed;
  for (const auto& [number, ids] : row.claims) claimed.insert(ids.begin(), ids.end());
  for (const TaskId task_id : claimed) {
    Task& task = tasks_.at(task_id);
    if (task.state != Task::State::running || task.worker != id) continue;
    if (is_locked(task)) {
      has_all = mutant_ == Mutant::rescue_forgets_claims;
      continue;
    }
    record(task_id, task, "lost", id);
    ++rescued.tasks;
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
