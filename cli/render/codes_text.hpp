// Lists of error codes, as people read them.
#pragma once

#include <string>
#include <vector>

namespace dogged::cli {

/// `http_retryable (16 codes), MY_CODE`: the lists of <dogged/code_sets.hpp> by their names, in place of their codes.
/// `in_full`: every code. Empty for no codes.
[[nodiscard]] std::string codes_text(const std::vector<std::string>& codes, bool in_full);

}  // namespace dogged::cli
