// Reports as the parameters of complete.sql.
#pragma once

#include <cstdint>
#include <vector>

#include "claimed_task.hpp"
#include "db/connection.hpp"

namespace dogged::runtime {

/// The fields of `reports`, of tasks that `worker_id` holds, as arrays: of all reports what each has, and of those that
/// say more than that the attempt succeeded the rest, with their position (from 1). Times are sent as how long ago they
/// were when the statement goes out, so that what it says is never earlier than what was.
[[nodiscard]] db::Params completion_params(std::int64_t worker_id, const std::vector<Report>& reports);

}  // namespace dogged::runtime
