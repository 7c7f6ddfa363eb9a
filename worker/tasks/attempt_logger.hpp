// The logger of lines about one attempt, of its handler and of the worker. Each line has the attempt's fields: `task`,
// `name`, `queue`, `attempt`, and `trace` if the attempt has one.
#pragma once

#include <memory>
#include <optional>

#include <spdlog/logger.h>

#include <dogged/trace_context.hpp>

#include "tasks/core/claimed_task.hpp"

namespace dogged::runtime {

[[nodiscard]] std::shared_ptr<spdlog::logger> attempt_logger(spdlog::logger& log, const ClaimedTask& task,
                                                             const std::optional<TraceContext>& trace);
/// `name` and `queue` are left out where the report does not have them.
[[nodiscard]] std::shared_ptr<spdlog::logger> attempt_logger(spdlog::logger& log, const Report& report);
/// With `task` and `attempt` alone.
[[nodiscard]] std::shared_ptr<spdlog::logger> attempt_logger(spdlog::logger& log, const Attempt& attempt);

}  // namespace dogged::runtime
