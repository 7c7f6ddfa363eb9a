// See watchdog.hpp.
#include "watchdog.hpp"

#include <algorithm>
#include <utility>

namespace dogged::runtime {

Watchdog::Watchdog(std::function<SteadyClock::time_point(SteadyClock::time_point)> look) : look_(std::move(look)) {}

Watchdog::~Watchdog() { stop(); }

void Watchdog::start() {
  thread_ = std::thread{[this] { run(); }};
}

void Watchdog::stop() {
  {
    const std::scoped_lock lock{mutex_};
    ended_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::note_deadline(SteadyClock::time_point deadline) {
  if (deadline >= wakes_at_.load()) return;  // it looks earlier than that in any case
  {
    const std::scoped_lock lock{mutex_};
    if (deadline < wakes_at_.load()) wakes_at_ = deadline;
  }
  changed_.notify_all();
}

void Watchdog::run() {
  std::unique_lock lock{mutex_};
  while (!ended_) {
    // Before looking, so that what is noted while it looks counts for the wait that follows.
    wakes_at_ = SteadyClock::time_point::max();
    lock.unlock();
    const SteadyClock::time_point next = look_(SteadyClock::now());
    lock.lock();
    wakes_at_ = std::min(wakes_at_.load(), next);
    while (!ended_ && SteadyClock::now() < wakes_at_.load()) changed_.wait_until(lock, wakes_at_.load());
  }
}

}  // namespace dogged::runtime
