// A client's records of its own retries: in the process's retry metrics and in its log. worker/report/recorded.hpp does
// the same, in the same form, for a worker's tasks.
#pragma once

#include <memory>
#include <string>

#include <spdlog/spdlog.h>

#include <dogged/policy.hpp>
#include <dogged/retry_options.hpp>

namespace dogged {

/// Options that count, and write a line of the log for each retry of `call` by `policy`, and for its end if it has
/// failed.
[[nodiscard]] RetryOptions noted_retries(const std::string& call, const RetryPolicy& policy,
                                         const std::shared_ptr<spdlog::logger>& log);

}  // namespace dogged
