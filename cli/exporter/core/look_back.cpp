// See look_back.hpp.
#include "cli/exporter/core/look_back.hpp"

#include <algorithm>
#include <utility>

namespace dogged::cli::exporter {

/// PostgreSQL's clock was set back since the last reading.
bool LookBack::is_set_back(std::int64_t now_us) const { return now_us < last_->at_us; }

/// How many of the marks are as old as the look back.
std::size_t LookBack::due(std::int64_t now_us, std::chrono::microseconds back) const {
  const auto is_due = [&](const Mark& mark) { return mark.at_us <= now_us - back.count(); };
  return static_cast<std::size_t>(std::find_if_not(marks_.begin(), marks_.end(), is_due) - marks_.begin());
}

std::vector<Unseen> LookBack::next(std::int64_t now_us, std::chrono::microseconds back) const {
  if (!last_) return {};
  const std::int64_t earliest = now_us - longest_gap.count();
  const std::int64_t fresh =
      is_set_back(now_us) ? now_us - back.count() : marks_.back().at_us - look_back_overlap.count();
  std::vector<Unseen> asked{
      {.snapshot = last_->snapshot, .after_us = std::max(fresh, earliest), .until_us = std::nullopt}};
  std::int64_t after = asked_until_.value_or(marks_.front().at_us - back.count());
  for (std::size_t i = 0; i < due(now_us, back); ++i) {
    const std::int64_t until = marks_[i].at_us - look_back_overlap.count();
    after = std::max(after, earliest - back.count());
    if (after < until) asked.push_back({.snapshot = marks_[i].snapshot, .after_us = after, .until_us = until});
    after = until;
  }
  return asked;
}

void LookBack::on_read(Mark now, std::chrono::microseconds back) {
  if (last_ && is_set_back(now.at_us)) *this = LookBack{};
  if (const std::size_t asked = due(now.at_us, back); asked > 0) {
    asked_until_ = marks_[asked - 1].at_us - look_back_overlap.count();
    marks_.erase(marks_.begin(), marks_.begin() + static_cast<std::ptrdiff_t>(asked));
  }
  if (marks_.empty() || now.at_us >= marks_.back().at_us + between_marks.count()) marks_.push_back(now);
  last_ = std::move(now);
}

void LookBack::on_given_up(Mark now) {
  marks_ = {now};
  last_ = std::move(now);
  asked_until_.reset();
}

}  // namespace dogged::cli::exporter
