// The family of a task, as `dogged tasks show` draws it: the tasks above it, and the tree of those below.
#pragma once

#include <string>

#include "cli/render/style.hpp"
#include "cli/render/task_view.hpp"

namespace dogged::cli {

/// Lines of at most `style.width` columns (60 at least), each with its newline; none for a task without relatives.
[[nodiscard]] std::string render_lineage(const TaskHistory& history, const Style& style);

}  // namespace dogged::cli
