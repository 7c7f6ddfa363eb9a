// When a run of the services under one lease ends, and how. Pure: worker.cpp looks, and carries this out.
//
//   running --the lease lapsed--> in_doubt --the lease was regained or ended--> draining
//   running --the lease was regained or ended, too many abandoned threads--> draining
//   running, in_doubt --stop, defect--> draining
#pragma once

#include <iosfwd>
#include <string_view>

#include "base/time.hpp"
#include "lease/core/lease.hpp"

namespace dogged::runtime {

class Incarnation {
 public:
  enum class State {
    running,   ///< the services claim, run and report
    in_doubt,  ///< handlers are asked to stop; nothing is written until the database says whether the lease was ended
    draining,  ///< nothing is claimed any more, and running attempts come to their end; see end()
  };
  enum class End {
    none,                ///< the incarnation is not draining yet
    stop_requested,      ///< by a signal or by the program
    too_many_abandoned,  ///< too many threads whose handlers ignore their stop tokens
    lease_lost,          ///< the lease had lapsed: the worker goes on as a new incarnation
    defect,              ///< a service met a mistake of dogged: the worker ends
  };
  /// The findings of a look at the worker.
  struct Seen {
    bool has_defect = false;
    bool stop_requested = false;
    bool carries_too_many = false;
    Lease::State lease = Lease::State::held;
  };

  void on_seen(const Seen& seen);

  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] End end() const noexcept { return end_; }
  /// Once it drains: how long running attempts may go on before their stop tokens are set. `grace` if the worker ends
  /// in order, otherwise 0.
  [[nodiscard]] milliseconds grace(milliseconds grace) const;

 private:
  void drain(End end) noexcept;

  State state_ = State::running;
  End end_ = End::none;
};

[[nodiscard]] std::string_view to_text(Incarnation::State state) noexcept;
[[nodiscard]] std::string_view to_text(Incarnation::End end) noexcept;
std::ostream& operator<<(std::ostream& out, Incarnation::State state);
std::ostream& operator<<(std::ostream& out, Incarnation::End end);

}  // namespace dogged::runtime
