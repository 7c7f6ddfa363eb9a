// Queues, tasks, workers, circuits and schedules that a command line names. A missing one is an error with the nearest
// name.
#pragma once

#include <string>
#include <vector>

#include "cli/failure.hpp"
#include "db/connection_fwd.hpp"

namespace dogged::cli {

enum class Noun { queue, task, worker, circuit, schedule };

/// The error for a name that is not there: it offers the nearest name that is. A task is there if a worker has declared
/// it.
[[nodiscard]] Failure not_there(db::Connection& connection, Noun noun, const std::string& name);

/// Throws not_there for the first of the names that is not there.
void require_existing(db::Connection& connection, Noun noun, const std::vector<std::string>& names);

/// The names in a filter. A task name with * or ? is a pattern.
struct FilterNames {
  std::vector<std::string> queues, tasks, workers;
};

/// Throws not_there for a queue that is not there. Where nothing was found also for a worker or a task: these may be
/// unknown by now, or not known yet, and still have tasks.
void require_existing(db::Connection& connection, const FilterNames& names, bool was_found);

}  // namespace dogged::cli
