// See lease_keeper.hpp.
#include "lease_keeper.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "sql_statements.hpp"

namespace dogged::runtime {

LeaseKeeper::LeaseKeeper(Session session, Settings settings, Lease& lease, Callbacks callbacks,
                         std::shared_ptr<const Tally> tally)
    : session_(std::move(session)),
      settings_(settings),
      lease_(lease),
      callbacks_(std::move(callbacks)),
      tally_(std::move(tally)),
      beat_at_(SteadyClock::now()),
      look_at_(SteadyClock::now()),
      clock_offset_(settings.clock_offset) {
  thread_.start([this] { run(); });
}

LeaseKeeper::~LeaseKeeper() { stop(); }

void LeaseKeeper::stop() {
  stop_.request_stop();
  wake_.wake();
  thread_.join(session_, std::chrono::seconds{1});
}

void LeaseKeeper::run() {
  const std::stop_token stop = stop_.get_token();
  while (!stop.stop_requested() && lease_.state() != Lease::State::ended) {
    try {
      step();
      session_.succeeded();
    } catch (const std::exception& error) {
      listening_ = false;
      session_.recover_from(error, stop);
    }
  }
}

void LeaseKeeper::step() {
  if (SteadyClock::now() >= beat_at_) beat();
  if (lease_.state() == Lease::State::ended) return;
  if (settings_.listens && !listening_) listen();
  if (SteadyClock::now() >= look_at_) look_for_cancellations();
  const auto time = std::min(beat_at_, look_at_) - SteadyClock::now();
  for (const db::Notification& notification : session_.connection().wait(time, wake_.fd())) hear(notification);
}

void LeaseKeeper::beat() {
  const auto asked_at = SteadyClock::now();
  const db::Params params = db::Params{}
                                .add(lease_.id())
                                .add(tally_->fenced.load())
                                .add(tally_->abandoned_threads.load())
                                .add(std::chrono::round<milliseconds>(clock_offset_.ahead).count())
                                .add(std::chrono::ceil<milliseconds>(clock_offset_.uncertainty).count());
  db::Connection& connection = session_.connection();  // before the clock is read: it may have to connect
  const db::ClockMeasurement clock{settings_.clock};
  const db::Rows renewed = connection.run(sql::heartbeat, params);
  if (renewed.empty()) {
    lease_.note_ended();
    callbacks_.on_decided();
    return;
  }
  clock_offset_ = clock.offset_from(renewed.one().number("now_us"));
  if (lease_.note_renewed(asked_at)) callbacks_.on_decided();
  beat_at_ = asked_at + lease_.until_next_renewal(settings_.heartbeat, callbacks_.holds_tasks());
}

void LeaseKeeper::listen() {
  for (const char* channel : {"cancel", "workers", "waiting"}) session_.connection().listen(channel);
  listening_ = true;
  callbacks_.on_connected();
  look_for_cancellations();
}

void LeaseKeeper::look_for_cancellations() {
  look_at_ = SteadyClock::now() + settings_.poll_interval;
  if (!callbacks_.holds_tasks()) return;  // what it claims from now on is looked for next time, or notified of
  for (const db::Row& row : session_.connection().run(sql::cancelling, db::Params{}.add(lease_.id()))) {
    callbacks_.on_cancel(row.number("id"), static_cast<int>(row.number("attempt")));
  }
}

void LeaseKeeper::hear(const db::Notification& notification) {
  if (notification.channel.ends_with(".workers")) {
    callbacks_.on_worker();
  } else if (notification.channel.ends_with(".waiting")) {
    callbacks_.on_waiting(std::strtoll(notification.payload.c_str(), nullptr, 10));
  } else if (notification.payload == std::to_string(lease_.id())) {
    look_for_cancellations();
  }
}

}  // namespace dogged::runtime
