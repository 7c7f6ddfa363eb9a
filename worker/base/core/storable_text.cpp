// See storable_text.hpp.
#include "base/core/storable_text.hpp"

#include <algorithm>

#include "text/utf8.hpp"

namespace dogged::runtime {

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
