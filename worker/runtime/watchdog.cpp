// See watchdog.hpp.
#include "runtime/watchdog.hpp"

#include <utility>

namespace dogged::runtime {

Watchdog::Watchdog(Service::Settings service, std::function<TimePoint(TimePoint)> look)
    : look_(std::move(look)), service_(std::move(service)) {}

void Watchdog::start() {
  service_.start([this] { run(); });
}

void Watchdog::note_deadline(TimePoint deadline) noexcept {
  if (bring_forward(deadline)) service_.wake();
}

/// False if the watchdog looks no later than at `deadline` anyway.
bool Watchdog::bring_forward(TimePoint deadline) noexcept {
  TimePoint wakes_at = wakes_at_;
  while (deadline < wakes_at) {
    if (wakes_at_.compare_exchange_weak(wakes_at, deadline)) return true;
  }
  return false;
}

void Watchdog::run() {
  while (!service_.is_stopping()) {
    wakes_at_ = never;  // before the look: a deadline noted during the look counts for the wait that follows
    bring_forward(look_(SteadyClock::now()));
    while (!service_.is_stopping() && SteadyClock::now() < wakes_at_.load()) service_.wait_until(wakes_at_);
  }
}

}  // namespace dogged::runtime
