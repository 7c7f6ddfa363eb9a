// A task with all that tells its story, read from the database.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/render/task_view.hpp"
#include "db/connection_fwd.hpp"

namespace dogged::cli {

/// Nothing where there is no such task.
[[nodiscard]] std::optional<TaskHistory> read_history(db::Connection& connection, std::int64_t id);

}  // namespace dogged::cli
