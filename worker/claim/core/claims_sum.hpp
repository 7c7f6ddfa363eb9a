// When the worker's entries in dogged.claims are summed up into one. The sum keeps the table small, and the search for
// held tasks short. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.hpp"

namespace dogged::runtime {

class ClaimsSum {
 public:
  [[nodiscard]] bool is_due(TimePoint now) const noexcept {
    return claimed_ > 0 && (claimed_ >= long_list || now >= due_at_);
  }
  /// The entry that lists the tasks held at the last sum; 0: none is known.
  [[nodiscard]] std::int64_t last_entry() const noexcept { return last_entry_; }

  void on_claimed(std::size_t tasks) noexcept { claimed_ += tasks; }
  /// `entry` 0: the worker held nothing.
  void on_summed_up(std::int64_t entry, TimePoint now) noexcept {
    if (entry != 0) last_entry_ = entry;
    claimed_ = 0;
    due_at_ = now + between_sums;
  }
  /// A new claim session has begun: the entry may be gone.
  void forget_entry() noexcept { last_entry_ = 0; }

 private:
  static constexpr milliseconds between_sums{1000};
  static constexpr std::size_t long_list = 16'000;

  std::size_t claimed_ = 0;  // tasks since the last sum
  TimePoint due_at_{};
  std::int64_t last_entry_ = 0;
};

}  // namespace dogged::runtime
