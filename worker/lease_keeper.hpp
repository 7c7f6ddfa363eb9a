// Keeps the worker's lease: renews it with a heartbeat, and hears what others have to tell this worker. Its
// statements look up a few rows by key; one that is held up is given up in time for another heartbeat (watchdog).
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>

#include <spdlog/logger.h>

#include "db/clock_offset.hpp"
#include "lease.hpp"
#include "service_thread.hpp"
#include "session.hpp"
#include "tally.hpp"
#include "wake_fd.hpp"

namespace dogged::runtime {

class LeaseKeeper {
 public:
  struct Settings {
    milliseconds heartbeat{5'000};
    milliseconds poll_interval{5'000};  ///< how often it asks what is to be cancelled, at the least
    bool listens = true;                ///< false: no LISTEN, everything is asked for
    db::HostClock clock = std::chrono::system_clock::now;
    db::ClockOffset clock_offset = {};  ///< as it was measured last; each heartbeat tells it, and measures the next one
  };

  /// All are called on the keeper's thread.
  struct Callbacks {
    /// Something was enqueued: to the queue, or to any if it is empty. Also after each (re)connect, when notifications
    /// may have been missed.
    std::function<void(std::string_view)> on_wake;
    /// A worker has registered. Also after each (re)connect.
    std::function<void()> on_worker;
    /// Whether this worker holds tasks: it asks what is to be cancelled only then.
    std::function<bool()> holds_tasks;
    /// The cancellation of an attempt that this worker runs was requested; told again until the attempt has ended.
    std::function<void(TaskId, int)> on_cancel;
    /// Somebody waits for the end of a task.
    std::function<void(TaskId)> on_waiting;
    /// A circuit has another state.
    std::function<void()> on_circuits;
    /// Something else is set for a queue. Also after each (re)connect.
    std::function<void()> on_queues;
    /// The lease was ended, or it had lapsed and was renewed all the same.
    std::function<void()> on_decided;
  };

  /// `lease` must outlive it.
  LeaseKeeper(Session session, Settings settings, Lease& lease, Callbacks callbacks,
              std::shared_ptr<const Tally> tally);
  ~LeaseKeeper();

  void stop();

  /// Breaks the connection if a statement on it has been waiting for its answer since before `time`.
  void abort_if_busy_since(SteadyClock::time_point time) noexcept { session_.abort_if_busy_since(time); }

 private:
  void run();
  void step();
  void beat();
  void listen();
  void look_for_cancellations();
  void hear(const db::Notification& notification);

  Session session_;
  const Settings settings_;
  Lease& lease_;
  const Callbacks callbacks_;
  const std::shared_ptr<const Tally> tally_;
  SteadyClock::time_point beat_at_;
  SteadyClock::time_point look_at_;
  db::ClockOffset clock_offset_;
  bool listening_ = false;
  WakeFd wake_;
  std::stop_source stop_;
  ServiceThread thread_;  // last: it uses all of the above
};

}  // namespace dogged::runtime
