// What a worker knows of its own lease: the right to the tasks that it holds, kept alive by its heartbeat.
//
// The database decides whether a lease has ended (workers.lease_ended_at). Between two answers the worker goes by its
// own monotonic clock, counted from when it asked, not from when it was answered: it knows that the lease may have
// lapsed no later than anybody else can.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "claimed_task.hpp"

namespace dogged::runtime {

/// Thread-safe.
class Lease {
 public:
  enum class State {
    held,      ///< renewed in time so far
    lapsed,    ///< not renewed in time; another worker may have ended it
    regained,  ///< it had lapsed, but nobody had ended it when it was renewed again
    ended,     ///< the database says that it was ended
  };

  Lease(std::int64_t id, milliseconds length, SteadyClock::time_point asked_at);

  [[nodiscard]] std::int64_t id() const noexcept { return id_; }
  [[nodiscard]] milliseconds length() const noexcept { return length_; }
  [[nodiscard]] State state() const;
  /// When it lapses unless it is renewed.
  [[nodiscard]] SteadyClock::time_point held_until() const;

  /// When it was asked for the last renewal that was answered.
  [[nodiscard]] SteadyClock::time_point renewed_at() const;
  /// How long after a renewal the next one is asked for: the heartbeat while tasks are held, and else twice as long,
  /// but a third of its length at the most.
  [[nodiscard]] milliseconds until_next_renewal(milliseconds heartbeat, bool holds_tasks) const noexcept;
  /// Whether no more than three heartbeats, nor half of its length, lie between its last two renewals, or between the
  /// last one and `now`: the server was there meanwhile, and neither it nor this process stood still.
  [[nodiscard]] bool is_renewed_steadily(SteadyClock::time_point now, milliseconds heartbeat) const;

  /// The database has renewed it, and was asked to at `asked_at`; true if it was lapsed by then, noted or not.
  bool note_renewed(SteadyClock::time_point asked_at);
  /// The database says that it was ended.
  void note_ended();
  /// Makes it lapsed if its time is over by `now`; true if it was not lapsed or ended before.
  bool lapse_if_due(SteadyClock::time_point now);

  /// Waits while it is lapsed, for `time` at most; the state then.
  State wait_while_lapsed(milliseconds time);

 private:
  const std::int64_t id_;
  const milliseconds length_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::held;
  SteadyClock::time_point held_until_;
  SteadyClock::time_point renewed_at_;
  SteadyClock::duration last_gap_{0};  // between that and the renewal before
};

}  // namespace dogged::runtime
