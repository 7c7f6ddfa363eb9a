// One attempt, as a pipeline: run the handler, describe how it ended, let the lifecycle decide, report.
#pragma once

#include <stop_token>

#include <spdlog/logger.h>

#include "claimed_task.hpp"

namespace dogged::runtime {

struct AttemptLimits {
  std::size_t max_result_bytes = 1048576;
  std::size_t max_error_message_bytes = 65536;
};

/// Runs the handler of `task` and reports. Never throws: whatever comes out of the handler is an ending of the attempt.
/// An exception after `stop` was requested ends it as interrupted: the shutdown cut it short, and no retry is spent.
/// `draw` is uniform in [0, 1), for the jitter.
[[nodiscard]] Report run_attempt(const ClaimedTask& task, const std::stop_token& stop, const AttemptLimits& limits,
                                 spdlog::logger& log, double draw);

/// The report of an attempt that shutdown cut short while its handler still runs.
[[nodiscard]] Report interrupted_report(const ClaimedTask& task, SteadyClock::time_point started_at);

/// `text` as PostgreSQL can store it: invalid UTF-8 and NUL bytes replaced by U+FFFD, and cut, with a mark that says
/// how long it was, to at most `max_bytes`.
[[nodiscard]] std::string storable_text(std::string_view text, std::size_t max_bytes);

}  // namespace dogged::runtime
