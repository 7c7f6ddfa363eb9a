#pragma once

#include <regex>
#include <string>

namespace dogged::test {

/// The text of an error without the place of its task in a call of many. The error of a call of one names no place.
[[nodiscard]] inline std::string without_place(const std::string& error) {
  static const std::regex place{", number [0-9]+ of the call"};
  return std::regex_replace(error, place, "");
}

}  // namespace dogged::test
