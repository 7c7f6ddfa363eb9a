// Which queues a worker serves, compared with those that exist and those of its tasks. A starting worker refuses
// mistakes, and warns of tasks that would wait for ever.
#pragma once

#include <map>
#include <string>

#include <spdlog/logger.h>

#include "db/connection_fwd.hpp"
#include "tasks/definition_fwd.hpp"

namespace dogged::runtime {

/// Throws InvalidInput if `queues` has a queue that neither exists nor belongs to a task. A misspelt name would
/// otherwise make a new queue, to which no producer enqueues.
void require_known_queues(db::Connection& connection, const std::map<std::string, int>& queues,
                          const Definitions& definitions);

/// Warns of the tasks' queues that a worker of `queues` does not serve. Warns of waiting tasks of its names in queues
/// that no live worker serves for them. Each is one line, with the command that moves the tasks.
void tell_of_unserved(db::Connection& connection, const std::map<std::string, int>& queues,
                      const Definitions& definitions, spdlog::logger& log);

}  // namespace dogged::runtime
