// What a worker says of an attempt once it is on record: the process's metrics (<dogged/retry_metrics.hpp>), and a line
// for each retry, for giving up, and for an error that is not retried.
#pragma once

#include <spdlog/logger.h>

#include "claimed_task.hpp"

namespace dogged::runtime {

/// Retries are logged at debug, tasks that have failed for good as warnings, one line of key=value each.
void note_recorded(const Report& report, spdlog::logger& log);

}  // namespace dogged::runtime
