// A hook that writes a line of the log for each retry in the process.
//
//   dogged::RetryOptions options;
//   options.on_retry = dogged::log_retries("fetch_page", spdlog::default_logger());
//
// Needs no database, but spdlog: <dogged/retry.hpp> does not include this header.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <dogged/exception_mapper.hpp>
#include <dogged/policy.hpp>
#include <dogged/retry_result.hpp>

namespace spdlog {
class logger;
}

namespace dogged {

/// For RetryOptions::on_retry: a warning before each wait for a retry,
///
///   event=retry operation=fetch_page attempt=2 error=HTTP_503 delay_ms=214 message="the shop did not answer"
///
/// `attempt`: the number of the attempt that failed, from 1. `error`: TIMEOUT for an AttemptTimeout, else the code that
/// `exceptions` gives. `message`: what() of the error, at most 500 bytes of it, with control characters escaped. A line
/// is one line, whatever `operation` and the error say. Throws InvalidInput if `log` is null. The hook may be copied,
/// and called by any thread if the log's sinks may.
[[nodiscard]] std::function<void(const RetrySummary&, milliseconds)> log_retries(std::string operation,
                                                                                 std::shared_ptr<spdlog::logger> log,
                                                                                 ExceptionMapper exceptions = {});

}  // namespace dogged
