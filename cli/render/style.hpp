// How output looks: its width, its characters, its colours and its time zone. A value, so that renderers are
// pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/render/moment.hpp"

namespace dogged::cli {

constexpr std::size_t column_gap = 2;          ///< spaces between the columns of a table or a picture
constexpr std::size_t narrowest_picture = 60;  ///< where a terminal is narrower, its lines are broken

enum class Color { plain, bold, dim, red, green, yellow, blue, magenta, cyan };

struct Style {
  std::size_t width = 80;   ///< columns of a line
  bool wide = false;        ///< tables with all of their columns; times and lists in full
  bool uncut = false;       ///< args and messages in full in drawings
  bool unicode = true;      ///< false: ASCII alone
  bool color = false;       ///< ANSI colours
  Zone zone = Zone::local;  ///< of the times that people read

  /// `text` in a colour, where colours are wanted.
  [[nodiscard]] std::string paint(Color chosen, std::string_view text) const;
  /// The one of the two that the terminal can show.
  [[nodiscard]] std::string_view pick(std::string_view with_unicode, std::string_view with_ascii) const {
    return unicode ? with_unicode : with_ascii;
  }
};

}  // namespace dogged::cli
