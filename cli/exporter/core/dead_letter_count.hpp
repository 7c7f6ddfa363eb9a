// The count of all dead letters, a slice in each reading.
//
// No index holds the task and the error code, so a count reads each dead letter. One reading took 0.3 s to count a
// million. A slice of 50,000 takes some 25 ms (decision 0015), and a million take 20 readings. Where the server is
// slower, slices become smaller. The exporter keeps the answer until the next count ends.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/exporter/reading.hpp"

namespace dogged::cli::exporter {

/// At most so many dead letters are counted in one reading, and those that ended in the same microsecond as the last of
/// them.
inline constexpr std::int64_t most_dead_letters_a_slice = 50'000;
/// A slice that takes longer halves the next ones, down to `fewest_dead_letters_a_slice`. A slice that takes a third of
/// this time doubles them.
inline constexpr std::chrono::milliseconds longest_slice{40};
inline constexpr std::int64_t fewest_dead_letters_a_slice = 1'000;
/// A count begins at the earliest so long after the begin of the one before.
inline constexpr std::chrono::minutes between_counts_of_dead_letters{5};
/// A count tells so many pairs of task and error code apart. The dead letters of further pairs are summed as task
/// `other`.
inline constexpr std::size_t most_pairs_in_count = 100'000;

/// The dead letters of tasks that ended after `after_us` and, if that is given, before `until_us`. In µs since 1970, by
/// the database's clock.
struct DeadLetterRange {
  std::int64_t after_us = 0;
  std::optional<std::int64_t> until_us;

  bool operator==(const DeadLetterRange&) const = default;
};

/// The first dead letters of a range, by their ends.
struct DeadLetterSlice {
  std::vector<DeadLetters> letters;
  std::optional<std::int64_t> end_us;  ///< when the last of them ended; nothing: no dead letters of the range follow
  std::int64_t until_us = 0;           ///< the range's; if it had none, the time of the reading
};

/// A count leaves out the tasks that end after its begin. So the count ends, however many tasks fail meanwhile. A task
/// that is replayed and fails again counts at most once. Not thread-safe.
class DeadLetterCount {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// By task and error code, in order. The pairs with the most dead letters come first into the bounds of MetricSeries,
  /// and the others are summed as `other`.
  struct Answer {
    std::vector<DeadLetters> letters;
    Time begun;
  };

  /// A reading at `now` counts a slice of this range. Nothing: none is due.
  [[nodiscard]] std::optional<DeadLetterRange> next(Time now) const;

  /// How many dead letters the slice has.
  [[nodiscard]] std::int64_t rows() const { return rows_; }

  /// The reading that began at `now` has counted a slice of next(now), which took so long.
  void on_slice(DeadLetterSlice slice, Time now, Time::duration took);

  /// Of the last count that has ended.
  [[nodiscard]] const std::optional<Answer>& answer() const { return answer_; }

 private:
  struct Count {
    Time begun;
    DeadLetterRange range;
    std::map<std::pair<std::string, std::string>, std::uint64_t> letters;
  };

  void add(DeadLetters&& row);
  [[nodiscard]] std::vector<DeadLetters> largest() const;

  std::int64_t rows_ = most_dead_letters_a_slice;
  std::optional<Count> count_;  ///< while a count goes on
  std::optional<Answer> answer_;
};

}  // namespace dogged::cli::exporter
