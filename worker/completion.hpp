// Reports as the parameters of complete.sql.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "claimed_task.hpp"
#include "db/connection.hpp"

namespace dogged::runtime {

/// The fields of `reports`, of tasks that `worker_id` holds, as arrays: of those that have ended their task, and of
/// those after which it runs again, each in the order of ids, as whoever else locks several rows. Of the former that
/// say more than that the attempt succeeded the rest comes with their position (from 1). Times are sent as how long ago
/// they were at `now`, when the statement goes out, so that what it says is never earlier than what was.
[[nodiscard]] db::Params completion_params(std::int64_t worker_id, const std::vector<Report>& reports,
                                           SteadyClock::time_point now);

/// How long it is at `now` until the task runs again that `next_run` of the report is for. Where it is not above zero,
/// complete.sql has made the task ready, if it was sent at `now`.
[[nodiscard]] std::chrono::microseconds until_next_run(const Report& report, SteadyClock::time_point now);

}  // namespace dogged::runtime
