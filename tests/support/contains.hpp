// Whether a text has a part.
#pragma once

#include <string_view>

namespace dogged::test {

[[nodiscard]] inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace dogged::test
