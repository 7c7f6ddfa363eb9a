// A client's records of its own retries: in the process's retry metrics and in its log. worker/report/recorded.hpp does
// the same, in the same form, for a worker's tasks.
#pragma once

#include <string_view>

#include <spdlog/spdlog.h>

#include <dogged/policy.hpp>
#include <dogged/retry_options.hpp>

namespace dogged {

/// Options that count, and write a line of the log for each retry of `call`, and for its end if it has failed. All
/// three arguments must outlive them.
[[nodiscard]] RetryOptions noted_retries(std::string_view call, const RetryPolicy& policy, spdlog::logger& log);

}  // namespace dogged
