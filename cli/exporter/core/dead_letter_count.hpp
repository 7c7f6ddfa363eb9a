// The count of all dead letters, a slice in each reading.
//
// No index holds the task and the error code, so a count reads each dead letter. One reading took 0.3 s to count a
// million. A slice takes some 25 ms (decision 0015), and a million take 20 readings. The exporter keeps the answer
// until the next count ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "cli/exporter/reading.hpp"
#include "retry/metric_series.hpp"

namespace dogged::cli::exporter {

/// So many dead letters are counted in one reading, and those that ended in the same microsecond as the last of them.
inline constexpr std::int64_t dead_letters_a_slice = 50'000;
/// A count begins at the earliest so long after the begin of the one before.
inline constexpr std::chrono::minutes between_counts_of_dead_letters{5};

/// A slice: its counts, and when the last of its tasks ended, in µs since 1970. Nothing: no dead letters follow.
struct DeadLetterSlice {
  std::vector<DeadLetters> letters;
  std::optional<std::int64_t> end_us;
};

/// Dead letters that come or go during a count may be in it or not. Not thread-safe.
class DeadLetterCount {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// All tasks and error codes, in order; those without room in MetricSeries are summed as `other`.
  struct Answer {
    std::vector<DeadLetters> letters;
    Time begun;
  };

  /// A reading at `now` counts the slice of tasks that ended later than this, in µs since 1970. Nothing: none is due.
  [[nodiscard]] std::optional<std::int64_t> next(Time now) const;

  /// The reading that began at `now` has counted the slice that next(now) named.
  void on_slice(const DeadLetterSlice& slice, Time now);

  /// Of the last count that has ended.
  [[nodiscard]] const std::optional<Answer>& answer() const { return answer_; }

 private:
  struct Count {
    explicit Count(Time now) : begun(now) {}

    Time begun;
    std::int64_t after_us = 0;
    MetricSeries<2, std::uint64_t, most_error_codes> letters;
  };

  std::optional<Count> count_;  ///< while a count goes on
  std::optional<Answer> answer_;
};

}  // namespace dogged::cli::exporter
