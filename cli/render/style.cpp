// ANSI colours: https://en.wikipedia.org/wiki/ANSI_escape_code#SGR
#include "cli/render/style.hpp"

namespace dogged::cli {
namespace {

std::string_view code_of(Color color) {
  switch (color) {
    case Color::plain:
      return "";
    case Color::bold:
      return "1";
    case Color::dim:
      return "2";
    case Color::red:
      return "31";
    case Color::green:
      return "32";
    case Color::yellow:
      return "33";
    case Color::blue:
      return "34";
    case Color::magenta:
      return "35";
    case Color::cyan:
      return "36";
  }
  return "";
}

}  // namespace

std::string Style::paint(Color chosen, std::string_view text) const {
  if (!color || chosen == Color::plain || text.empty()) return std::string{text};
  return "\033[" + std::string{code_of(chosen)} + "m" + std::string{text} + "\033[0m";
}

}  // namespace dogged::cli
