// Text in columns.
#include "cli/render/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace dogged::cli {
namespace {

struct CodePoint {
  char32_t value;
  std::size_t bytes;
  bool valid;
};

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// The length that the first byte announces; 0 where it begins no character.
std::size_t announced_bytes(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  if (first >= 0xF0 && first < 0xF5) return 4;
  return 0;
}

/// The first character of a text that is not empty; one byte that is not valid where it begins no character.
CodePoint first_of(std::string_view text) {
  constexpr CodePoint broken{U'?', 1, false};
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t bytes = announced_bytes(first);
  if (bytes == 0 || bytes > text.size()) return broken;
  if (bytes == 1) return {first, 1, true};
  char32_t value = first & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!is_continuation(text[i])) return broken;
    value = (value << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  const bool overlong = (bytes == 3 && value < 0x800) || (bytes == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (overlong || surrogate || value > 0x10FFFF) return broken;
  return {value, bytes, true};
}

struct Range {
  char32_t first;
  char32_t last;
};

template <std::size_t N>
bool is_in(const std::array<Range, N>& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(), [c](Range r) { return c >= r.first && c <= r.last; });
}

/// C0, DEL, C1 and the line separators.
bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029; }

/// Characters that are invisible or that turn the direction of what follows.
bool is_invisible(char32_t c) {
  static constexpr std::array<Range, 6> ranges{
      {{0x061C, 0x061C}, {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2069}, {0xFEFF, 0xFEFF}, {0xE0000, 0xE007F}}};
  return is_in(ranges, c);
}

/// By https://www.unicode.org/reports/tr11/ in large blocks: enough for columns to stand straight in common
/// text.
std::size_t width_of(char32_t c) {
  static constexpr std::array<Range, 4> combining{
      {{0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}}};
  static constexpr std::array<Range, 9> wide{{{0x1100, 0x115F},
                                              {0x2E80, 0xA4CF},
                                              {0xAC00, 0xD7A3},
                                              {0xF900, 0xFAFF},
                                              {0xFE30, 0xFE6F},
                                              {0xFF00, 0xFF60},
                                              {0xFFE0, 0xFFE6},
                                              {0x1F300, 0x1FAFF},
                                              {0x20000, 0x3FFFD}}};
  if (is_in(combining, c)) return 0;
  return is_in(wide, c) ? 2 : 1;
}

/// As much of the text as fits into `width` columns.
std::string_view beginning_of(std::string_view text, std::size_t width) {
  std::size_t used = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const CodePoint c = first_of(rest);
    if (used + width_of(c.value) > width) break;
    used += width_of(c.value);
    rest.remove_prefix(c.bytes);
  }
  return text.substr(0, text.size() - rest.size());
}

/// The same from its end.
std::string_view end_of(std::string_view text, std::size_t width) {
  std::size_t left = display_width(text);
  while (!text.empty()) {
    const CodePoint c = first_of(text);
    const bool is_mark_of_what_was_cut = width_of(c.value) == 0;
    if (left <= width && !is_mark_of_what_was_cut) break;
    left -= width_of(c.value);
    text.remove_prefix(c.bytes);
  }
  return text;
}

}  // namespace

std::string harmless(std::string_view text, bool unicode) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const CodePoint c = first_of(text);
    if (is_control(c.value)) {
      result += ' ';
    } else if (is_invisible(c.value)) {
      // dropped
    } else if (!c.valid || (!unicode && c.value > 0x7E)) {
      result += '?';
    } else {
      result += text.substr(0, c.bytes);
    }
    text.remove_prefix(c.bytes);
  }
  return result;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const CodePoint c = first_of(text);
    width += width_of(c.value);
    text.remove_prefix(c.bytes);
  }
  return width;
}

std::string shorten(std::string_view text, std::size_t width, bool unicode, Cut cut) {
  if (text.size() <= width || display_width(text) <= width) return std::string{text};
  const std::string_view ellipsis = unicode ? "…" : "...";
  const std::size_t ellipsis_width = display_width(ellipsis);
  if (width < ellipsis_width) return std::string(width, '.');
  const std::size_t kept = width - ellipsis_width;
  const std::size_t at_end = cut == Cut::middle ? kept / 2 : 0;
  return std::string{beginning_of(text, kept - at_end)} + std::string{ellipsis} + std::string{end_of(text, at_end)};
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width, bool unicode, std::size_t most_lines) {
  std::vector<std::string> lines;
  while (lines.size() + 1 < most_lines && display_width(text) > width) {
    std::string_view line = beginning_of(text, width);
    if (line.empty()) break;  // a wide character in one column
    // The space may be the first character that does not fit.
    const auto space = text.rfind(' ', line.size());
    const auto mark = line.find_last_of("/,");
    if (space != std::string_view::npos && space > 0) {
      line = text.substr(0, space);
    } else if (mark != std::string_view::npos && mark > 0) {
      line = text.substr(0, mark + 1);
    }
    lines.emplace_back(line);
    text.remove_prefix(line.size());
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  if (!text.empty() || lines.empty()) lines.push_back(shorten(text, width, unicode));
  return lines;
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  return std::string{text} + std::string(used < width ? width - used : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  return std::string(used < width ? width - used : 0, ' ') + std::string{text};
}

std::string joined(const std::vector<std::string>& texts, std::string_view between) {
  std::string text;
  for (const std::string& next : texts) (text += text.empty() ? "" : between) += next;
  return text;
}

std::string repeat(std::string_view text, std::size_t times) {
  std::string result;
  result.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace dogged::cli
