// See dead_letter_count.hpp.
#include "cli/exporter/core/dead_letter_count.hpp"

#include <algorithm>
#include <tuple>

namespace dogged::cli::exporter {

std::optional<std::int64_t> DeadLetterCount::next(Time now) const {
  if (count_) return count_->after_us;
  if (answer_ && now < answer_->begun + between_counts_of_dead_letters) return std::nullopt;
  return 0;
}

void DeadLetterCount::on_slice(const DeadLetterSlice& slice, Time now) {
  if (!count_) count_.emplace(now);
  for (const DeadLetters& row : slice.letters) count_->letters.at({row.task, row.error_type}) += row.count;
  if (slice.end_us) {
    count_->after_us = *slice.end_us;
    return;
  }
  answer_ = Answer{{}, count_->begun};
  count_->letters.for_each([&](const auto& key, std::uint64_t count) {
    answer_->letters.push_back({.task = key[0], .error_type = key[1], .count = count});
  });
  count_.reset();
  std::sort(answer_->letters.begin(), answer_->letters.end(), [](const DeadLetters& a, const DeadLetters& b) {
    return std::tie(a.task, a.error_type) < std::tie(b.task, b.error_type);
  });
}

}  // namespace dogged::cli::exporter
