// The properties of all drawings for a terminal.
#pragma once

#include <sstream>
#include <string>

#include "cli/render/style.hpp"
#include "cli/render/text.hpp"
#include "fuzz.hpp"

namespace fuzz {

/// Without the colours, and without the spaces at the ends of lines, which a colour may keep alive.
inline std::string without_colors(const std::string& drawn) {
  std::istringstream lines{drawn};
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    for (auto at = line.find("\033["); at != std::string::npos; at = line.find("\033[")) {
      line.erase(at, line.find('m', at) + 1 - at);
    }
    result += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return result;
}

inline void require_drawn_within(const std::string& drawn, std::size_t width) {
  require(drawn.ends_with('\n'), "a drawing ends with its last line", drawn);
  std::istringstream lines{drawn};
  for (std::string line; std::getline(lines, line);) {
    require(is_printable_line(line), "a line is printable", line);
    require(dogged::cli::display_width(line) <= width, "a line fits in the terminal", line);
  }
}

}  // namespace fuzz
