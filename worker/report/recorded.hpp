// Notes of an attempt once it is on record. The process's metrics count it (<dogged/retry_metrics.hpp>). The log has a
// line for each retry and each snooze, and for a success after retries. The log also has a line for giving up, and for
// an error that is not retried.
#pragma once

#include <memory>

#include <spdlog/logger.h>

#include "tasks/core/claimed_task.hpp"

namespace dogged::runtime {

struct AttemptLog {
  std::shared_ptr<spdlog::logger> log;
  spdlog::level::level_enum retries_at = spdlog::level::debug;  ///< and snoozes, and successes after retries
};

/// Failures for good are logged as warnings. Each line is an event_line, with the error's message if there was an
/// error.
void note_recorded(const Report& report, const AttemptLog& log);

}  // namespace dogged::runtime
