// Text of any origin as PostgreSQL can store it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dogged::runtime {

/// `text` as PostgreSQL can store it. Invalid UTF-8 and NUL bytes are replaced by U+FFFD. The text is cut to at most
/// `max_bytes`, with a mark that says how long it was.
[[nodiscard]] std::string storable_text(std::string_view text, std::size_t max_bytes);

}  // namespace dogged::runtime
