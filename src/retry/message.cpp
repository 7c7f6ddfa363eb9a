// The wording of error messages.
#include "retry/message.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace dogged {
namespace {

constexpr std::size_t max_printed_bytes = 60;
constexpr std::size_t max_suggested_distance = 2;

/// Levenshtein's distance, by rows: https://en.wikipedia.org/wiki/Levenshtein_distance
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  for (char c : text.substr(0, max_printed_bytes)) result += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > max_printed_bytes ? result + "..." : result;
}

std::string in_quotes(std::string_view text) { return '"' + printable(text) + '"'; }

std::string alternatives(const Words& words) {
  std::string result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) result += i + 1 == words.size() ? " or " : ", ";
    result += words[i];
  }
  return result;
}

std::string suggestion(std::string_view word, const Words& words) {
  std::size_t least = std::min(max_suggested_distance + 1, word.size());
  std::string_view nearest;
  for (std::string_view candidate : words) {
    if (word.size() > candidate.size() + max_suggested_distance) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  if (nearest.empty()) return {};
  return " (did you mean " + in_quotes(nearest) + "?)";
}

}  // namespace dogged
