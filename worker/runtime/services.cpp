// See services.hpp.
#include "runtime/services.hpp"

#include <algorithm>
#include <utility>

#include <dogged/error.hpp>
#include <dogged/retry_options.hpp>

#include "circuits/circuits.hpp"
#include "claim/inbox.hpp"
#include "client/log_event.hpp"
#include "lease/keeper_inbox.hpp"
#include "step/handler_session.hpp"
#include "step/steps.hpp"
#include "text/duration.hpp"

namespace dogged::runtime {

Services::Services(std::shared_ptr<Common> common, std::shared_ptr<SharedLease> lease,
                   const db::ClockOffset& clock_offset, bool is_again)
    : common_(std::move(common)),
      lease_(std::move(lease)),
      circuits_(std::make_shared<Circuits>(common_->definitions, random_draw, common_->log)),
      inbox_(std::make_shared<ClaimInbox>()),
      completer_(std::make_shared<Completer>(service(Part::completer), lease_, circuits_, inbox_, common_->tally(),
                                             attempt_log())),
      watchdog_({.on_defect = defect_of("watchdog")}, [this](TimePoint now) { return watch(now); }),
      handlers_(std::make_shared<HandlerSession>(common_->session(Part::handlers),
                                                 std::shared_ptr<FirstDefect>{common_, &common_->defect})),
      steps_(std::make_shared<Steps>(handlers_, lease_->id())),
      keeper_inbox_(std::make_shared<KeeperInbox>()),
      executors_(make_executors()),
      claimer_(service(Part::claimer),
               {.poll_interval = common_->settings.poll_interval,
                .listens = !common_->settings.poll_only,
                .has_circuits = circuits_->any()},
               {lease_, common_->definitions, circuits_, inbox_, completer_, executors_}, common_->tally(),
               common_->log),
      upkeep_(service(Part::upkeep), {.heartbeat = common_->settings.heartbeat, .lets_others_renew = is_again}, lease_,
              common_->definitions, inbox_, common_->schedules, attempt_log()),
      chores_(service(Part::chores), {}, common_->log),
      keeper_(service(Part::lease),
              {.heartbeat = common_->settings.heartbeat,
               .plan = {.poll_interval = common_->settings.poll_interval, .listens = !common_->settings.poll_only},
               .clock = common_->settings.clock,
               .clock_offset = clock_offset},
              lease_, *this, keeper_inbox_, common_->tally()) {
  watchdog_.start();  // last, because it watches all the others
}

Services::~Services() {
  watchdog_.stop();  // first, because it watches all the others
}

Service::Settings Services::service(Part part) {
  return {.session = common_->session(part),
          .answer_within = common_->patience(part).answer_within,
          .on_defect = defect_of(to_text(part))};
}

std::function<void(std::exception_ptr)> Services::defect_of(std::string_view name) {
  return [this, name](std::exception_ptr error) { common_->note_defect(name, std::move(error)); };
}

std::shared_ptr<Executors> Services::make_executors() {
  AttemptSettings attempts = common_->attempts;
  attempts.worker_id = lease_->id();
  attempts.database = handlers_;
  attempts.steps = steps_;
  attempts.progress = keeper_inbox_;
  auto made = std::make_shared<Executors>();
  for (const auto& [queue, concurrency] : common_->settings.queues) {
    made->add(std::make_unique<Executor>(
        Executor::Settings{queue, static_cast<std::size_t>(concurrency), common_->settings.stop_grace, attempts},
        Executor::Surroundings{common_->log, lease_, common_->definitions, common_->tally(), *this}));
  }
  return made;
}

AttemptLog Services::attempt_log() const {
  return {common_->log, common_->settings.log_retries ? spdlog::level::info : spdlog::level::debug};
}

/// For the watchdog: does what is due at `now`, and gives when something is due next.
TimePoint Services::watch(TimePoint now) {
  TimePoint next = executors_->enforce_deadlines(now);
  for (Service* service :
       {&keeper_.service(), &claimer_.service(), &completer_->service(), &upkeep_.service(), &chores_.service()}) {
    next = std::min(next, service->break_if_stuck(now));
  }
  next = std::min(next, handlers_->break_if_stuck(common_->patience(Part::handlers).answer_within, now));
  on_lease(lease_->lapse_if_due(now));
  next = std::min(next, lease_->get().lapses_at());
  if (common_->carries_too_many()) common_->attention.wake();
  return next;
}

void Services::stop_claiming() {
  claimer_.stop();
  keeper_inbox_->note_draining();
}

Services::GivenBack Services::give_back(TimePoint until) {
  const std::vector<ClaimedTask> unstarted = executors_->take_back();
  watchdog_.note_deadline(until);
  const bool was_written = claimer_.give_back(unstarted, until);
  claimer_.disconnect();
  return {unstarted.size(), was_written};
}

bool Services::write_reports(TimePoint until) { return completer_->wait_written(until); }

std::size_t Services::finish_reports(TimePoint until) { return completer_->finish(until); }

void Services::on_report(Report&& report) { completer_->add(std::move(report)); }
void Services::on_deadline(TimePoint deadline) { watchdog_.note_deadline(deadline); }
void Services::on_expired() { inbox_->note_expired(); }
void Services::on_defect(std::exception_ptr error) { common_->note_defect("executor", std::move(error)); }

/// Upkeep and the claimer may not have noticed yet that their connections are lost, or that the server is another one.
void Services::on_connected() {
  upkeep_.look();
  inbox_->note_server_is_back();
}

void Services::on_worker() { upkeep_.look(); }
void Services::on_schedules() { upkeep_.note_schedules(); }
bool Services::holds_tasks() const { return executors_->holds_any(); }
void Services::on_cancel(TaskId id, int attempt) { executors_->cancel(id, attempt); }
void Services::on_waiting(TaskId id) { completer_->note_awaited(id); }

void Services::on_progress_refused(const Error& error) {
  common_->log->log(event("progress_refused"), spdlog::level::warn,
                    "PostgreSQL refuses to write what handlers say of their progress: {}; trying again each second",
                    error.what());
}

/// While the lease is lapsed, the completer sends nothing, and the executors begin nothing.
void Services::on_lease(Lease::Turn turn) {
  if (turn == Lease::Turn::none) return;
  log(turn);
  if (stops_handlers(turn)) executors_->stop_all(StopReason::lease_lost);
  if (frees_reports(turn)) completer_->note_lease_decided();
  common_->attention.wake();
}

void Services::log(Lease::Turn turn) const {
  switch (turn) {
    case Lease::Turn::none:
      return;
    case Lease::Turn::lapsed:
      return common_->log->log(
          event("lease_lapsed"), spdlog::level::err,
          "worker {} could not renew its lease for {}: its handlers are asked to stop, and nothing is written until "
          "PostgreSQL says whether the lease was ended",
          lease_->id(), duration_to_text(lease_->get().length()));
    case Lease::Turn::regained:
      return common_->log->log(event("lease_regained"), spdlog::level::info,
                               "nobody had ended the lease of worker {}: what has finished counts", lease_->id());
    case Lease::Turn::ended:
      return common_->log->log(event("lease_lost"), spdlog::level::err,
                               "the lease of worker {} was ended by another worker, which rescues its tasks",
                               lease_->id());
  }
}

}  // namespace dogged::runtime
