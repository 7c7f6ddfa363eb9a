// A worker's view of its own lease: the right to the tasks that it holds, kept alive by its heartbeat.
//
// The database decides whether a lease has ended (workers.lease_ended_at). Between two answers the worker goes by its
// own monotonic clock. The worker counts from the time of its request, not of the answer. So no other worker can know
// earlier that the lease may have lapsed.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string_view>

#include <dogged/detail/mutex.hpp>

#include "base/time.hpp"

namespace dogged::runtime {

/// Thread-safe.
class Lease {
 public:
  enum class State {
    held,      ///< renewed in time so far
    lapsed,    ///< not renewed in time; another worker may have ended it
    regained,  ///< it had lapsed, but no worker had ended it when it was renewed
    ended,     ///< the database says that it was ended
  };

  Lease(std::int64_t id, milliseconds length, SteadyClock::time_point asked_at);

  [[nodiscard]] std::int64_t id() const noexcept { return id_; }
  [[nodiscard]] milliseconds length() const noexcept { return length_; }
  [[nodiscard]] State state() const;
  /// When it lapses unless it is renewed.
  [[nodiscard]] SteadyClock::time_point held_until() const;

  /// When the last renewal that was answered was asked for.
  [[nodiscard]] SteadyClock::time_point renewed_at() const;
  /// How long after a renewal the next one is asked for. The heartbeat while tasks are held, otherwise twice as long,
  /// but at most a third of the lease.
  [[nodiscard]] milliseconds until_next_renewal(milliseconds heartbeat, bool holds_tasks) const noexcept;
  /// Whether at most three heartbeats, and at most half of the lease, lie between its last two renewals, and between
  /// the last one and `now`. Then neither the server nor this process stood still. A renewal less than a heartbeat
  /// after the one before does not hide the gap before that one.
  [[nodiscard]] bool is_renewed_steadily(SteadyClock::time_point now, milliseconds heartbeat) const;

  /// The database has said at `now` that it renewed the lease, as it was asked to at `asked_at`. True if the lease had
  /// lapsed by `now`, even if lapse_if_due() has not noted that, because executors go by the time alone.
  bool note_renewed(SteadyClock::time_point asked_at, SteadyClock::time_point now);
  /// The database says that the lease was ended.
  void note_ended();
  /// Makes the lease lapsed if its time is over by `now`. True if it was neither lapsed nor ended before.
  bool lapse_if_due(SteadyClock::time_point now);

 private:
  const std::int64_t id_;
  const milliseconds length_;
  mutable detail::Mutex mutex_;
  State state_ DOGGED_GUARDED_BY(mutex_) = State::held;
  SteadyClock::time_point held_until_ DOGGED_GUARDED_BY(mutex_);
  SteadyClock::time_point renewed_at_ DOGGED_GUARDED_BY(mutex_);
  SteadyClock::duration last_gap_ DOGGED_GUARDED_BY(mutex_){0};  // between that renewal and the one before
  SteadyClock::duration gap_before_ DOGGED_GUARDED_BY(mutex_){0};
};

[[nodiscard]] std::string_view to_text(Lease::State state) noexcept;
std::ostream& operator<<(std::ostream& out, Lease::State state);

}  // namespace dogged::runtime
