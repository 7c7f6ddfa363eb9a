// See dead_letter_count.hpp.
#include "cli/exporter/core/dead_letter_count.hpp"

#include <algorithm>
#include <tuple>

#include "retry/metric_series.hpp"

namespace dogged::cli::exporter {

std::optional<DeadLetterRange> DeadLetterCount::next(Time now) const {
  if (count_) return count_->range;
  if (answer_ && now < answer_->begun + between_counts_of_dead_letters) return std::nullopt;
  return DeadLetterRange{};
}

void DeadLetterCount::on_slice(DeadLetterSlice slice, Time now, Time::duration took) {
  if (took > longest_slice) {
    rows_ = std::max(rows_ / 2, fewest_dead_letters_a_slice);
  } else if (3 * took < longest_slice) {
    rows_ = std::min(rows_ * 2, most_dead_letters_a_slice);
  }
  if (!count_) count_ = Count{.begun = now, .range = {}, .letters = {}};
  for (DeadLetters& row : slice.letters) add(std::move(row));
  if (slice.end_us) {
    count_->range = {.after_us = *slice.end_us, .until_us = slice.until_us};
    return;
  }
  answer_ = Answer{.letters = largest(), .begun = count_->begun};
  count_.reset();
}

void DeadLetterCount::add(DeadLetters&& row) {
  auto& letters = count_->letters;
  std::pair pair{std::move(row.task), std::move(row.error_type)};
  if (letters.size() >= most_pairs_in_count && !letters.contains(pair))
    pair = {std::string{other_label}, std::string{other_label}};
  letters[std::move(pair)] += row.count;
}

std::vector<DeadLetters> DeadLetterCount::largest() const {
  std::vector<DeadLetters> rows;
  for (const auto& [pair, count] : count_->letters) rows.push_back({pair.first, pair.second, count});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const DeadLetters& a, const DeadLetters& b) { return a.count > b.count; });
  MetricSeries<2, std::uint64_t, most_error_codes> series;
  for (const DeadLetters& row : rows) series.at({row.task, row.error_type}) += row.count;
  rows.clear();
  series.for_each([&](const auto& key, std::uint64_t count) { rows.push_back({key[0], key[1], count}); });
  std::sort(rows.begin(), rows.end(), [](const DeadLetters& a, const DeadLetters& b) {
    return std::tie(a.task, a.error_type) < std::tie(b.task, b.error_type);
  });
  return rows;
}

}  // namespace dogged::cli::exporter
