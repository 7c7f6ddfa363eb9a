// A worker's view of its own lease: the right to the tasks that it holds, kept alive by its heartbeat.
//
// The database decides whether a lease has ended (workers.lease_ended_at). Between two answers the worker goes by its
// own monotonic clock. The worker counts from the time of its request, not of the answer. So no other worker can know
// earlier that the lease may have lapsed.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string_view>

#include "base/time.hpp"

namespace dogged::runtime {

/// A value; SharedLease is for threads.
class Lease {
 public:
  enum class State {
    held,      ///< renewed in time so far
    lapsed,    ///< not renewed in time; another worker may have ended it
    regained,  ///< it had lapsed, but no worker had ended it when it was renewed
    ended,     ///< the database says that it was ended
  };
  /// How a call has changed the lease.
  enum class Turn {
    none,      ///< nothing that a worker acts on
    lapsed,    ///< the worker writes nothing until the database says whether the lease was ended
    regained,  ///< nobody had ended the lapsed lease: the completer writes its reports
    ended,     ///< other workers rescue the tasks: the database fences each report by itself
  };

  Lease(std::int64_t id, milliseconds length, SteadyClock::time_point asked_at);

  [[nodiscard]] std::int64_t id() const noexcept { return id_; }
  [[nodiscard]] milliseconds length() const noexcept { return length_; }
  [[nodiscard]] State state() const noexcept { return state_; }
  /// When it lapses unless it is renewed.
  [[nodiscard]] SteadyClock::time_point held_until() const noexcept { return held_until_; }
  /// When lapse_if_due() has something to do; never: the lease is lapsed or ended already.
  [[nodiscard]] SteadyClock::time_point lapses_at() const noexcept { return may_lapse() ? held_until_ : never; }

  /// When the last renewal that was answered was asked for.
  [[nodiscard]] SteadyClock::time_point renewed_at() const noexcept { return renewed_at_; }
  /// How long after a renewal the next one is asked for. The heartbeat while tasks are held, otherwise twice as long,
  /// but at most a third of the lease.
  [[nodiscard]] milliseconds until_next_renewal(milliseconds heartbeat, bool holds_tasks) const noexcept;
  /// Upkeep asks before it ends the leases of others. True if at most three heartbeats, and at most half of the lease,
  /// lie between the last two renewals, and between the last one and `now`. Then neither the server nor this process
  /// stood still. A renewal less than a heartbeat after the one before does not hide the gap before that one.
  [[nodiscard]] bool is_renewed_steadily(SteadyClock::time_point now, milliseconds heartbeat) const noexcept;

  /// The database has said at `now` that it renewed the lease, as it was asked to at `asked_at`. Turn::regained if the
  /// lease had lapsed by `now`, even if lapse_if_due() has not noted that, because executors go by the time alone.
  [[nodiscard]] Turn note_renewed(SteadyClock::time_point asked_at, SteadyClock::time_point now);
  /// The database says that the lease was ended. Turn::ended unless that was known.
  [[nodiscard]] Turn note_ended();
  /// Makes the lease lapsed if its time is over by `now`. Turn::lapsed if it was neither lapsed nor ended before.
  [[nodiscard]] Turn lapse_if_due(SteadyClock::time_point now);

 private:
  [[nodiscard]] bool may_lapse() const noexcept { return state_ == State::held || state_ == State::regained; }

  std::int64_t id_;
  milliseconds length_;
  State state_ = State::held;
  SteadyClock::time_point held_until_;
  SteadyClock::time_point renewed_at_;
  SteadyClock::duration last_gap_{0};  // between that renewal and the one before
  SteadyClock::duration gap_before_{0};
};

/// Whether handlers are asked to stop, since other workers rescue their tasks, or may do so.
[[nodiscard]] bool stops_handlers(Lease::Turn turn) noexcept;
/// Whether the database has said what became of the lapsed lease, so that reports are written from now on.
[[nodiscard]] bool frees_reports(Lease::Turn turn) noexcept;

[[nodiscard]] std::string_view to_text(Lease::State state) noexcept;
[[nodiscard]] std::string_view to_text(Lease::Turn turn) noexcept;
std::ostream& operator<<(std::ostream& out, Lease::State state);
std::ostream& operator<<(std::ostream& out, Lease::Turn turn);

}  // namespace dogged::runtime
