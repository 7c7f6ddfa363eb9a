// See storable_text.hpp.
#include "storable_text.hpp"

#include <algorithm>

namespace dogged::runtime {
namespace {

/// Length of the UTF-8 sequence that begins `text`; 0 if it is not a valid one (RFC 3629).
std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first == 0) return 0;
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) > 0x9F;
  const bool too_large = first == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

}  // namespace

std::string storable_text(std::string_view text, std::size_t max_bytes) {
  constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD
  const std::string mark = "… [cut: " + std::to_string(text.size()) + " bytes in all]";
  const std::size_t room = max_bytes - mark.size();
  std::string kept;
  std::size_t kept_with_room_for_mark = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = utf8_sequence(rest);
    kept += length > 0 ? rest.substr(0, length) : replacement;
    rest.remove_prefix(std::max<std::size_t>(length, 1));
    if (kept.size() <= room) kept_with_room_for_mark = kept.size();
    if (kept.size() > max_bytes) return kept.substr(0, kept_with_room_for_mark) + mark;
  }
  return kept;
}

}  // namespace dogged::runtime
