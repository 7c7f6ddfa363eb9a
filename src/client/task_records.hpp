// Reads a task and its attempts from the views.
#pragma once

#include <optional>
#include <vector>

#include <dogged/task_record.hpp>

#include "db/connection_fwd.hpp"

namespace dogged {

/// In order. Empty if the task has none, or does not exist.
[[nodiscard]] std::vector<AttemptRecord> read_attempts(db::Connection& connection, TaskId id);

/// The task and its timeline, of one moment. Nothing if the task does not exist.
[[nodiscard]] std::optional<TaskRecord> read_task(db::Connection& connection, TaskId id);

}  // namespace dogged
