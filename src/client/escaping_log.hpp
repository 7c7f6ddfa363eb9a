// The worker's log. One record is one line, whatever other workers, hosts and servers are called or say.
#pragma once

#include <memory>

#include <spdlog/logger.h>

namespace dogged::runtime {

/// A logger with the name, the level and the sinks of `log`. Its messages reach the sinks escaped (retry/escaped.hpp).
[[nodiscard]] std::shared_ptr<spdlog::logger> escaping(const std::shared_ptr<spdlog::logger>& log);

}  // namespace dogged::runtime
