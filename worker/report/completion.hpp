// Reports as the statement that writes them.
#pragma once

#include <cstdint>
#include <span>

#include "sql/report.hpp"
#include "tasks/core/claimed_task.hpp"

namespace dogged::runtime {

/// The fields of `reports`, on tasks that `worker_id` holds, as arrays. There are arrays for reports that have ended
/// their task, and arrays for those after which the task runs again. Each is in the order of ids, as in every statement
/// that locks several rows. Further arrays, with a position from 1, hold what ended attempts record besides a success.
/// Times are sent as durations before `now`, when the statement is sent, so that none is earlier than it was.
[[nodiscard]] sql::Complete completion_of(std::int64_t worker_id, std::span<const Report> reports,
                                          SteadyClock::time_point now);

}  // namespace dogged::runtime
