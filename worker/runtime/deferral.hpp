// A claimed task that may not begin now, and how long it waits.
#pragma once

#include "runtime/claimed_task.hpp"
#include "runtime/time.hpp"

namespace dogged::runtime {

struct Deferral {
  ClaimedTask task;
  milliseconds wait{0};
};

}  // namespace dogged::runtime
