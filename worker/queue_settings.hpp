// What people have set for the queues of a worker (dogged.queues), which it follows while it runs.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <dogged/retry_budget.hpp>

#include "db/connection.hpp"

namespace dogged::runtime {

struct QueueSettings {
  bool is_paused = false;
  std::optional<milliseconds> resumes_in;                ///< of a paused one; nothing: it waits to be resumed
  std::optional<std::size_t> concurrency;                ///< in place of the worker's own
  std::optional<RetryBudgetSettings> retry_budget = {};  ///< nothing: retries are not bounded
};

/// By name; queues that are not there have none.
[[nodiscard]] std::map<std::string, QueueSettings, std::less<>> read_queue_settings(
    db::Connection& connection, const std::vector<std::string>& names);

}  // namespace dogged::runtime
