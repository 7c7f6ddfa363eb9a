// One attempt as a pipeline: run the handler, describe how it ended, and let ending.hpp decide and report.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <spdlog/logger.h>

#include <dogged/middleware.hpp>
#include <dogged/tracer.hpp>

#include "run/attempt_settings.hpp"
#include "run/attempt_trace.hpp"
#include "run/core/pool.hpp"
#include "run/stop_signal.hpp"
#include "tasks/core/claimed_task.hpp"

namespace dogged::runtime {

/// Runs the handler of the task of `run`, and reports. Never throws: an exception of the handler is an ending of the
/// attempt. An exception after `stop` was requested counts by the reason of the stop: timed out, cancelled or
/// interrupted. `draw` is uniform in [0, 1), for the jitter. `trace` has begun.
[[nodiscard]] Report run_attempt(const Pool::Run& run, const StopSignal& stop, const AttemptSettings& settings,
                                 const AttemptTrace& trace, spdlog::logger& log, double draw);

/// For hooks and tracers. Refers to `report`.
[[nodiscard]] AttemptEnd end_of(const Report& report);

}  // namespace dogged::runtime
