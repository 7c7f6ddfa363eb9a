// See filter_text.hpp.
#include "cli/input/filter_text.hpp"

#include <charconv>
#include <system_error>

namespace dogged::cli {
namespace {

std::optional<std::int64_t> id_of(std::string_view text) {
  std::int64_t id = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, id);
  return error == std::errc{} && stopped == end && id > 0 ? std::optional{id} : std::nullopt;
}

}  // namespace

std::string like_pattern(const std::string& glob) {
  std::string pattern;
  for (const char c : glob) {
    if (c == '*') {
      pattern += '%';
    } else if (c == '?') {
      pattern += '_';
    } else {
      if (c == '%' || c == '_' || c == '\\') pattern += '\\';
      pattern += c;
    }
  }
  return pattern;
}

std::optional<IdRange> id_range_from_text(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = id_of(text.substr(0, dash));
  const std::string_view rest = text.substr(dash + 1);
  const auto last = id_of(rest);
  if (!first || (!rest.empty() && !last) || (last && *first > *last)) return std::nullopt;
  return IdRange{*first, last};
}

}  // namespace dogged::cli
