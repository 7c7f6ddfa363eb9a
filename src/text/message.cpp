// The wording of error messages.
#include "text/message.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace dogged {
namespace {

constexpr std::size_t max_printed_bytes = 60;
constexpr std::size_t max_typo_distance = 2;
constexpr std::size_t min_related_bytes = 3;  // shorter words begin too many others

/// In lower case, and with _ for the other signs that stand between words.
std::string normalized(std::string_view word) {
  std::string result{word};
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (std::string_view{"- .:/"}.find(c) != std::string_view::npos) c = '_';
  }
  return result;
}

/// Letters that were added, left out, replaced or swapped with their neighbour ("optimal string alignment"), by rows:
/// https://en.wikipedia.org/wiki/Damerau%E2%80%93Levenshtein_distance
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before_last, last, row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = last[j] + (from[i] == to[j] ? 0 : 1);
      row[j + 1] = std::min({replaced, last[j + 1] + 1, row[j] + 1});
      const bool is_swap = i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j];
      if (is_swap) row[j + 1] = std::min(row[j + 1], before_last[j - 1] + 1);
    }
  }
  return row.back();
}

/// The first of the nearest at most `most` letters away; words.end() if there is none. A word in which every letter
/// differs is no candidate, because it is no misspelling.
Words::const_iterator nearest(const std::string& word, const Words& words, std::size_t most) {
  std::size_t least = std::min(most + 1, word.size());
  auto found = words.end();
  for (auto candidate = words.begin(); candidate != words.end(); ++candidate) {
    if (word.size() > candidate->size() + most || candidate->size() > word.size() + most) continue;
    const std::size_t distance = edit_distance(word, normalized(*candidate));
    if (distance >= least) continue;
    least = distance;
    found = candidate;
  }
  return found;
}

/// Whether each part of `word`, between underscores, begins the part of `whole` in its place: exp_back is short for
/// exponential_backoff, and http for http_request.
bool is_short_for(std::string_view word, std::string_view whole) {
  for (const char c : word) {
    if (c == '_') whole.remove_prefix(std::min(whole.find('_'), whole.size()));
    if (whole.empty() || whole.front() != c) return false;
    whole.remove_prefix(1);
  }
  return true;
}

bool is_part_of(const std::string& word, const std::string& whole) {
  return ('_' + whole + '_').find('_' + word + '_') != std::string::npos;
}

bool are_related(const std::string& one, const std::string& other) {
  if (std::min(one.size(), other.size()) < min_related_bytes) return false;
  return is_short_for(one, other) || is_short_for(other, one) || is_part_of(one, other) || is_part_of(other, one);
}

std::string did_you_mean(const Words& words, Words::const_iterator meant) {
  return meant == words.end() ? "" : " (did you mean " + in_quotes(*meant) + "?)";
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

std::string suggestion_of_typo(std::string_view word, const Words& words) {
  return did_you_mean(words, nearest(normalized(word), words, max_typo_distance));
}

std::string suggestion(std::string_view word, const Words& words) {
  const std::string written = normalized(word);
  auto meant = nearest(written, words, std::max(max_typo_distance, written.size() / 3));
  if (meant == words.end()) {
    meant = std::find_if(words.begin(), words.end(),
                         [&](std::string_view candidate) { return are_related(written, normalized(candidate)); });
  }
  return did_you_mean(words, meant);
}

}  // namespace dogged
