// See codes_text.hpp.
#include "cli/render/codes_text.hpp"

#include <algorithm>

#include <dogged/detail/names.hpp>

#include "cli/render/text.hpp"
#include "retry/named_code_sets.hpp"

namespace dogged::cli {
namespace {

/// Fewer codes are as quickly read as the name of their list.
constexpr std::ptrdiff_t least_named = 3;

std::vector<const NamedCodeSet*> the_largest_first() {
  std::vector<const NamedCodeSet*> sets;
  for (const NamedCodeSet& set : named_code_sets()) sets.push_back(&set);
  std::stable_sort(sets.begin(), sets.end(),
                   [](const auto* a, const auto* b) { return a->codes.size() > b->codes.size(); });
  return sets;
}

}  // namespace

std::string codes_text(const std::vector<std::string>& codes, bool in_full) {
  const auto is_listed = [&](std::string_view code) {
    return std::find(codes.begin(), codes.end(), code) != codes.end();
  };
  std::vector<std::string> texts;
  std::vector<std::string> left = codes;
  for (const NamedCodeSet* set : the_largest_first()) {
    if (in_full || !std::all_of(set->codes.begin(), set->codes.end(), is_listed)) continue;
    const auto of_set = std::stable_partition(left.begin(), left.end(),
                                              [&](const std::string& code) { return !set->codes.contains(code); });
    if (left.end() - of_set < least_named) continue;
    left.erase(of_set, left.end());
    texts.push_back(std::string{set->name} + " (" + std::to_string(set->codes.size()) + " codes)");
  }
  for (const std::string& code : left) texts.push_back(code == codes::any ? "every error code (*)" : code);
  return joined(texts);
}

}  // namespace dogged::cli
