// Error messages as PostgreSQL can store them. The first line of the input is the limit, the rest the message.
#include "base/core/storable_text.hpp"

#include "fuzz.hpp"

FUZZ_TARGET(storable_text, input) {
  Lines lines{input};
  const auto limit = static_cast<std::size_t>(lines.number(256, 1048576));  // what the table settings allows
  const std::string_view text = lines.rest();
  const std::string stored = dogged::runtime::storable_text(text, limit);
  require(is_utf8(stored) && stored.find('\0') == std::string::npos, "PostgreSQL can store it", stored);
  require(stored.size() <= limit, "it is within the limit", stored);

  const bool was_sound = is_utf8(text) && text.find('\0') == std::string_view::npos;
  if (was_sound && text.size() <= limit) require(stored == text, "what can be stored is stored as it is", stored);
  const std::string mark = "[cut: " + std::to_string(text.size()) + " bytes in all]";
  if (was_sound && text.size() > limit) require(stored.ends_with(mark), "what is cut says so", stored);
}
