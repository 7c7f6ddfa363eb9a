// What a client says of its own retries: the process's retry metrics, and its log. What a worker says of its tasks is
// in worker/report/recorded.hpp, in the same form.
#pragma once

#include <string_view>

#include <spdlog/spdlog.h>

#include <dogged/policy.hpp>
#include <dogged/retry_options.hpp>

namespace dogged {

/// Options that count, and write a line of the log for each retry of `call`, and for its end where it has failed. All
/// three must outlive them.
[[nodiscard]] RetryOptions noted_retries(std::string_view call, const RetryPolicy& policy, spdlog::logger& log);

}  // namespace dogged
