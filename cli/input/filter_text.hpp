// Filters of tasks as they are written: ranges of ids, and names with wildcards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dogged::cli {

struct IdRange {
  std::int64_t first;                ///< from 1
  std::optional<std::int64_t> last;  ///< not before `first`
};

/// 100-200 or 100-; nothing where `text` is neither.
[[nodiscard]] std::optional<IdRange> id_range_from_text(std::string_view text);

/// `webhook.*` as a pattern of LIKE: * is any text, ? any one character, everything else itself.
[[nodiscard]] std::string like_pattern(const std::string& glob);

}  // namespace dogged::cli
