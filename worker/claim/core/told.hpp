// Other threads have told the claimer this. Pure data: mailbox.hpp collects it, and plan.hpp decides by it.
#pragma once

#include <iosfwd>

#include "base/time.hpp"

namespace dogged::runtime {

/// The messages since the claimer last emptied its mailbox.
struct Told {
  bool has_ready = false;       ///< tasks of any queue are ready, and the claimer wakes the other workers
  bool has_rescued = false;     ///< tasks of any queue are ready; the other workers were woken
  TimePoint due_at = never;     ///< when the earliest scheduled retry is due
  bool server_is_back = false;  ///< the connection was lost for a while, and the next one may be to another server
  bool has_expired = false;     ///< an executor holds tasks that expired before they could begin

  friend bool operator==(const Told&, const Told&) = default;
};

std::ostream& operator<<(std::ostream& out, const Told& told);

}  // namespace dogged::runtime
