// Publishes a worker's declarations of its tasks, and compares them with those that other workers have published.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <spdlog/logger.h>

#include "db/connection_fwd.hpp"
#include "tasks/definition_fwd.hpp"

namespace dogged::sql {
struct DifferingDefinitions;
}

namespace dogged::runtime {

/// Asks for the declarations that other workers have published and that differ from `definitions`.
[[nodiscard]] sql::DifferingDefinitions differing_definitions(const Definitions& definitions);

/// Publishes what this program declares, and makes the queues that it serves: `queues`, and those of its tasks. `also`
/// runs in the same transaction: if it throws, nothing was published. Logs which declarations of other workers were
/// replaced.
void publish_definitions(
    db::Connection& connection, const Definitions& definitions, const std::map<std::string, int>& queues,
    spdlog::logger& log, const std::function<void()>& also = [] {});

}  // namespace dogged::runtime
