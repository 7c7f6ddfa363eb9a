// Other threads have told upkeep this. Pure data: inbox.hpp collects it, and plan.hpp decides by it.
#pragma once

namespace dogged::runtime {

/// The messages since upkeep last emptied its inbox.
struct ToldToUpkeep {
  bool worker_began = false;       ///< a worker has registered, and may declare its tasks otherwise
  bool schedules_changed = false;  ///< a schedule was set, and may be due before any other
};

}  // namespace dogged::runtime
