// See rescue.hpp.
#include "upkeep/rescue.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <dogged/error.hpp>

#include "base/invariant.hpp"
#include "client/log_event.hpp"
#include "db/connection.hpp"
#include "db/errors.hpp"
#include "report/completion.hpp"
#include "report/recorded.hpp"
#include "sql/report.hpp"
#include "sql/upkeep.hpp"
#include "tasks/core/claimed_task.hpp"
#include "text/counted.hpp"
#include "upkeep/core/lost_report.hpp"
#include "upkeep/core/rescue_tasks.hpp"

namespace dogged::runtime {
namespace {

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

LostAttempt lost_attempt(sql::LostTasks::Row row) {
  LostAttempt lost{.id = row.id,
                   .name = std::move(row.name),
                   .queue = std::move(row.queue),
                   .attempt = row.attempt,
                   .retry_count = row.retry_count,
                   .losses = row.losses,
                   .cancel_requested = row.cancel_requested,
                   .trace = TraceContext::from_text(row.trace_context.value_or(""))};
  if (row.expires_in_ms) lost.expires_in = milliseconds{*row.expires_in_ms};
  if (row.retry_lost && row.max_losses && row.dead_letter) {
    lost.declared = {.retry_lost = *row.retry_lost, .max_losses = *row.max_losses, .dead_letter = *row.dead_letter};
  }
  return lost;
}

/// Carries out what RescueTasks decides.
class Rescue {
 public:
  Rescue(db::Connection& connection, std::int64_t rescuer, const AttemptLog& log)
      : connection_(connection), rescuer_(rescuer), log_(log) {}

  Rescued run() {
    for (;;) {
      const RescueTasks::Action action = plan_.next();
      if (action.step == RescueTasks::Step::done) break;
      if (action.worker == 0) {
        list_workers();
      } else {
        try_to(action);
        if (plan_.next().worker != action.worker) tell_of(action.worker);
      }
    }
    rescued_.all = plan_.has_rescued_all();
    return std::move(rescued_);
  }

 private:
  void list_workers() {
    std::vector<std::int64_t> workers;
    for (auto& [id, name] : connection_.run(sql::WorkersToRescue{})) {
      workers.push_back(id);
      names_[id] = std::move(name);
    }
    plan_.on_workers(workers);
  }

  void try_to(const RescueTasks::Action& action) {
    try {
      carry_out(action);
    } catch (const Error& error) {
      if (!db::is_refusal(error)) throw;
      rescued_.refusals.push_back({action.worker, names_[action.worker], error.message()});
      plan_.on_refused();
    }
  }

  void carry_out(const RescueTasks::Action& action) {
    switch (action.step) {
      case RescueTasks::Step::list_claims:
        return list_claims(action.worker);
      case RescueTasks::Step::rescue_batch:
        return rescue_batch(action.worker, action.claims);
      case RescueTasks::Step::mark_rescued:
        return mark_rescued(action.worker);
      case RescueTasks::Step::list_workers:
      case RescueTasks::Step::list_left:
      case RescueTasks::Step::done:
        return;  // of no worker
    }
  }

  void list_claims(std::int64_t worker) {
    std::vector<RescueTasks::Claim> claims;
    for (const auto& [id, tasks] : connection_.run(sql::ClaimsOf{.worker_id = worker})) claims.push_back({id, tasks});
    plan_.on_claims(claims);
  }

  /// Wakes workers for the rescued tasks.
  void rescue_batch(std::int64_t worker, const std::vector<std::int64_t>& claims) {
    const std::string message =
        "worker " + std::to_string(worker) + " (" + names_[worker] + ") did not renew its lease";
    Policies policies;  // metrics name the policies of the reports
    std::vector<Report> reports;
    std::set<TaskId> left;
    const bool is_only_rescuer = as_only_rescuer(worker, [&] {
      for (auto& row : connection_.run(sql::LostTasks{.worker_id = worker, .claim_ids = claims})) {
        const RetryPolicy& policy = policies.of(row.retry_policy);
        reports.push_back(lost_report(lost_attempt(std::move(row)), message, SteadyClock::now()));
        reports.back().retry_policy = &policy;
      }
      if (reports.empty()) return;
      for (const auto& [id] : connection_.run(completion_of(worker, reports, SteadyClock::now()))) left.insert(id);
      connection_.run(sql::WakeForRescued{.lost_worker_id = worker, .worker_id = rescuer_});
    });
    if (!is_only_rescuer) return plan_.on_locked();
    for (const Report& report : reports) {
      if (!left.contains(report.id)) note_recorded(report, log_);
    }
    require_invariant(left.size() <= reports.size(), "a completion leaves only reports that it was given");
    const std::size_t tasks = reports.size() - left.size();
    rescued_of_worker_ += tasks;
    plan_.on_batch(tasks);
  }

  void mark_rescued(std::int64_t worker) {
    const bool is_only_rescuer =
        as_only_rescuer(worker, [&] { connection_.run(sql::MarkRescued{.worker_id = worker}); });
    is_only_rescuer ? plan_.on_marked() : plan_.on_locked();
  }

  /// Runs `what` in a transaction, as the only rescuer of the worker's tasks. False: another worker rescues these
  /// tasks, or the rescue is done.
  template <class What>
  bool as_only_rescuer(std::int64_t worker, What what) {
    bool is_only_rescuer = false;
    connection_.transaction([&] {
      is_only_rescuer = !connection_.run(sql::LockRescue{.worker_id = worker}).empty();
      if (is_only_rescuer) what();
    });
    return is_only_rescuer;
  }

  void tell_of(std::int64_t worker) {
    const std::size_t tasks = std::exchange(rescued_of_worker_, 0);
    if (tasks == 0) return;
    log_.log->log(event("tasks_rescued"), spdlog::level::warn, "rescued {} of worker {} ({})", counted(tasks, "task"),
                  worker, names_[worker]);
    rescued_.tasks += tasks;
  }

  db::Connection& connection_;
  const std::int64_t rescuer_;
  const AttemptLog& log_;
  RescueTasks plan_{tasks_looked_for_at_once};
  std::map<std::int64_t, std::string> names_ = {};
  std::size_t rescued_of_worker_ = 0;  // of the worker that has its turn
  Rescued rescued_ = {};
};

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
  return Rescue{connection, rescuer, log}.run();
}

}  // namespace dogged::runtime
