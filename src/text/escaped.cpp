// See escaped.hpp.
#include "text/escaped.hpp"

#include <cstddef>

#include "text/utf8.hpp"

namespace dogged {
namespace {

char32_t code_point_of(std::string_view sequence) {
  if (sequence.size() == 1) return static_cast<unsigned char>(sequence.front());
  char32_t value = static_cast<unsigned char>(sequence.front()) & (0xFFU >> (sequence.size() + 1));
  for (const char next : sequence.substr(1)) value = value << 6U | (static_cast<unsigned char>(next) & 0x3FU);
  return value;
}

std::string hexadecimal(char32_t value, int digits) {
  std::string text;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) text += "0123456789abcdef"[value >> shift & 0xFU];
  return text;
}

std::string escape_of(char32_t c) {
  if (c == U'\n') return "\\n";
  if (c == U'\r') return "\\r";
  if (c == U'\t') return "\\t";
  return "\\u" + hexadecimal(c, 4);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = text.front() == '\0' ? 1 : utf8_sequence(text);
    if (length == 0) {
      result += "\\x" + hexadecimal(static_cast<unsigned char>(text.front()), 2);
      text.remove_prefix(1);
      continue;
    }
    const std::string_view character = text.substr(0, length);
    const char32_t c = code_point_of(character);
    if (is_forging(c)) {
      result += escape_of(c);
    } else {
      result += character;
    }
    text.remove_prefix(length);
  }
  return result;
}

std::string escaped_json(std::string_view json_text) {
  std::string result;
  result.reserve(json_text.size());
  while (!json_text.empty()) {
    const std::size_t length = json_text.front() == '\0' ? 1 : utf8_sequence(json_text);
    const std::string_view character = json_text.substr(0, length == 0 ? 1 : length);
    const char32_t c = length == 0 ? 0 : code_point_of(character);
    if (c >= 0x7F && is_forging(c)) {
      result += escape_of(c);
    } else {
      result += character;
    }
    json_text.remove_prefix(character.size());
  }
  return result;
}

}  // namespace dogged
