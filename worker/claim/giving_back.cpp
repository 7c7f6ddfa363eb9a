// See giving_back.hpp.
#include "claim/giving_back.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "report/who_holds.hpp"
#include "retry/counted.hpp"
#include "sql/claim.hpp"

namespace dogged::runtime {
namespace {

/// Attempts as two arrays, in the order of ids. Every statement that locks several rows locks them in that order.
struct AttemptArrays {
  std::vector<std::int64_t> ids, numbers;

  explicit AttemptArrays(const GivingBack::Attempts& attempts) {
    for (const auto& [id, number] : attempts) {
      ids.push_back(id);
      numbers.push_back(number);
    }
  }
};

GivingBack::Attempts attempts_of(const std::vector<ClaimedTask>& tasks) {
  GivingBack::Attempts attempts;
  for (const ClaimedTask& task : tasks) attempts[task.id] = task.attempt;
  return attempts;
}

}  // namespace

GivingBack::GivingBack(Session& session, ClaimPlan& plan, const Lease& lease, Circuits& circuits,
                       std::shared_ptr<Tally> tally, std::shared_ptr<spdlog::logger> log,
                       std::vector<std::string> queue_names)
    : session_(session),
      plan_(plan),
      lease_(lease),
      circuits_(circuits),
      tally_(std::move(tally)),
      log_(std::move(log)),
      queue_names_(std::move(queue_names)) {}

GivingBack::Attempts GivingBack::give_up(const std::vector<ClaimedTask>& tasks) {
  Attempts left = attempts_of(tasks);
  const AttemptArrays arrays{left};
  session_.connection().transaction([&] {
    const db::Rows released = session_.connection().run(
        sql::release,
        db::Params{}.add(lease_.id()).add(arrays.ids).add(arrays.numbers).add(plan_.certainty().session()));
    cancel_released(released);
    for (const db::Row& row : released) left.erase(row.number("id"));
    session_.connection().run(sql::wake_others, db::Params{}.add(lease_.id()).add(queue_names_));
  });
  return left;
}

void GivingBack::note_released(const std::vector<ClaimedTask>& tasks, const Attempts& not_released) {
  for (const ClaimedTask& task : tasks) circuits_.note_not_begun(task);
  if (!not_released.empty()) explain_not_released(not_released);
  (void)circuits_.tell(session_.connection());
}

void GivingBack::release_unknown(const std::vector<Attempt>& known) {
  std::vector<std::int64_t> ids, attempts;
  for (const Attempt& attempt : known) {
    ids.push_back(attempt.id);
    attempts.push_back(attempt.number);
  }
  std::size_t released = 0;
  std::vector<TaskId> locked;
  session_.connection().transaction([&] {
    const db::Rows unknown = session_.connection().run(
        sql::release_unknown, db::Params{}.add(lease_.id()).add(ids).add(attempts).add(plan_.certainty().session()));
    for (const db::Row& row : unknown) {
      if (row.boolean("released")) {
        ++released;
      } else {
        locked.push_back(row.number("id"));
      }
    }
    cancel_released(unknown);
  });
  if (released > 0) log_->warn("gives back {} whose claim was in doubt", counted(released, "task"));
  plan_.on_given_back(released, std::move(locked), SteadyClock::now());
}

void GivingBack::expire(const std::vector<ClaimedTask>& tasks) {
  if (tasks.empty()) return;
  const AttemptArrays arrays{attempts_of(tasks)};
  std::map<TaskId, const ClaimedTask*> left;
  for (const ClaimedTask& task : tasks) left[task.id] = &task;
  const db::Rows ended = session_.connection().run(
      sql::expire_claimed,
      db::Params{}.add(lease_.id()).add(arrays.ids).add(arrays.numbers).add(plan_.certainty().session()));
  for (const db::Row& row : ended) {
    log_->info("event={} task={} name={} queue={}", row.text("status"), row.number("id"), row.text("name"),
               row.text("queue"));
    circuits_.note_not_begun(*left.at(row.number("id")));
    left.erase(row.number("id"));
  }
  (void)circuits_.tell(session_.connection());
  std::vector<ClaimedTask> not_over;
  for (const auto& [id, task] : left) not_over.push_back(*task);
  if (not_over.empty()) return;
  release(not_over);
  plan_.look_everywhere(SteadyClock::now());
}

void GivingBack::put_off(std::vector<Circuits::PutOff> tasks) {
  std::sort(tasks.begin(), tasks.end(), [](const auto& a, const auto& b) { return a.task.id < b.task.id; });
  std::vector<std::int64_t> ids, attempts, waits_ms;
  Attempts not_put_off;
  for (const auto& [task, wait] : tasks) {
    ids.push_back(task.id);
    attempts.push_back(task.attempt);
    waits_ms.push_back(wait.count());
    not_put_off[task.id] = task.attempt;
    plan_.on_put_off(wait, SteadyClock::now());
  }
  session_.connection().transaction([&] {
    const db::Rows rows = session_.connection().run(
        sql::put_off,
        db::Params{}.add(lease_.id()).add(ids).add(attempts).add(plan_.certainty().session()).add(waits_ms));
    cancel_released(rows);
    for (const db::Row& row : rows) not_put_off.erase(row.number("id"));
  });
  if (!not_put_off.empty()) explain_not_released(not_put_off);
}

/// Either another session has locked the task's row, and the claimer tries again later. Or the worker does not hold the
/// task any more.
void GivingBack::explain_not_released(const Attempts& attempts) {
  const AttemptArrays arrays{attempts};
  const db::Params params = db::Params{}.add(lease_.id()).add(arrays.ids).add(arrays.numbers);
  for (const db::Row& row : session_.connection().run(sql::who_holds, params)) {
    if (row.boolean("is_mine")) {
      plan_.on_locked(row.number("id"), SteadyClock::now());
      continue;
    }
    // An earlier try released the task, and its answer was lost.
    const bool is_given_back =
        row.maybe_text("status") == "pending" && row.number("task_attempt") == row.number("attempt") - 1;
    if (is_given_back) continue;
    ++tally_->fenced;
    log_->warn("task {} attempt {}: worker {} does not hold it any more, and giving it back changed nothing: {}",
               row.number("id"), row.number("attempt"), lease_.id(), whose_it_is(row));
  }
}

/// A task whose cancellation was requested after the claim is pending again, so it can be cancelled at once.
void GivingBack::cancel_released(const db::Rows& released) {
  std::vector<TaskId> ids;
  for (const db::Row& row : released) {
    if (row.boolean("cancel_requested")) ids.push_back(row.number("id"));
  }
  if (!ids.empty()) session_.connection().run(sql::cancel_tasks, db::Params{}.add(ids));
}

}  // namespace dogged::runtime
