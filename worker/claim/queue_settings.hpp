// Operators' settings for the queues of a worker (dogged.queues). The worker follows these settings while it runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "claim/core/queue_changes.hpp"
#include "db/connection_fwd.hpp"

namespace dogged::runtime {

/// By name. Queues that do not exist are left out.
[[nodiscard]] std::map<std::string, QueueSettings, std::less<>> read_queue_settings(
    db::Connection& connection, const std::vector<std::string>& names);

}  // namespace dogged::runtime
