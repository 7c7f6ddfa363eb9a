// The one copy of the function by which spdlog formats lines of the log.
#include "client/log_event.hpp"

#include <spdlog/spdlog.h>

#ifdef DOGGED_FORMATS_LOG_LINES
template void fmt::detail::vformat_to<char>(fmt::detail::buffer<char>&, fmt::string_view, fmt::format_args,
                                            fmt::detail::locale_ref);
#endif
