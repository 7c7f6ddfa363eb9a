// Counts in messages.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace dogged {

/// `1 task`, `2 tasks`: for nouns whose plural has an s more.
[[nodiscard]] std::string counted(std::integral auto count, std::string_view noun) {
  return std::to_string(count) + " " + std::string{noun} + (count == 1 ? "" : "s");
}

}  // namespace dogged
