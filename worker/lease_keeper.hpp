// Keeps the worker's lease: renews it with a heartbeat, and hears what others have to tell of tasks that it holds. Its
// statements look up a few rows by key; one that is held up is given up in time for another heartbeat (watchdog).
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

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
    milliseconds heartbeat{5'000};       ///< as in Lease::until_next_renewal
    milliseconds poll_interval{10'000};  ///< how often it asks what is to be cancelled, at the least
    bool listens = true;                 ///< false: no LISTEN, everything is asked for
    db::HostClock clock = std::chrono::system_clock::now;
    db::ClockOffset clock_offset = {};  ///< as it was measured last; each heartbeat tells it, and measures the next one
  };

  /// All are called on the keeper's thread.
  struct Callbacks {
    /// It has connected, or again: what was said before may have been missed.
    std::function<void()> on_connected;
    /// A worker has registered.
    std::function<void()> on_worker;
    /// Whether this worker holds tasks: it asks what is to be cancelled only then, and renews its lease more often.
    std::function<bool()> holds_tasks;
    /// The cancellation of an attempt that this worker runs was requested; told again until the attempt has ended.
    std::function<void(TaskId, int)> on_cancel;
    /// Somebody waits for the end of a task.
    std::function<void(TaskId)> on_waiting;
    /// The lease was ended, or it had lapsed and was renewed all the same.
    std::function<void()> on_decided;
  };

  /// `lease` must outlive it.
  LeaseKeeper(Session session, Settings settings, Lease& lease, Callbacks callbacks,
              std::shared_ptr<const Tally> tally);
  ~LeaseKeeper();

  void stop();

  /// As Session::abort_if_busy_for.
  SteadyClock::time_point abort_if_busy_for(milliseconds patience, SteadyClock::time_point now) noexcept {
    return session_.abort_if_busy_for(patience, now);
  }

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
