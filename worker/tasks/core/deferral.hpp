// A claimed task that may not begin now, and how long it waits.
#pragma once

#include "base/time.hpp"
#include "tasks/core/claimed_task.hpp"

namespace dogged::runtime {

struct Deferral {
  ClaimedTask task;
  milliseconds wait{0};

  friend bool operator==(const Deferral&, const Deferral&) = default;
};

}  // namespace dogged::runtime
