// See handing_out.hpp.
#include "claim/handing_out.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include <dogged/retry_metrics.hpp>
#include <dogged/retry_options.hpp>

#include "base/invariant.hpp"
#include "client/log_event.hpp"
#include "tasks/definition.hpp"

namespace dogged::runtime {

std::vector<int> args_versions_of(const Definitions& definitions, const std::vector<std::string>& names) {
  std::vector<int> versions;
  for (const std::string& name : names) versions.push_back(definitions.find(name)->second.args_version);
  return versions;
}

HandingOut::HandingOut(Session& session, ClaimPlan& plan, GivingBack& giving_back, const Definitions& definitions,
                       Circuits& circuits, std::vector<Outlet>& outlets, std::shared_ptr<spdlog::logger> log)
    : session_(session),
      plan_(plan),
      giving_back_(giving_back),
      definitions_(definitions),
      circuits_(circuits),
      outlets_(outlets),
      log_(std::move(log)) {}

void HandingOut::hand_out(const std::vector<QueueClaim>& claims, std::vector<sql::Claim::Row> rows,
                          TimePoint asked_at) {
  const TimePoint claimed_at = SteadyClock::now();
  std::size_t not_taken = rows.size();
  std::map<std::string, std::vector<sql::Claim::Row*>> by_queue;
  for (sql::Claim::Row& row : rows) by_queue[row.queue].push_back(&row);
  std::vector<OfQueue> claimed;
  for (const QueueClaim& claim : claims) {
    claimed.push_back(take(std::move(by_queue[claim.queue]), asked_at, claimed_at));
    not_taken -= claimed.back().tasks.size();
    require_invariant(claimed.back().tasks.size() <= claim.how_many, "a claim gives no more tasks than it asks for");
    plan_.on_claimed(claim, claimed.back().places, claimed_at);
  }
  require_invariant(not_taken == 0, "a claim gives tasks of the queues that it names");
  for (std::size_t i = 0; i < claims.size(); ++i) {
    hand_out(outlets_.at(claims[i].index), claims[i], std::move(claimed[i]), claimed_at);
  }
}

/// RETURNING has no order, so the rows are sorted by place. Takes the texts out of them.
HandingOut::OfQueue HandingOut::take(std::vector<sql::Claim::Row*> rows, TimePoint asked_at,
                                     TimePoint claimed_at) const {
  std::sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return a->place < b->place; });
  OfQueue claimed;
  claimed.places.reserve(rows.size());
  claimed.tasks.reserve(rows.size());
  for (sql::Claim::Row* from : rows) {
    sql::Claim::Row& row = *from;
    ClaimedTask& task = claimed.tasks.emplace_back();
    task.id = row.id;
    task.attempt = row.attempt;
    task.retry_count = row.retry_count;
    task.losses = row.losses;
    task.snoozes = row.snoozes.value_or(0);
    const auto definition = definitions_.find(row.name);
    require_invariant(definition != definitions_.end(), "a claim gives tasks whose names the worker knows");
    task.definition = &definition->second;
    task.queue = std::move(row.queue);
    task.args_json = std::move(row.args);
    task.trace_context = std::move(row.trace_context).value_or("");
    task.claimed_at = claimed_at;
    task.args_version = row.args_version.value_or(1);
    if (row.expires_in_ms) {
      task.expires_at = asked_at + std::clamp(milliseconds{*row.expires_in_ms}, milliseconds{0}, longest_ahead);
    }
    claimed.places.push_back(row.place);
  }
  return claimed;
}

void HandingOut::hand_out(Outlet& outlet, const QueueClaim& claim, OfQueue claimed, TimePoint claimed_at) {
  const bool has_more = claimed.places.size() >= claim.how_many;
  SortingOut sorting{std::move(claimed.tasks), has_more, claimed_at};
  for (const auto& [name, count] : sorting.asks()) {
    sorting.on_answer(name, circuits_.ask(session_.connection(), name, count));
  }
  SortedOut sorted = std::move(sorting).finish(outlet.retries.get(), SteadyClock::now(), random_draw);
  for (const Deferral& deferral : sorted.over_budget) circuits_.note_not_begun(deferral.task);
  if (!sorted.begin.empty()) outlet.executor->submit(std::move(sorted.begin));
  giving_back_.expire(std::move(sorted.expired));
  if (!sorted.by_circuit.empty()) giving_back_.defer(std::move(sorted.by_circuit));
  if (!sorted.over_budget.empty()) defer_retries(outlet, std::move(sorted.over_budget), sorted.throttling_begins);
  for (const std::string_view circuit : sorted.in_place) defer_ready(claim.queue, circuit, claimed.places.front());
}

/// Defers the retries that exceed the queue's budget.
void HandingOut::defer_retries(const Outlet& outlet, std::vector<Deferral> over_budget, bool throttling_begins) {
  const std::string& queue = outlet.executor->queue();
  if (throttling_begins) {
    const RetryBudgetSettings& budget = outlet.retries->settings();
    log_->log(event("retries_throttled"), spdlog::level::warn,
              "queue {}: more than {} % of what begins would be retries, and more than {} a second: further ones wait",
              queue, 100 * budget.share, budget.min_retries_per_second);
  }
  const std::size_t throttled = over_budget.size();
  giving_back_.defer(std::move(over_budget));
  for (std::size_t i = 0; i < throttled; ++i) retry_metrics().retry_throttled(queue);
}

/// Defers the ready tasks of the circuit from a place of the queue on.
void HandingOut::defer_ready(const std::string& queue, std::string_view circuit, Place from) {
  const std::vector<std::string> tasks = circuits_.tasks_of(circuit);
  const auto deferred = session_.connection().run(sql::DeferReady{.circuit = std::string{circuit},
                                                                  .queue = queue,
                                                                  .from_place = from,
                                                                  .names = tasks,
                                                                  .versions = args_versions_of(definitions_, tasks)});
  log_->log(event("tasks_deferred"), spdlog::level::debug,
            "deferred {} more tasks of queue {}, whose circuit {} is open", deferred, queue, circuit);
}

}  // namespace dogged::runtime
