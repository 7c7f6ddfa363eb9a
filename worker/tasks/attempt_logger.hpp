// The logger of lines about one attempt, of its handler and of the worker. Each line has the attempt's fields, as far
// as the worker knows them: `task`, `name`, `queue`, `attempt` and `trace`. Without memory the lines have no fields.
#pragma once

#include <memory>
#include <optional>

#include <spdlog/logger.h>

#include <dogged/trace_context.hpp>

#include "tasks/core/claimed_task.hpp"

namespace dogged::runtime {

[[nodiscard]] std::shared_ptr<spdlog::logger> attempt_logger(spdlog::logger& log, const ClaimedTask& task,
                                                             const std::optional<TraceContext>& trace) noexcept;
/// Without `name` and `queue` where the report does not have them.
[[nodiscard]] std::shared_ptr<spdlog::logger> attempt_logger(spdlog::logger& log, const Report& report) noexcept;
/// With `task` and `attempt` alone.
[[nodiscard]] std::shared_ptr<spdlog::logger> attempt_logger(spdlog::logger& log, const Attempt& attempt) noexcept;

}  // namespace dogged::runtime
