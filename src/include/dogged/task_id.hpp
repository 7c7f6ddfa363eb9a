// The id of a task.
#pragma once

#include <cstdint>

namespace dogged {

/// Identifies a task for its whole life; positive. The database gives ids in the order of enqueueing.
using TaskId = std::int64_t;

}  // namespace dogged
