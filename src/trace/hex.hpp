// Ids of traces as lower-case hexadecimal digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace dogged::detail {

/// Appends two digits for each byte. A traced attempt writes its ids twice, once for its row and once for its span.
/// Appending each digit alone took a twentieth of the CPU that a span costs.
inline void add_hex(std::string& text, std::span<const std::uint8_t> bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::size_t at = text.size();
  text.resize(at + 2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    text[at++] = digits[byte >> 4U];
    text[at++] = digits[byte & 15U];
  }
}

}  // namespace dogged::detail
