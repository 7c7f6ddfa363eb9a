// The stable name of a line of the log, for programs that read logs.
//
//   log->log(event("circuit_opened"), spdlog::level::warn, "circuit {} is open", name);
//
// spdlog carries the name where it carries the function that logs. The formatters of a worker's --log-format read it
// there. Other formats do not show it: the line number is 0, so spdlog takes the place for unknown.
#pragma once

#include <spdlog/common.h>

namespace dogged {

/// `name` is a literal, in lower case with underscores.
[[nodiscard]] constexpr spdlog::source_loc event(const char* name) noexcept { return {"", 0, name}; }

}  // namespace dogged
