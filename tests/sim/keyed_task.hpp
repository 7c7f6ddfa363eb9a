// The unique tasks that producers of the simulation ask for. Each key has one rule. Of the calls of a rule that
// replaces args, half merge them.
#pragma once

#include "database.hpp"
#include "scheduler.hpp"

namespace dogged::sim {

/// `number` is of the call. Keys that are kept change every now and then, as no task would be new otherwise.
[[nodiscard]] Database::NewTask any_keyed_task(const Scheduler& scheduler, Random& random, std::int64_t number);

}  // namespace dogged::sim
