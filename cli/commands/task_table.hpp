// Tasks as lines of a table: of `dogged tasks list`, and of `watch`.
#pragma once

#include <vector>

#include "cli/invocation.hpp"
#include "cli/render/task_view.hpp"

namespace dogged::cli {

extern const std::vector<Column> task_columns;

[[nodiscard]] Color color_of_status(lifecycle::Status status);
[[nodiscard]] Record record_of(const TaskView& task, Zone zone);

}  // namespace dogged::cli
