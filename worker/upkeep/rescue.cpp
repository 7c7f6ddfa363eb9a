// See rescue.hpp.
#include "upkeep/rescue.hpp"

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "lifecycle/lifecycle.hpp"
#include "report/completion.hpp"
#include "report/recorded.hpp"
#include "retry/counted.hpp"
#include "runtime/claimed_task.hpp"
#include "sql/report.hpp"
#include "sql/upkeep.hpp"

namespace dogged::runtime {
namespace {

/// Nothing tells when the handler of a lost attempt began. The database takes the time of the claim.
constexpr std::chrono::hours longer_than_any_claim{24 * 3650};

/// Of tasks that claims name: most of them may have ended long ago.
constexpr std::int64_t tasks_looked_for_at_once = 5000;

const RetryPolicy no_policy = NoRetry{};  // decides after a loss

Report lost_report(const db::Row& row, const std::string& message) {
  lifecycle::TaskState task;
  task.attempt = static_cast<int>(row.number("attempt"));
  task.retry_count = static_cast<int>(row.number("retry_count"));
  task.losses = static_cast<int>(row.number("losses"));
  task.cancel_requested = row.boolean("cancel_requested");
  if (const auto ms = row.maybe_number("expires_in_ms")) task.expires_in = milliseconds{*ms};
  lifecycle::Rules rules;  // the defaults if no worker has declared the task
  if (!row.is_null("retry_lost")) {
    rules.retry_lost = row.boolean("retry_lost");
    rules.max_losses = static_cast<int>(row.number("max_losses"));
    rules.dead_letter = row.boolean("dead_letter");
  }
  Report report;
  report.id = row.number("id");
  report.name = row.text("name");
  report.queue = row.text("queue");
  report.retry_policy = &no_policy;
  report.attempt = task.attempt;
  report.transition = lifecycle::after_attempt(task, rules, {lifecycle::Outcome::lost}, 0.0).value();
  report.finished_at = SteadyClock::now();
  report.started_at = report.finished_at - longer_than_any_claim;
  report.error_message = message;
  return report;
}

/// Runs `what` in a transaction, as the only rescuer of the worker's tasks. Does nothing if another rescuer is at it,
/// or the rescue is done.
template <class What>
void as_only_rescuer(db::Connection& connection, std::int64_t worker_id, What&& what) {
  connection.transaction([&] {
    if (!connection.run(sql::lock_rescue, db::Params{}.add(worker_id)).empty()) what();
  });
}

/// Rescues up to a batch of the tasks that some claims of the worker took, and wakes workers for them. Gives how many.
std::size_t rescue_batch(db::Connection& connection, std::int64_t rescuer, std::int64_t worker_id,
                         const std::vector<std::int64_t>& claims, const std::string& message, spdlog::logger& log) {
  std::vector<Report> reports;
  std::set<TaskId> left;
  as_only_rescuer(connection, worker_id, [&] {
    for (const db::Row& row : connection.run(sql::lost_tasks, db::Params{}.add(worker_id).add(claims))) {
      reports.push_back(lost_report(row, message));
    }
    if (reports.empty()) return;
    for (const db::Row& row :
         connection.run(sql::complete, completion_params(worker_id, reports, SteadyClock::now()))) {
      left.insert(row.number("id"));
    }
    connection.run(sql::wake_for_rescued, db::Params{}.add(rescuer).add(worker_id));
  });
  for (const Report& report : reports) {
    if (!left.contains(report.id)) note_recorded(report, log);
  }
  return reports.size() - left.size();
}

/// Rescues all tasks of one worker that no other session has locked. Adds their number to `rescued`, even if it throws.
void rescue_tasks_of(db::Connection& connection, std::int64_t rescuer, std::int64_t worker_id,
                     const std::string& message, spdlog::logger& log, std::size_t& rescued) {
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
  for (const db::Row& claim : connection.run(sql::claims_of, db::Params{}.add(worker_id))) {
    claims.push_back(claim.number("id"));
    tasks += claim.number("tasks");
    if (tasks >= tasks_looked_for_at_once) rescue_claims();
  }
  rescue_claims();
  as_only_rescuer(connection, worker_id, [&] { connection.run(sql::mark_rescued, db::Params{}.add(worker_id)); });
}

}  // namespace

std::size_t end_lapsed_leases(db::Connection& connection, std::int64_t rescuer, spdlog::logger& log) {
  const db::Rows ended = connection.run(sql::end_leases, db::Params{}.add(rescuer));
  for (const db::Row& row : ended) {
    if (row.boolean("stopped")) continue;  // it had signed off, and its lease was left to lapse
    log.warn("worker {} ({}, pid {} on {}) has not renewed its lease for {} ms: its tasks are rescued",
             row.number("id"), row.text("name"), row.number("pid"), row.text("host"), row.number("silent_for_ms"));
  }
  return ended.size();
}

Rescued rescue_lost_tasks(db::Connection& connection, std::int64_t rescuer, spdlog::logger& log) {
  Rescued rescued;
  for (const db::Row& row : connection.run(sql::workers_to_rescue)) {
    const std::int64_t worker_id = row.number("id");
    const std::string name{row.text("name")};
    const std::string message = "worker " + std::to_string(worker_id) + " (" + name + ") did not renew its lease";
    std::size_t tasks = 0;
    try {
      rescue_tasks_of(connection, rescuer, worker_id, message, log, tasks);
    } catch (const ConnectionError&) {
      throw;
    } catch (const Error& error) {  // the tasks of other workers do not wait for it
      log.error("rescue of the tasks of worker {} ({}): {}; it is tried again", worker_id, name, error.message());
    }
    if (tasks == 0) continue;
    log.warn("rescued {} of worker {} ({})", counted(tasks, "task"), worker_id, name);
    rescued.tasks += tasks;
  }
  rescued.all = connection.run(sql::workers_to_rescue).empty();
  return rescued;
}

}  // namespace dogged::runtime
