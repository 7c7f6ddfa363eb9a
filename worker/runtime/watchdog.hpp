// Acts on time even if PostgreSQL does not answer: on deadlines of attempts, the lapse of the lease, and connections
// whose peer has vanished. The watchdog waits for nothing but time.
#pragma once

#include <atomic>
#include <functional>

#include "base/service.hpp"
#include "base/time.hpp"

namespace dogged::runtime {

class Watchdog {
 public:
  /// `look` does what is due at a time, and gives when the watchdog must call it again.
  Watchdog(Service::Settings service, std::function<TimePoint(TimePoint)> look);

  void start();
  void stop() { service_.stop(); }

  /// There is something to do at `deadline`. Thread-safe.
  void note_deadline(TimePoint deadline) noexcept;

 private:
  void run();
  bool bring_forward(TimePoint deadline) noexcept;

  const std::function<TimePoint(TimePoint)> look_;
  std::atomic<TimePoint> wakes_at_{never};
  Service service_;  // last: its thread uses the members above
};

}  // namespace dogged::runtime
