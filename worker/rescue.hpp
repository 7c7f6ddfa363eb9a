// Rescue: the tasks of workers that are dead, or that everybody must take for dead, run again.
//
// Any worker rescues; there is no leader. A worker's row is locked by whoever ends its lease or rescues its tasks, so
// that several rescuers share the work and none waits for another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <spdlog/logger.h>

#include "db/connection.hpp"

namespace dogged::runtime {

/// Ends the leases that have lapsed, if that of `rescuer` holds; how many. From then on their workers can neither renew
/// them nor claim.
std::size_t end_lapsed_leases(db::Connection& connection, std::int64_t rescuer, spdlog::logger& log);

struct Rescued {
  std::size_t tasks = 0;
  bool all = true;  ///< false: some are locked by somebody, or another worker is at it; look again
};

/// Gives an attempt `lost` to every task that is held under an ended lease, in batches of a transaction each, as the
/// lifecycle decides by the stored task definitions, and wakes workers other than `rescuer` that serve their queues.
Rescued rescue_lost_tasks(db::Connection& connection, std::int64_t rescuer, spdlog::logger& log);

}  // namespace dogged::runtime
