// The unique tasks that producers of the simulation ask for. Each key has one rule.
#pragma once

#include "database.hpp"
#include "scheduler.hpp"

namespace dogged::sim {

/// `number` is of the call. Keys that are kept change every now and then, as no task would be new otherwise.
[[nodiscard]] Database::NewTask any_keyed_task(Random& random, std::int64_t number);

}  // namespace dogged::sim
