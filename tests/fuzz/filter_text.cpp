// Filters of `dogged tasks list`: --ids, and the wildcards of --name.
#include "cli/input/filter_text.hpp"

#include <string>

#include "fuzz.hpp"

using namespace dogged;

namespace {

constexpr auto digits = "0123456789";

void check_range(const std::string& text) {
  const auto range = cli::id_range_from_text(text);
  const auto dash = text.find('-');
  const bool is_of_digits = dash != text.npos && dash > 0 && text.find_first_not_of(digits) == dash &&
                            text.find_first_not_of(digits, dash + 1) == text.npos;
  if (!range) {
    const bool is_short = text.size() <= 18;  // longer ones may be too large
    const bool has_last = is_of_digits && dash + 1 < text.size();
    const bool is_range = is_of_digits && is_short && std::stoll(text) >= 1 &&
                          (!has_last || std::stoll(text.substr(dash + 1)) >= std::stoll(text));
    fuzz::require(!is_range, "a range is taken", text);
    return;
  }
  fuzz::require(is_of_digits, "a range is two numbers, or one and a dash", text);
  fuzz::require(range->first == std::stoll(text) && range->first >= 1, "the first id is the text's", text);
  fuzz::require(range->last.has_value() == (dash + 1 < text.size()), "there is a last id where it is given", text);
  if (range->last) {
    fuzz::require(*range->last == std::stoll(text.substr(dash + 1)), "the last id is the text's", text);
    fuzz::require(*range->last >= range->first, "a range is not empty", text);
  }
}

/// The pattern as LIKE reads it.
std::string read_as_like(const std::string& pattern) {
  std::string glob;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '%') {
      glob += '*';
    } else if (pattern[i] == '_') {
      glob += '?';
    } else if (pattern[i] == '\\') {
      fuzz::require(++i < pattern.size(), "a pattern does not end with its escape", pattern);
      fuzz::require(pattern[i] != '*' && pattern[i] != '?', "a wildcard is none that is escaped", pattern);
      glob += pattern[i];
    } else {
      fuzz::require(pattern[i] != '*' && pattern[i] != '?', "every wildcard is one of LIKE's", pattern);
      glob += pattern[i];
    }
  }
  return glob;
}

}  // namespace

FUZZ_TARGET(filter_text, input) {
  const std::string text{input};
  check_range(text);
  require(read_as_like(cli::like_pattern(text)) == text, "a pattern reads back as its glob", text);
}
