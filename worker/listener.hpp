// The worker's third connection: it listens for notifications and does the upkeep that has to be done now and then.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>

#include <spdlog/logger.h>

#include "claimed_task.hpp"
#include "service_thread.hpp"
#include "session.hpp"
#include "wake_fd.hpp"

namespace dogged::runtime {

/// Listens on `dogged.wake` and keeps the partitions of the coming days ready. The heartbeat that keeps this worker's
/// lease, and the rescue of tasks whose worker's lease has lapsed, belong on this thread as well; a lapsed lease ends
/// `workers.asleep` too, which now stays true after a crash and makes every enqueue to its queues notify.
class Listener {
 public:
  /// `on_wake` is told the queue of each notification, empty for any, and is called after each (re)connect, when
  /// notifications may have been missed. It runs on the listener's thread.
  Listener(Session session, std::function<void(std::string_view)> on_wake, std::shared_ptr<spdlog::logger> log);
  ~Listener();

  void stop();

 private:
  void run();
  void listen();
  void upkeep();

  Session session_;
  const std::function<void(std::string_view)> on_wake_;
  const std::shared_ptr<spdlog::logger> log_;
  SteadyClock::time_point upkeep_at_ = SteadyClock::now();
  bool listening_ = false;
  WakeFd wake_;
  std::stop_source stop_;
  ServiceThread thread_;  // last: it uses all of the above
};

}  // namespace dogged::runtime
