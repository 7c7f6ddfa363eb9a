// See upkeep.hpp.
#include "upkeep/upkeep.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "client/log_event.hpp"
#include "db/connection.hpp"
#include "db/errors.hpp"
#include "retry/duration.hpp"
#include "retry/event_line.hpp"
#include "runtime/session.hpp"
#include "sql/upkeep.hpp"
#include "tasks/definition.hpp"

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

Upkeep::Upkeep(Service::Settings service, const Agenda::Settings& settings, std::shared_ptr<const Lease> lease,
               std::shared_ptr<const Definitions> definitions, std::shared_ptr<ClaimInbox> claimer,
               std::shared_ptr<DeclaredSchedules> schedules, AttemptLog log)
    : lease_(std::move(lease)),
      claimer_(std::move(claimer)),
      log_(log.log),
      attempt_log_(std::move(log)),
      agenda_(settings, SteadyClock::now()),
      declarations_(std::move(definitions), log_),
      schedules_(std::move(schedules)),
      service_(std::move(service)) {
  service_.start([this] { run(); });
}

void Upkeep::look() noexcept {
  must_look_ = true;
  service_.wake();
}

void Upkeep::note_schedules() noexcept {
  schedules_changed_ = true;
  service_.wake();
}

void Upkeep::run() {
  while (!service_.is_stopping()) {
    try {
      if (step()) service_.session().succeeded();
    } catch (const std::exception& error) {
      service_.recover_from(error);
      agenda_.note_failed(SteadyClock::now());
    }
  }
}

bool Upkeep::step() {
  (void)service_.wait_until(std::min(agenda_.looks_at(), ticks_.asks_at()));
  if (service_.is_stopping()) return false;
  if (schedules_changed_.exchange(false)) ticks_.note_changed(SteadyClock::now());
  const bool has_ticks = SteadyClock::now() >= ticks_.asks_at();
  if (has_ticks) fire_ticks();
  const bool worker_began = must_look_.exchange(false);
  if (worker_began) agenda_.note_worker_began();
  if (!worker_began && SteadyClock::now() < agenda_.looks_at()) return has_ticks;
  if (!agenda_.may_look(SteadyClock::now())) {
    (void)connection();  // the others' time to renew counts from when the server is back
    return has_ticks;
  }
  look_after_all();
  return true;
}

void Upkeep::look_after_all() {
  const Look look = look_and_rescue();
  expire(look);
  if (agenda_.must_compare(look.found, SteadyClock::now())) {
    bool is_compared = false;
    (void)try_to(event("comparison_failed"), "declarations of tasks and schedules", [&] { is_compared = compare(); });
    if (is_compared) {
      agenda_.note_compared(look.asked_at);
    } else {
      agenda_.note_comparison_failed(SteadyClock::now());
    }
  }
}

template <class Work>
bool Upkeep::try_to(spdlog::source_loc failed, std::string_view what, Work work) {
  try {
    work();
    told_.erase(failed.funcname);
    return true;
  } catch (const ConnectionError&) {
    throw;
  } catch (const Error& error) {  // InvalidInput too: a trigger or constraint of an operator may refuse a row
    if (db::is_defect(error)) throw;
    const bool is_new = std::exchange(told_[failed.funcname], error.message()) != error.message();
    if (is_new) log_->log(failed, spdlog::level::err, "{}: {}; trying again until it works", what, error.message());
    return false;
  }
}

bool Upkeep::compare() {
  declarations_.compare(connection());
  return schedules_->declare(connection(), lease_->id());
}

void Upkeep::fire_ticks() {
  const auto fire_due = [this] {
    const auto [schedules, due_in_ms] = db::one(connection().run(sql::FireDueTicks{.most = schedules_at_once}));
    ticks_.note_fired(schedules, time_of(due_in_ms), SteadyClock::now());
  };
  if (!try_to(event("schedules_failed"), "ticks of schedules", fire_due)) ticks_.note_failed(SteadyClock::now());
}

Upkeep::Look Upkeep::look_and_rescue() {
  Look look = ask();
  bool left_tasks = false;
  const bool let_renew = agenda_.lets_renew();
  const Agenda::Rescue due = agenda_.decide(look.found, *lease_, SteadyClock::now());
  if (agenda_.lets_renew() && !let_renew) {
    log_->log(
        event("renewals_awaited"), spdlog::level::info,
        "leases of other workers have lapsed; this worker's own was not renewed in time either: they get at least {} "
        "to renew them",
        duration_to_text(agenda_.heartbeat()));
  }
  if (due == Agenda::Rescue::after_ending_lapsed) end_lapsed_leases(connection(), lease_->id(), *log_);
  if (due != Agenda::Rescue::none) {
    const Rescued rescued = rescue_lost_tasks(connection(), lease_->id(), attempt_log_);
    if (rescued.tasks > 0) claimer_->note_rescued();
    tell_of_refusals(rescued);
    left_tasks = !rescued.all;
    look = ask();
  }
  agenda_.note_looked(look.found, left_tasks, SteadyClock::now());
  return look;
}

void Upkeep::tell_of_refusals(const Rescued& rescued) {
  for (const Refusal& refusal : rescued.refusals) {
    if (!told_refusals_.emplace(refusal.worker_id, without_digits(refusal.reason)).second) continue;
    log_->log(event("rescue_failed"), spdlog::level::err,
              "the tasks of worker {} ({}) cannot be rescued: {}; trying again until it works", refusal.worker_id,
              refusal.worker_name, refusal.reason);
  }
  if (rescued.all) told_refusals_.clear();
}

bool Upkeep::goes_on() {
  if (SteadyClock::now() >= ticks_.asks_at()) fire_ticks();
  if (SteadyClock::now() >= agenda_.looks_at()) (void)look_and_rescue();
  return !service_.is_stopping();
}

Upkeep::Look Upkeep::ask() {
  const TimePoint asked_at = SteadyClock::now();
  Look look{asked_at, agenda_.look_back(asked_at), {}};
  const auto due =
      db::one(connection().run(sql::UpkeepDue{.worker_id = lease_->id(), .back_ms = count_of(look.looked_back)}));
  look.found.has_to_rescue = due.has_to_rescue;
  if (due.lapses_in_ms) look.found.lapses_in = milliseconds{*due.lapses_in_ms};
  look.found.has_expired = due.has_expired;
  look.found.comes_first = due.comes_first;
  look.found.newest_began_ago = milliseconds{due.newest_began_ms_ago.value_or(0)};
  ticks_.note_due(time_of(due.tick_due_in_ms), due.comes_first, SteadyClock::now());
  return look;
}

/// Ends waiting tasks of any queue that have expired, at the latest a heartbeat of the first workers after their
/// expires_at.
void Upkeep::expire(const Look& look) {
  std::map<std::pair<std::string, std::string>, std::size_t> expired;
  while (look.found.has_expired && goes_on()) {
    const auto batch = connection().run(sql::Expire{.back_ms = count_of(look.looked_back)});
    for (const sql::Expire::Row& task : batch) ++expired[{task.name, task.queue}];
    if (batch.empty()) break;
  }
  agenda_.note_expired(look.asked_at, look.looked_back);
  for (const auto& [task, count] : expired) {
    const auto tasks = static_cast<std::int64_t>(count);
    log_->info(event_line("expired").with("name", task.first).with("queue", task.second).with("tasks", tasks).text());
  }
}

}  // namespace dogged::runtime
