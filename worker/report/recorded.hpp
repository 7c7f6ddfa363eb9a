// Notes of an attempt once it is on record. The process's metrics count it (<dogged/retry_metrics.hpp>). The log has a
// line for each retry, for giving up, and for an error that is not retried.
#pragma once

#include <spdlog/logger.h>

#include "runtime/claimed_task.hpp"

namespace dogged::runtime {

/// Logs retries at debug, and tasks that have failed for good as warnings, each as one line of key=value.
void note_recorded(const Report& report, spdlog::logger& log);

}  // namespace dogged::runtime
