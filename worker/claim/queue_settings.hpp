// Operators' settings for the queues of a worker (dogged.queues). The worker follows these settings while it runs.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <dogged/retry_budget.hpp>

#include "db/connection_fwd.hpp"

namespace dogged::runtime {

struct QueueSettings {
  bool is_paused = false;
  std::optional<milliseconds> resumes_in = {};           ///< of a paused queue; nothing: until an operator resumes it
  std::optional<std::size_t> concurrency = {};           ///< instead of the worker's own
  std::optional<RetryBudgetSettings> retry_budget = {};  ///< nothing: retries are not bounded
};

/// By name. Queues that do not exist are left out.
[[nodiscard]] std::map<std::string, QueueSettings, std::less<>> read_queue_settings(
    db::Connection& connection, const std::vector<std::string>& names);

}  // namespace dogged::runtime
