// See upkeep.hpp.
#include "upkeep/upkeep.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include "base/session.hpp"
#include "client/log_event.hpp"
#include "db/connection.hpp"
#include "db/errors.hpp"
#include "sql/upkeep.hpp"
#include "tasks/definition.hpp"
#include "text/duration.hpp"
#include "text/event_line.hpp"

namespace dogged::runtime {
namespace {

constexpr int schedules_at_once = 50;  // so that several workers share the schedules of one time

std::optional<std::int64_t> count_of(std::optional<milliseconds> time) {
  if (!time) return std::nullopt;
  return time->count();
}

std::optional<milliseconds> time_of(std::optional<std::int64_t> count) {
  if (!count) return std::nullopt;
  return milliseconds{*count};
}

}  // namespace

Upkeep::Upkeep(Service::Settings service, const UpkeepPlan::Settings& settings,
               std::shared_ptr<const SharedLease> lease, std::shared_ptr<const Definitions> definitions,
               std::shared_ptr<ClaimInbox> claimer, std::shared_ptr<DeclaredSchedules> schedules, AttemptLog log)
    : lease_(std::move(lease)),
      claimer_(std::move(claimer)),
      log_(log.log),
      attempt_log_(std::move(log)),
      heartbeat_(settings.heartbeat),
      plan_(settings, SteadyClock::now()),
      declarations_(std::move(definitions), log_),
      schedules_(std::move(schedules)),
      service_(std::move(service)) {
  service_.start([this] { run(); });
}

void Upkeep::look() noexcept {
  inbox_.note_worker_began();
  service_.wake();
}

void Upkeep::note_schedules() noexcept {
  inbox_.note_schedules_changed();
  service_.wake();
}

void Upkeep::run() {
  service_.run_plan([this] { return next_action(); }, [this](const UpkeepPlan::Action& action) { carry_out(action); },
                    [this](const std::exception&) { plan_.on_failure(); });
  tell_of_expired();
}

UpkeepPlan::Action Upkeep::next_action() {
  if (service_.is_stopping()) plan_.on_stopping();
  plan_.on_told(inbox_.take(), SteadyClock::now());
  return plan_.next(SteadyClock::now());
}

void Upkeep::carry_out(const UpkeepPlan::Action& action) {
  if (action.all_answered) service_.session().succeeded();
  switch (action.step) {
    case UpkeepPlan::Step::fire_ticks:
      return fire_ticks();
    case UpkeepPlan::Step::connect:
      (void)connection();
      return;
    case UpkeepPlan::Step::look:
      return ask(action.look_back);
    case UpkeepPlan::Step::end_leases:
      end_lapsed_leases(connection(), lease_->id(), *log_);
      return plan_.on_leases_ended();
    case UpkeepPlan::Step::rescue:
      return rescue();
    case UpkeepPlan::Step::expire:
      return expire(action.look_back);
    case UpkeepPlan::Step::compare:
      return compare();
    case UpkeepPlan::Step::wait:
      tell_of_expired();
      (void)service_.wait_until(action.until);
      return;
    case UpkeepPlan::Step::end:
      return;
  }
}

template <class Work>
bool Upkeep::try_to(spdlog::source_loc refused, std::string_view what, ToldOnce& told, Work work) {
  try {
    work();
    told.forget();
    return true;
  } catch (const Error& error) {
    if (!db::is_refusal(error)) throw;
    if (told.note(without_digits(error.message()))) {
      log_->log(refused, spdlog::level::err, "{}: {}; trying again until it works", what, error.message());
    }
    return false;
  }
}

void Upkeep::fire_ticks() {
  const auto fire_due = [this] {
    const auto [schedules, due_in_ms] = db::one(connection().run(sql::FireDueTicks{.most = schedules_at_once}));
    plan_.on_fired(schedules, time_of(due_in_ms), SteadyClock::now());
  };
  if (!try_to(event("schedules_failed"), "ticks of schedules", told_of_ticks_, fire_due)) {
    plan_.on_ticks_refused(SteadyClock::now());
  }
}

void Upkeep::ask(std::optional<milliseconds> look_back) {
  const auto due = db::one(connection().run(sql::UpkeepDue{.worker_id = lease_->id(), .back_ms = count_of(look_back)}));
  const Outlook found{.has_to_rescue = due.has_to_rescue,
                      .lapses_in = time_of(due.lapses_in_ms),
                      .has_expired = due.has_expired,
                      .comes_first = due.comes_first,
                      .newest_began_ago = milliseconds{due.newest_began_ms_ago.value_or(0)},
                      .tick_due_in = time_of(due.tick_due_in_ms)};
  if (!plan_.on_looked(found, lease_->get(), SteadyClock::now())) return;
  log_->log(event("renewals_awaited"), spdlog::level::info,
            "leases of other workers have lapsed; this worker's own was not renewed in time either: they get at least "
            "{} to renew them",
            duration_to_text(heartbeat_));
}

void Upkeep::rescue() {
  Rescued rescued;
  try {
    rescued = rescue_lost_tasks(connection(), lease_->id(), attempt_log_);
  } catch (...) {
    claimer_->note_rescued();  // batches before the failure have made tasks ready, perhaps
    throw;
  }
  if (rescued.tasks > 0) claimer_->note_rescued();
  tell_of_refusals(rescued);
  plan_.on_rescued(!rescued.all);
}

void Upkeep::tell_of_refusals(const Rescued& rescued) {
  for (const Refusal& refusal : rescued.refusals) {
    if (!told_of_rescues_.note(std::to_string(refusal.worker_id) + ": " + without_digits(refusal.reason))) continue;
    log_->log(event("rescue_failed"), spdlog::level::err,
              "the tasks of worker {} ({}) cannot be rescued: {}; trying again until it works", refusal.worker_id,
              refusal.worker_name, refusal.reason);
  }
  if (rescued.all) told_of_rescues_.forget();
}

/// Ends waiting tasks of any queue that have expired, at the latest a heartbeat of the first workers after their
/// expires_at.
void Upkeep::expire(std::optional<milliseconds> look_back) {
  const auto batch = connection().run(sql::Expire{.back_ms = count_of(look_back)});
  for (const sql::Expire::Row& task : batch) ++expired_[{task.name, task.queue}];
  plan_.on_expired(batch.size());
}

void Upkeep::tell_of_expired() {
  for (const auto& [task, count] : std::exchange(expired_, {})) {
    log_->info(event_line("expired").with("name", task.first).with("queue", task.second).with("tasks", count).text());
  }
}

void Upkeep::compare() {
  const auto compare_all = [this] {
    declarations_.compare(connection());
    if (schedules_->declare(connection(), lease_->id())) {
      plan_.on_compared();
    } else {  // other transactions keep the schedules locked
      plan_.on_comparison_refused(SteadyClock::now());
    }
  };
  if (!try_to(event("comparison_failed"), "declarations of tasks and schedules", told_of_comparisons_, compare_all)) {
    plan_.on_comparison_refused(SteadyClock::now());
  }
}

}  // namespace dogged::runtime
