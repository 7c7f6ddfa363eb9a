// An Outlook is the answer to a look.
#pragma once

#include <optional>

#include "base/time.hpp"

namespace dogged::runtime {

/// The work that is due for all workers: the row of upkeep_due.sql.
struct Outlook {
  bool has_to_rescue = false;             ///< tasks are held under a lease that was ended
  std::optional<milliseconds> lapses_in;  ///< of the next lease: below 0 once it has lapsed; nothing: there is none
  bool has_expired = false;               ///< a pending task has expired, within the time that was looked back
  bool comes_first = true;                ///< this worker is one of the two that began first
  milliseconds newest_began_ago{0};       ///< how long ago the newest worker began
  std::optional<milliseconds> tick_due_in = {};  ///< below 0 if a tick is overdue; nothing: no schedule has a next tick
};

}  // namespace dogged::runtime
