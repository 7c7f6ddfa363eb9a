// The worker's own row and what it publishes beside it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <spdlog/logger.h>

#include "claimed_task.hpp"
#include "db/clock_offset.hpp"
#include "db/connection.hpp"
#include "definition.hpp"
#include "wake_fd.hpp"

namespace dogged::runtime {

/// What a worker says of itself.
struct WorkerRow {
  std::string name;
  std::map<std::string, int> queues;  ///< concurrency by queue
  milliseconds lease{30'000};
  db::HostClock clock = std::chrono::system_clock::now;
};

/// The parameters of publish_definitions.sql (which takes the version, the sources and what is
/// redacted as three more).
[[nodiscard]] db::Params definition_params(const Definitions& definitions);

/// Publishes what this program declares, and makes the queues that it serves. Logs where it replaces what another
/// worker declared differently.
void publish_definitions(db::Connection& connection, const Definitions& definitions, const WorkerRow& row,
                         spdlog::logger& log);

struct Registration {
  std::int64_t worker_id = 0;
  SteadyClock::time_point asked_at = {};  ///< the lease lasts from then on, at least
  db::ClockOffset clock = {};             ///< measured with it
};

/// Registers a new incarnation, and ends the lease of the `previous` one of this process, if there was one. Waits for a
/// worker of the same name that may be dead; gives nothing where `stop` becomes readable meanwhile. Throws InvalidInput
/// if that worker lives.
[[nodiscard]] std::optional<Registration> register_worker(db::Connection& connection, const WorkerRow& row,
                                                          const Definitions& definitions,
                                                          std::optional<std::int64_t> previous, const WakeFd& stop,
                                                          spdlog::logger& log);

}  // namespace dogged::runtime
