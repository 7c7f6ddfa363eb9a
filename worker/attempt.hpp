// One attempt, as a pipeline: run the handler, describe how it ended, let the lifecycle decide, report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <spdlog/logger.h>

#include "claimed_task.hpp"
#include "stop_signal.hpp"

namespace dogged::runtime {

struct AttemptLimits {
  std::size_t max_result_bytes = 1048576;
  std::size_t max_error_message_bytes = 65536;
};

/// What all attempts of a worker share.
struct AttemptSettings {
  std::int64_t worker_id = 0;
  std::string schema = {};
  AttemptLimits limits = {};
};

/// When the timeout of an attempt is over that began at `started_at`; time_point::max() where it has none.
[[nodiscard]] SteadyClock::time_point deadline_of(const ClaimedTask& task, SteadyClock::time_point started_at);

/// Runs the handler of `task`, whose attempt began at `started_at`, and reports. Never throws: whatever comes out of
/// the handler is an ending of the attempt. What it throws after `stop` was requested counts by the reason: timed out,
/// cancelled or interrupted. `draw` is uniform in [0, 1), for the jitter.
[[nodiscard]] Report run_attempt(const ClaimedTask& task, const StopSignal& stop, SteadyClock::time_point started_at,
                                 const AttemptSettings& settings, spdlog::logger& log, double draw);

/// The report of an attempt that ends without its handler, which `reason` has stopped in vain.
[[nodiscard]] Report report_without_handler(const ClaimedTask& task, StopReason reason,
                                            SteadyClock::time_point started_at, double draw);

/// The same where its handler has not begun, because the task is to be cancelled.
[[nodiscard]] Report report_not_begun(const ClaimedTask& task);

/// Decides a report again, now that the task's cancellation was found to be requested.
void put_under_cancel(Report& report);

/// The same, now that the next run was found to fall after the task's expires_at.
void put_under_expiry(Report& report);

}  // namespace dogged::runtime
