// Rescue: tasks run again whose worker is dead, or must be taken for dead.
//
// Any worker rescues; there is no leader. The rescuer locks the row of the worker whose lease it ends or whose tasks it
// rescues. So several rescuers share the work, and none waits for another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <spdlog/logger.h>

#include "db/connection_fwd.hpp"
#include "report/recorded.hpp"

namespace dogged::runtime {

/// Ends the leases that have lapsed, if the lease of `rescuer` holds. Gives how many. From then on their workers can
/// neither renew them nor claim.
std::size_t end_lapsed_leases(db::Connection& connection, std::int64_t rescuer, spdlog::logger& log);

/// The database has refused the rescue of a worker's tasks.
struct Refusal {
  std::int64_t worker_id = 0;
  std::string worker_name = {};
  std::string reason = {};
};

struct Rescued {
  std::size_t tasks = 0;
  bool all = true;  ///< false: another session has locked some tasks, another worker rescues them, or some were refused
  std::vector<Refusal> refusals = {};
};

/// Gives an attempt `lost` to every task that is held under an ended lease. Each batch is a transaction. The lifecycle
/// decides by the stored task definitions. Wakes workers other than `rescuer` that serve the queues of the tasks. If
/// the database refuses the rescue of one worker's tasks, those of the others are rescued all the same. Throws
/// ConnectionError, and a defect (db::is_defect).
Rescued rescue_lost_tasks(db::Connection& connection, std::int64_t rescuer, const AttemptLog& log);

}  // namespace dogged::runtime
