// The text of an error for a value that is longer as JSON than the table settings allow.
#pragma once

#include <cstddef>
#include <string>

namespace dogged::detail {

/// `what` is "the result", for example. `bytes` is how long it is (bytes_as_jsonb).
[[nodiscard]] inline std::string too_long_as_json(const std::string& what, std::size_t bytes, std::size_t limit) {
  return what + " has " + std::to_string(bytes) + " bytes as JSON; the limit is " + std::to_string(limit) +
         " (max_result_bytes in the table settings)";
}

}  // namespace dogged::detail
