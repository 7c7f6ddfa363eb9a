// One attempt as a pipeline: run the handler, describe how it ended, let ending.hpp decide, report.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <spdlog/logger.h>

#include <dogged/middleware.hpp>
#include <dogged/tracer.hpp>

#include "lease/progress_inbox.hpp"
#include "run/attempt_trace.hpp"
#include "run/handler_session.hpp"
#include "run/stop_signal.hpp"
#include "runtime/claimed_task.hpp"
#include "step/steps.hpp"

namespace dogged::runtime {

struct AttemptLimits {
  std::size_t max_result_bytes = 1048576;
  std::size_t max_error_message_bytes = 65536;
};

/// The settings that all attempts of a worker share.
struct AttemptSettings {
  std::int64_t worker_id = 0;
  std::string database_url = {};
  std::string schema = {};
  AttemptLimits limits = {};
  std::string installation = {};                    ///< of the queue, for tasks that handlers enqueue
  std::string worker = {};                          ///< the worker's name
  std::shared_ptr<Tracer> tracer = {};              ///< null: none
  std::shared_ptr<EnqueueMiddleware> tracing = {};  ///< of what handlers enqueue: trace_enqueues(tracer); null: none
  std::shared_ptr<HandlerSession> database = {};
  std::shared_ptr<Steps> steps = {};
  std::shared_ptr<ProgressInbox> progress = {};
};

/// Runs the handler of `task`, whose attempt began at `started_at`, and reports. Never throws: an exception of the
/// handler is an ending of the attempt. An exception after `stop` was requested counts by the reason of the stop: timed
/// out, cancelled or interrupted. `draw` is uniform in [0, 1), for the jitter. `trace` has begun.
[[nodiscard]] Report run_attempt(const ClaimedTask& task, const StopSignal& stop, SteadyClock::time_point started_at,
                                 const AttemptSettings& settings, const AttemptTrace& trace, spdlog::logger& log,
                                 double draw);

/// For hooks and tracers. Refers to `report`.
[[nodiscard]] AttemptEnd end_of(const Report& report);

}  // namespace dogged::runtime
