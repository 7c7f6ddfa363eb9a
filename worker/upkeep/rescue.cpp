// See rescue.hpp.
#include "upkeep/rescue.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <dogged/error.hpp>

#include "client/log_event.hpp"
#include "db/connection.hpp"
#include "db/errors.hpp"
#include "lifecycle/lifecycle.hpp"
#include "report/completion.hpp"
#include "report/recorded.hpp"
#include "retry/counted.hpp"
#include "sql/report.hpp"
#include "sql/upkeep.hpp"
#include "tasks/core/claimed_task.hpp"

namespace dogged::runtime {
namespace {

/// Nothing tells when the handler of a lost attempt began. The database takes the time of the claim.
constexpr std::chrono::hours longer_than_any_claim{24 * 3650};

/// Of tasks that claims name: most of them may have ended long ago.
constexpr std::int64_t tasks_looked_for_at_once = 5000;

/// The policies of lost tasks, by their text. No policy decides after a loss: metrics name the policy.
class Policies {
 public:
  /// None for a task that no worker has declared, or as this version cannot read it. Stays where it is.
  const RetryPolicy& of(const std::optional<std::string>& json) {
    const auto [found, is_new] = by_json_.try_emplace(json.value_or(""), NoRetry{});
    if (!is_new || !json) return found->second;
    try {
      found->second = policy_from_json(*json);
    } catch (const InvalidPolicy&) {  // upkeep tells of it
    }
    return found->second;
  }

 private:
  std::map<std::string, RetryPolicy> by_json_;
};

Report lost_report(const sql::LostTasks::Row& lost, const RetryPolicy& policy, const std::string& message) {
  lifecycle::TaskState task;
  task.attempt = lost.attempt;
  task.retry_count = lost.retry_count;
  task.losses = lost.losses;
  task.cancel_requested = lost.cancel_requested;
  if (lost.expires_in_ms) task.expires_in = milliseconds{*lost.expires_in_ms};
  lifecycle::Rules rules;  // the defaults if no worker has declared the task
  rules.retry_lost = lost.retry_lost.value_or(rules.retry_lost);
  rules.max_losses = lost.max_losses.value_or(rules.max_losses);
  rules.dead_letter = lost.dead_letter.value_or(rules.dead_letter);
  Report report;
  report.id = lost.id;
  report.name = lost.name;
  report.queue = lost.queue;
  report.retry_policy = &policy;
  report.attempt = task.attempt;
  report.transition = lifecycle::after_attempt(task, rules, {lifecycle::Outcome::lost}, 0.0).value();
  report.finished_at = SteadyClock::now();
  report.started_at = report.finished_at - longer_than_any_claim;
  report.error_message = message;
  report.trace = TraceContext::from_text(lost.trace_context.value_or(""));
  return report;
}

/// Runs `what` in a transaction, as the only rescuer of the worker's tasks. Does nothing if another worker rescues
/// these tasks, or the rescue is done.
template <class What>
void as_only_rescuer(db::Connection& connection, std::int64_t worker_id, What&& what) {
  connection.transaction([&] {
    if (!connection.run(sql::LockRescue{.worker_id = worker_id}).empty()) what();
  });
}

/// Rescues up to a batch of the tasks that some claims of the worker took, and wakes workers for them. Gives how many.
std::size_t rescue_batch(db::Connection& connection, std::int64_t rescuer, std::int64_t worker_id,
                         const std::vector<std::int64_t>& claims, const std::string& message, const AttemptLog& log) {
  Policies policies;
  std::vector<Report> reports;
  std::set<TaskId> left;
  as_only_rescuer(connection, worker_id, [&] {
    for (const auto& lost : connection.run(sql::LostTasks{.worker_id = worker_id, .claim_ids = claims})) {
      reports.push_back(lost_report(lost, policies.of(lost.retry_policy), message));
    }
    if (reports.empty()) return;
    for (const auto& [id] : connection.run(completion_of(worker_id, reports, SteadyClock::now()))) left.insert(id);
    connection.run(sql::WakeForRescued{.lost_worker_id = worker_id, .worker_id = rescuer});
  });
  for (const Report& report : reports) {
    if (!left.contains(report.id)) note_recorded(report, log);
  }
  return reports.size() - left.size();
}

/// Rescues all tasks of one worker that no other session has locked. Adds their number to `rescued`, even if it throws.
void rescue_tasks_of(db::Connection& connection, std::int64_t rescuer, std::int64_t worker_id,
                     const std::string& message, const AttemptLog& log, std::size_t& rescued) {
  std::vector<std::int64_t> claims;
  std::int64_t tasks = 0;
  const auto rescue_claims = [&] {
    if (claims.empty()) return;
    while (const std::size_t batch = rescue_batch(connection, rescuer, worker_id, claims, message, log)) {
      rescued += batch;
    }
    claims.clear();
    tasks = 0;
  };
  for (const sql::ClaimsOf::Row& claim : connection.run(sql::ClaimsOf{.worker_id = worker_id})) {
    claims.push_back(claim.id);
    tasks += claim.tasks;
    if (tasks >= tasks_looked_for_at_once) rescue_claims();
  }
  rescue_claims();
  as_only_rescuer(connection, worker_id, [&] { connection.run(sql::MarkRescued{.worker_id = worker_id}); });
}

}  // namespace

std::size_t end_lapsed_leases(db::Connection& connection, std::int64_t rescuer, spdlog::logger& log) {
  const std::vector<sql::EndLeases::Row> ended = connection.run(sql::EndLeases{.worker_id = rescuer});
  for (const sql::EndLeases::Row& worker : ended) {
    if (worker.stopped) continue;  // it had signed off, and its lease was left to lapse
    log.log(event("lease_ended"), spdlog::level::warn,
            "worker {} ({}, pid {} on {}) has not renewed its lease for {} ms: its tasks are rescued", worker.id,
            worker.name, worker.pid, worker.host, worker.silent_for_ms);
  }
  return ended.size();
}

Rescued rescue_lost_tasks(db::Connection& connection, std::int64_t rescuer, const AttemptLog& log) {
  Rescued rescued;
  for (const auto& [worker_id, name] : connection.run(sql::WorkersToRescue{})) {
    const std::string message = "worker " + std::to_string(worker_id) + " (" + name + ") did not renew its lease";
    std::size_t tasks = 0;
    try {
      rescue_tasks_of(connection, rescuer, worker_id, message, log, tasks);
    } catch (const ConnectionError&) {
      throw;
    } catch (const Error& error) {  // the tasks of other workers do not wait for it
      if (db::is_defect(error)) throw;
      rescued.refusals.push_back({worker_id, name, error.message()});
    }
    if (tasks == 0) continue;
    log.log->log(event("tasks_rescued"), spdlog::level::warn, "rescued {} of worker {} ({})", counted(tasks, "task"),
                 worker_id, name);
    rescued.tasks += tasks;
  }
  rescued.all = connection.run(sql::WorkersToRescue{}).empty();
  return rescued;
}

}  // namespace dogged::runtime
