// Escapes text from outside for logs and JSON: characters that a terminal obeys, and characters that make a reader see
// another line.
#pragma once

#include <string>
#include <string_view>

namespace dogged {

/// C0, DEL, C1, and the line separators U+2028 and U+2029. Also the characters that turn the direction of a text:
/// U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069.
[[nodiscard]] constexpr bool is_forging(char32_t c) noexcept {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

/// One line of valid UTF-8. A forging character becomes \n, \r, \t, or \u and four digits. A byte that is no UTF-8
/// becomes \x and two digits.
[[nodiscard]] std::string escaped(std::string_view text);

/// JSON text that means the same, in which the characters from DEL onward that is_forging names are \u escapes. JSON
/// text has such characters only in strings. JSON already escapes the forging characters below DEL.
[[nodiscard]] std::string escaped_json(std::string_view json_text);

}  // namespace dogged
