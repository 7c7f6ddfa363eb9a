// The log of a worker and of a client. One record is one line, whatever tasks, workers, hosts and servers are called or
// say.
#pragma once

#include <memory>

#include <spdlog/logger.h>

namespace dogged {

/// A logger with the name, the present level and the sinks of `log`. Messages reach the sinks escaped
/// (text/escaped.hpp).
[[nodiscard]] std::shared_ptr<spdlog::logger> escaping(const std::shared_ptr<spdlog::logger>& log);

}  // namespace dogged
