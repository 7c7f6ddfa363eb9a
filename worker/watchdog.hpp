// Sees to what must happen on time whether or not PostgreSQL answers: deadlines of attempts, the lapse of the lease,
// and connections whose peer has vanished. It never waits for anything but time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "claimed_task.hpp"

namespace dogged::runtime {

class Watchdog {
 public:
  /// `look` does what is due at a time, and says when it wants to be called again.
  explicit Watchdog(std::function<SteadyClock::time_point(SteadyClock::time_point)> look);
  ~Watchdog();

  void start();
  void stop();

  /// Thread-safe: there is something to see to at `deadline`.
  void note_deadline(SteadyClock::time_point deadline);

 private:
  void run();

  const std::function<SteadyClock::time_point(SteadyClock::time_point)> look_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<SteadyClock::time_point> wakes_at_{SteadyClock::time_point::max()};
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace dogged::runtime
