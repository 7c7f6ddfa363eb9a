// See fuzz.hpp.
#include "fuzz.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <iostream>

namespace fuzz {
namespace {

/// The first character and its length; a length of 0 where there is no valid one.
struct Character {
  char32_t value = 0;
  std::size_t bytes = 0;
};

Character first_character(std::string_view text) {
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >> 5 == 0x6 ? 2 : first >> 4 == 0xE ? 3 : first >> 3 == 0x1E ? 4 : 0;
  if (bytes == 0 || text.size() < bytes) return {};
  char32_t value = first & (0x7FU >> bytes);
  for (const char next : text.substr(1, bytes - 1)) {
    if ((next & 0xC0) != 0x80) return {};
    value = value << 6 | (static_cast<unsigned char>(next) & 0x3FU);
  }
  const bool surrogate = value >= 0xD800 && value < 0xE000;
  if (value < least[bytes] || value > 0x10FFFF || surrogate) return {};
  return {value, bytes};
}

template <class Accepts>
bool all_characters(std::string_view text, Accepts accepts) {
  while (!text.empty()) {
    const Character c = first_character(text);
    if (c.bytes == 0 || !accepts(c.value)) return false;
    text.remove_prefix(c.bytes);
  }
  return true;
}

}  // namespace

std::map<std::string, Check>& targets() {
  static std::map<std::string, Check>
      all;  // in a function, because the targets of other files add themselves before main
  return all;
}

void require(bool holds, std::string_view promise, std::string_view seen) {
  if (holds) return;
  std::cerr << "fuzz: this does not hold: " << promise << "\n";
  if (!seen.empty()) std::cerr << "fuzz: seen: " << seen << "\n";
  std::abort();
}

bool is_utf8(std::string_view text) {
  return all_characters(text, [](char32_t) { return true; });
}

bool is_printable_line(std::string_view text) {
  return all_characters(text, [](char32_t c) { return c >= 0x20 && (c < 0x7F || c > 0x9F); });
}

void require_sound_message(const dogged::Error& error) {
  constexpr std::size_t longest = 1000;
  require(!error.message().empty(), "an error says something");
  for (const std::string& text : {error.message(), error.hint()}) {
    require(is_printable_line(text), "an error is one printable line", text);
    require(text.size() <= longest, "an error is short, however long the input", text);
  }
}

std::string Lines::text() {
  const std::string_view line = rest_.substr(0, rest_.find('\n'));
  rest_.remove_prefix(std::min(line.size() + 1, rest_.size()));
  return std::string{line};
}

std::int64_t Lines::number(std::int64_t least, std::int64_t most) {
  const std::string line = text();
  std::int64_t number = 0;
  std::from_chars(line.data(), line.data() + line.size(), number);
  return std::clamp(number, least, most);
}

}  // namespace fuzz
