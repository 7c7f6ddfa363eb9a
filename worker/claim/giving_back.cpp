// See giving_back.hpp.
#include "claim/giving_back.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "claim/core/release_verdict.hpp"
#include "client/log_event.hpp"
#include "lease/who_holds.hpp"
#include "sql/claim.hpp"
#include "tasks/attempt_logger.hpp"
#include "text/counted.hpp"
#include "text/event_line.hpp"

namespace dogged::runtime {
namespace {

/// Attempts as two arrays, in the order of ids. Every statement that locks several rows locks them in that order.
struct AttemptArrays {
  std::vector<TaskId> ids;
  std::vector<int> numbers;

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

GivingBack::GivingBack(Session& session, ClaimPlan& plan, std::int64_t worker_id, Circuits& circuits,
                       std::shared_ptr<Tally> tally, std::shared_ptr<spdlog::logger> log,
                       std::vector<std::string> queue_names)
    : session_(session),
      plan_(plan),
      worker_id_(worker_id),
      circuits_(circuits),
      tally_(std::move(tally)),
      log_(std::move(log)),
      queue_names_(std::move(queue_names)) {}

/// A task whose cancellation was requested after the claim is pending again, so it can be cancelled at once.
template <class Released>
void GivingBack::cancel_released(const std::vector<Released>& released) {
  std::vector<TaskId> ids;
  for (const Released& task : released) {
    if (task.cancel_requested) ids.push_back(task.id);
  }
  if (!ids.empty()) session_.connection().run(sql::CancelTasks{.ids = std::move(ids)});
}

GivingBack::Attempts GivingBack::send_release(const std::vector<ClaimedTask>& tasks) {
  Attempts left = attempts_of(tasks);
  const AttemptArrays arrays{left};
  session_.connection().transaction([&] {
    const auto released = session_.connection().run(sql::Release{.worker_id = worker_id_,
                                                                 .claim_session = plan_.certainty().session(),
                                                                 .ids = arrays.ids,
                                                                 .attempts = arrays.numbers});
    cancel_released(released);
    for (const sql::Release::Row& task : released) left.erase(task.id);
    session_.connection().run(sql::WakeOthers{.worker_id = worker_id_, .queues = queue_names_});
  });
  return left;
}

void GivingBack::note_released(const std::vector<ClaimedTask>& tasks, const Attempts& not_released) {
  for (const ClaimedTask& task : tasks) circuits_.note_not_begun(task);
  if (!not_released.empty()) explain_not_released(not_released);
}

void GivingBack::release_unknown(const std::vector<Attempt>& known) {
  sql::ReleaseUnknown release{
      .worker_id = worker_id_, .claim_session = plan_.certainty().session(), .known_ids = {}, .known_attempts = {}};
  for (const Attempt& attempt : known) {
    release.known_ids.push_back(attempt.id);
    release.known_attempts.push_back(attempt.number);
  }
  std::size_t released = 0;
  std::vector<TaskId> locked;
  session_.connection().transaction([&] {
    const auto unknown = session_.connection().run(release);
    for (const sql::ReleaseUnknown::Row& task : unknown) {
      if (task.released) {
        ++released;
      } else {
        locked.push_back(task.id);
      }
    }
    cancel_released(unknown);
  });
  if (released > 0)
    log_->log(event("claims_given_back"), spdlog::level::warn, "gives back {} whose claim was in doubt",
              counted(released, "task"));
  plan_.on_given_back(released, std::move(locked), SteadyClock::now());
}

void GivingBack::expire(std::vector<ClaimedTask> tasks) {
  if (tasks.empty()) return;
  const AttemptArrays arrays{attempts_of(tasks)};
  std::map<TaskId, ClaimedTask*> left;
  for (ClaimedTask& task : tasks) left[task.id] = &task;
  for (const auto& [id, name, queue, status] : session_.connection().run(sql::ExpireClaimed{.worker_id = worker_id_,
                                               .claim_session = plan_.certainty().session(),
                                               .ids = arrays.ids,
                                               .attempts = arrays.numbers})) {
    LogfmtLine line = event_line(status).with("task", id).with("name", name).with("queue", queue);
    if (const auto trace = TraceContext::from_text(left.at(id)->trace_context))
      line.with("trace", trace->trace_id_text());
    log_->info(line.text());
    circuits_.note_not_begun(*left.at(id));
    left.erase(id);
  }
  std::vector<ClaimedTask> not_over;
  for (const auto& [id, task] : left) not_over.push_back(std::move(*task));
  if (not_over.empty()) return;
  release(not_over);
  plan_.look_everywhere(SteadyClock::now());
}

void GivingBack::defer(std::vector<Deferral> tasks) {
  std::sort(tasks.begin(), tasks.end(), [](const auto& a, const auto& b) { return a.task.id < b.task.id; });
  sql::Defer statement{
      .worker_id = worker_id_, .claim_session = plan_.certainty().session(), .ids = {}, .attempts = {}, .waits_ms = {}};
  Attempts not_deferred;
  for (const auto& [task, wait] : tasks) {
    statement.ids.push_back(task.id);
    statement.attempts.push_back(task.attempt);
    statement.waits_ms.push_back(wait.count());
    not_deferred[task.id] = task.attempt;
    plan_.on_deferred(wait, SteadyClock::now());
  }
  session_.connection().transaction([&] {
    const auto deferred = session_.connection().run(statement);
    cancel_released(deferred);
    for (const sql::Defer::Row& task : deferred) not_deferred.erase(task.id);
  });
  if (!not_deferred.empty()) explain_not_released(not_deferred);
}

void GivingBack::explain_not_released(const Attempts& attempts) {
  std::vector<Attempt> not_released;
  for (const auto& [id, number] : attempts) not_released.push_back({id, number});
  const std::vector<Holder> holders = read_holders(session_.connection(), worker_id_, not_released);
  for (std::size_t i = 0; i < holders.size(); ++i) {
    const auto [id, number] = not_released[i];
    switch (release_verdict(holders[i], number)) {
      case ReleaseVerdict::locked:
        plan_.on_locked(id, SteadyClock::now());
        break;
      case ReleaseVerdict::given_back:
        break;
      case ReleaseVerdict::fenced: {
        ++tally_->fenced;
        const auto log = attempt_logger(*log_, not_released[i]);
        log->log(event("release_fenced"), spdlog::level::warn,
                 "worker {} does not hold it any more, and giving it back changed nothing: {}", worker_id_,
                 whose_it_is(holders[i]));
        break;
      }
    }
  }
}

}  // namespace dogged::runtime
