// The worker's own row: how a worker registers itself.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <spdlog/logger.h>

#include "base/time.hpp"
#include "base/wake_fd.hpp"
#include "db/clock_offset.hpp"
#include "db/connection_fwd.hpp"
#include "runtime/core/registering.hpp"
#include "tasks/definition_fwd.hpp"

namespace dogged::runtime {

/// A worker's own description.
struct WorkerRow {
  std::string name;
  std::map<std::string, int> queues;  ///< concurrency by queue
  milliseconds lease{30'000};
  db::HostClock clock = std::chrono::system_clock::now;
};

struct Registration {
  std::int64_t worker_id = 0;
  SteadyClock::time_point asked_at = {};  ///< the lease lasts at least from then on
  db::ClockOffset clock = {};             ///< measured at the registration
};

/// Registers a new incarnation as `registering` says, and ends the lease `previous` of this process, if it had one.
/// Gives nothing if `stop` becomes readable before. Throws InvalidInput if a worker that lives has the name.
[[nodiscard]] std::optional<Registration> register_worker(db::Connection& connection, const WorkerRow& row,
                                                          const Definitions& definitions,
                                                          std::optional<std::int64_t> previous,
                                                          Registering& registering, const WakeFd& stop,
                                                          spdlog::logger& log);

}  // namespace dogged::runtime
