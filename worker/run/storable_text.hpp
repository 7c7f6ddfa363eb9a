// Text of any origin as PostgreSQL can store it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dogged::runtime {

/// `text` as PostgreSQL can store it: invalid UTF-8 and NUL bytes replaced by U+FFFD, and cut, with a mark that says
/// how long it was, to at most `max_bytes`.
[[nodiscard]] std::string storable_text(std::string_view text, std::size_t max_bytes);

}  // namespace dogged::runtime
