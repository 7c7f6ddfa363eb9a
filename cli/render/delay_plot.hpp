// A retry policy's delays as a table with bars: `dogged policy show`.
#pragma once

#include <string>
#include <vector>

#include <dogged/policy.hpp>

#include "cli/render/style.hpp"

namespace dogged::cli {

/// The delay before each retry: number 1 first; empty for the policies `none` and `custom`.
[[nodiscard]] std::vector<DelayRange> delays_of(const RetryPolicy& policy);

/// All delays together.
[[nodiscard]] DelayRange total_of(const std::vector<DelayRange>& delays);

/// Lines of at most `style.width` columns (60 at least), each with its newline.
[[nodiscard]] std::string render_delays(const RetryPolicy& policy, const Style& style);

}  // namespace dogged::cli
