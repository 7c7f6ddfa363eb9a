// The lease of a worker for its threads: the lease keeper and the watchdog change it, and the others read it.
#pragma once

#include <cstdint>

#include <dogged/detail/mutex.hpp>

#include "lease/core/lease.hpp"

namespace dogged::runtime {

/// Thread-safe.
class SharedLease {
 public:
  SharedLease(std::int64_t id, milliseconds length, SteadyClock::time_point asked_at)
      : id_(id), lease_(id, length, asked_at) {}

  [[nodiscard]] std::int64_t id() const noexcept { return id_; }
  /// The lease as it is now.
  [[nodiscard]] Lease get() const {
    const detail::Lock lock{mutex_};
    return lease_;
  }

  [[nodiscard]] Lease::Turn note_renewed(SteadyClock::time_point asked_at, SteadyClock::time_point now) {
    const detail::Lock lock{mutex_};
    return lease_.note_renewed(asked_at, now);
  }
  [[nodiscard]] Lease::Turn note_ended() {
    const detail::Lock lock{mutex_};
    return lease_.note_ended();
  }
  [[nodiscard]] Lease::Turn lapse_if_due(SteadyClock::time_point now) {
    const detail::Lock lock{mutex_};
    return lease_.lapse_if_due(now);
  }

 private:
  const std::int64_t id_;
  mutable detail::Mutex mutex_;
  Lease lease_ DOGGED_GUARDED_BY(mutex_);
};

}  // namespace dogged::runtime
