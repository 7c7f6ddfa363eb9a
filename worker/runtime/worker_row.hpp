// The worker's own row, and the holder of its name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "db/clock_offset.hpp"
#include "db/connection_fwd.hpp"
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

/// Another worker that may be alive.
struct NameHolder {
  std::int64_t id = 0;
  std::int64_t heartbeat_at_us = 0;  ///< since 1970
  milliseconds lapses_in = {};       ///< its lease
  std::string text = {};             ///< its id, process and host, in words
};

/// Registers a new incarnation, and ends the lease `previous` of this process, if it had one. Ends the lease of the
/// name's holder if it has lapsed. Upkeep ends the leases of other names later. Nothing: another worker that may be
/// alive has the name.
[[nodiscard]] std::optional<Registration> register_worker(db::Connection& connection, const WorkerRow& row,
                                                          const Definitions& definitions,
                                                          std::optional<std::int64_t> previous);
/// Nothing if the holder has just gone.
[[nodiscard]] std::optional<NameHolder> find_holder(db::Connection& connection, const std::string& name);

}  // namespace dogged::runtime
