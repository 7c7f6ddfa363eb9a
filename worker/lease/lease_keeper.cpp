// See lease_keeper.hpp.
#include "lease/lease_keeper.hpp"

#include <cstdlib>
#include <string>
#include <utility>

#include "db/connection.hpp"
#include "runtime/session.hpp"
#include "sql/lease.hpp"

namespace dogged::runtime {

LeaseKeeper::LeaseKeeper(Service::Settings service, Settings settings, std::shared_ptr<Lease> lease, Listener& listener,
                         std::shared_ptr<const Tally> tally)
    : settings_(settings),
      lease_(std::move(lease)),
      listener_(listener),
      tally_(std::move(tally)),
      plan_(settings.plan, SteadyClock::now()),
      clock_offset_(settings.clock_offset),
      service_(std::move(service)) {
  service_.start([this] { run(); });
}

void LeaseKeeper::run() {
  while (!service_.is_stopping() && plan_.state() != KeeperPlan::State::ended) {
    try {
      carry_out(plan_.next(SteadyClock::now(), listener_.holds_tasks()));
      service_.session().succeeded();
    } catch (const std::exception& error) {
      plan_.on_failure();
      service_.recover_from(error);
    }
  }
}

void LeaseKeeper::carry_out(const KeeperPlan::Action& action) {
  switch (action.step) {
    case KeeperPlan::Step::beat:
      return beat();
    case KeeperPlan::Step::listen:
      return listen();
    case KeeperPlan::Step::look:
      return look_for_cancellations();
    case KeeperPlan::Step::wait:
      return wait_until(action.until);
    case KeeperPlan::Step::end:
      return;
  }
}

void LeaseKeeper::beat() {
  const auto asked_at = SteadyClock::now();
  const sql::Heartbeat heartbeat{
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
    lease_->note_ended();
    listener_.on_decided();
    return;
  }
  clock_offset_ = clock.offset_from(renewed.front().now_us);
  if (lease_->note_renewed(asked_at, SteadyClock::now())) listener_.on_decided();
  plan_.on_renewed(asked_at, lease_->until_next_renewal(settings_.heartbeat, listener_.holds_tasks()));
}

void LeaseKeeper::listen() {
  for (const char* channel : {"cancel", "workers", "schedules", "waiting"}) connection().listen(channel);
  plan_.on_listening();
  listener_.on_connected();
}

void LeaseKeeper::look_for_cancellations() {
  for (const auto& [id, attempt] : connection().run(sql::Cancelling{.worker_id = lease_->id()})) {
    listener_.on_cancel(id, attempt);
  }
}

void LeaseKeeper::wait_until(TimePoint until) {
  const auto time = until - SteadyClock::now();
  for (const db::Notification& notification : connection().wait(time, service_.wake_fd())) hear(notification);
}

void LeaseKeeper::hear(const db::Notification& notification) {
  if (notification.channel.ends_with(".workers")) {
    listener_.on_worker();
  } else if (notification.channel.ends_with(".schedules")) {
    listener_.on_schedules();
  } else if (notification.channel.ends_with(".waiting")) {
    listener_.on_waiting(std::strtoll(notification.payload.c_str(), nullptr, 10));
  } else if (notification.payload == std::to_string(lease_->id())) {
    plan_.on_cancel_requested();
  }
}

}  // namespace dogged::runtime
