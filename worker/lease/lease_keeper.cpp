// See lease_keeper.hpp.
#include "lease/lease_keeper.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/session.hpp"
#include "db/connection.hpp"
#include "db/errors.hpp"
#include "sql/lease.hpp"

namespace dogged::runtime {
namespace {

/// Rounded down: all is done only at 1.
std::int64_t in_millionths(double fraction) {
  constexpr double inexact = 1e-3;  // 0.29 is a little less as a double
  return static_cast<std::int64_t>(fraction * 1e6 + inexact);
}

sql::WriteProgress statement_of(const std::vector<ReportedProgress>& reports, TimePoint now) {
  sql::WriteProgress statement;
  for (const ReportedProgress& report : reports) {
    statement.ids.push_back(report.attempt.id);
    statement.attempts.push_back(report.attempt.number);
    statement.millionths.push_back(report.fraction ? std::optional{in_millionths(*report.fraction)} : std::nullopt);
    statement.messages.push_back(report.message);
    statement.ages_us.push_back(
        std::chrono::duration_cast<std::chrono::microseconds>(now - report.reported_at).count());
  }
  return statement;
}

}  // namespace

LeaseKeeper::LeaseKeeper(Service::Settings service, Settings settings, std::shared_ptr<SharedLease> lease,
                         Listener& listener, std::shared_ptr<KeeperInbox> inbox, std::shared_ptr<const Tally> tally)
    : settings_(settings),
      lease_(std::move(lease)),
      listener_(listener),
      inbox_(std::move(inbox)),
      tally_(std::move(tally)),
      plan_(settings.plan, SteadyClock::now()),
      clock_offset_(settings.clock_offset),
      service_(std::move(service).woken_by(inbox_->wake())) {
  service_.start([this] { run(); });
}

void LeaseKeeper::run() {
  service_.run_plan([this] { return next_action(); }, [this](const KeeperPlan::Action& action) { carry_out(action); },
                    [this](const std::exception&) { plan_.on_failure(); });
}

KeeperPlan::Action LeaseKeeper::next_action() {
  if (service_.is_stopping()) plan_.on_stopping(service_.session().is_connected());
  if (inbox_->is_draining()) plan_.on_draining();
  if (inbox_->has_unwritten()) plan_.on_progress();
  return plan_.next(SteadyClock::now(), listener_.holds_tasks());
}

void LeaseKeeper::carry_out(const KeeperPlan::Action& action) {
  switch (action.step) {
    case KeeperPlan::Step::beat:
      beat();
      break;
    case KeeperPlan::Step::listen:
      listen();
      break;
    case KeeperPlan::Step::look:
      look_for_cancellations();
      break;
    case KeeperPlan::Step::write:
      write_progress();
      break;
    case KeeperPlan::Step::write_last:
      return write_last();
    case KeeperPlan::Step::wait:
      wait_until(action.until);
      break;
    case KeeperPlan::Step::end:
      return;
  }
  service_.session().succeeded();
}

void LeaseKeeper::beat() {
  const auto asked_at = SteadyClock::now();
  const sql::Heartbeat heartbeat{
      .is_stopping = inbox_->is_draining(),
      .fenced = tally_->fenced,
      .abandoned_threads = tally_->abandoned_threads,
      .clock_ahead_ms = std::chrono::round<milliseconds>(clock_offset_.ahead).count(),
      .clock_uncertainty_ms = std::chrono::ceil<milliseconds>(clock_offset_.uncertainty).count(),
      .worker_id = lease_->id()};
  db::Connection& connected = connection();  // before the clock is read, because it may have to connect
  const db::ClockMeasurement clock{settings_.clock};
  const std::vector<sql::Heartbeat::Row> renewed = connected.run(heartbeat);
  if (renewed.empty()) {
    plan_.on_ended();
    return listener_.on_lease(lease_->note_ended());
  }
  clock_offset_ = clock.offset_from(renewed.front().now_us);
  listener_.on_lease(lease_->note_renewed(asked_at, SteadyClock::now()));
  plan_.on_renewed(asked_at, lease_->get().until_next_renewal(settings_.heartbeat, listener_.holds_tasks()));
}

void LeaseKeeper::listen() {
  for (const auto channel : {db::Channel::cancel, db::Channel::workers, db::Channel::schedules, db::Channel::waiting}) {
    connection().listen(channel);
  }
  plan_.on_listening();
  listener_.on_connected();
}

void LeaseKeeper::look_for_cancellations() {
  for (const auto& [id, attempt] : connection().run(sql::Cancelling{.worker_id = lease_->id()})) {
    listener_.on_cancel(id, attempt);
  }
}

/// A missing right or an operator's trigger may last. A refusal must not cost the lease its notifications. Treated as a
/// failure of the connection, each refusal would make the keeper listen anew, ten times a second.
void LeaseKeeper::write_progress() {
  std::vector<ReportedProgress> reports = inbox_->take();
  try {
    connection().run(statement_of(reports, SteadyClock::now()));
    plan_.on_progress_written(SteadyClock::now());
  } catch (const Error& error) {
    const bool refuses_values = dynamic_cast<const InvalidInput*>(&error) != nullptr;  // the next ones may be better
    if (!refuses_values) inbox_->put_back(std::move(reports));
    if (!db::is_refusal(error)) throw;
    if (plan_.on_progress_refused(SteadyClock::now())) listener_.on_progress_refused(error);
  }
}

/// Nothing is tried again after the last write, so the log need not say why it failed.
void LeaseKeeper::write_last() {
  try {
    write_progress();
    service_.session().succeeded();
  } catch (const std::exception& error) {
    if (db::is_defect(error)) throw;
  }
}

void LeaseKeeper::wait_until(TimePoint until) {
  const auto time = until - SteadyClock::now();
  const std::vector<db::Notification> heard = connection().wait(time, service_.wake_fd());
  for (const db::Notification& notification : heard) hear(notification);
}

void LeaseKeeper::hear(const db::Notification& notification) {
  switch (notification.channel) {
    case db::Channel::workers:
      return listener_.on_worker();
    case db::Channel::schedules:
      return listener_.on_schedules();
    case db::Channel::waiting:
      return listener_.on_waiting(std::strtoll(notification.payload.c_str(), nullptr, 10));
    case db::Channel::cancel:
      if (notification.payload == std::to_string(lease_->id())) plan_.on_cancel_requested();
      return;
    default:  // not listened to
      return;
  }
}

}  // namespace dogged::runtime
