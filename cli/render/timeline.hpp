// The timeline of a task, as `dogged tasks show` draws it. The drawing has a title, a line and a bar for each attempt,
// the waits between attempts, and the next run. All bars share one scale of time.
#pragma once

#include <string>

#include "cli/render/style.hpp"
#include "cli/render/task_view.hpp"

namespace dogged::cli {

enum class TimelineParts {
  all,
  without_args_and_error,  ///< for callers that show args, and the message of the last error, whole
};

/// Lines of at most `style.width` columns (60 at least), each with its newline. A pure function: "now" is the
/// history's.
[[nodiscard]] std::string render_timeline(const TaskHistory& history, const Style& style,
                                          TimelineParts parts = TimelineParts::all);

}  // namespace dogged::cli
