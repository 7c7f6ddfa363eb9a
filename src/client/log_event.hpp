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

// spdlog formats a line with a function template, and fmt 9 has compilers make it in each file that logs. fmt 10 keeps
// the function in its library. For fmt 9, log_event.cpp keeps the function. Without log_event.cpp, the function took a
// fifth of the time to compile worker/.
#if defined(FMT_VERSION) && FMT_VERSION / 10000 == 9 && !defined(FMT_HEADER_ONLY)
#define DOGGED_FORMATS_LOG_LINES
extern template void fmt::detail::vformat_to<char>(fmt::detail::buffer<char>&, fmt::string_view, fmt::format_args,
                                                   fmt::detail::locale_ref);
#endif
