#include <dogged/detail/cut_for_message.hpp>

namespace dogged::detail {

std::string cut_for_message(std::string_view text) {
  if (text.size() <= max_shown_key_bytes) return std::string{text};
  std::string_view kept = text.substr(0, max_shown_key_bytes);
  while (!kept.empty() && (static_cast<unsigned char>(text[kept.size()]) & 0xC0U) == 0x80U) kept.remove_suffix(1);
  return std::string{kept} + "…";
}

}  // namespace dogged::detail
