// See attempt_counts.hpp.
#include "runtime/attempt_counts.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace dogged::runtime {

void AttemptCounts::ended(std::string_view queue, std::string_view task, AttemptOutcome outcome,
                          std::chrono::nanoseconds ran) noexcept {
  by_outcome_.at({queue, task, to_text(outcome)}).fetch_add(1, std::memory_order_relaxed);
  Durations& durations = durations_.at({queue, task});
  const double seconds = std::chrono::duration<double>(ran).count();
  const auto bucket = std::lower_bound(attempt_second_buckets.begin(), attempt_second_buckets.end(), seconds);
  durations.counts[static_cast<std::size_t>(bucket - attempt_second_buckets.begin())].fetch_add(
      1, std::memory_order_relaxed);
  durations.sum_us.fetch_add(std::chrono::duration_cast<std::chrono::microseconds>(ran).count(),
                             std::memory_order_relaxed);
}

/// Sorted by their labels.
void AttemptCounts::write_to(MetricsWriter& writer) const {
  std::map<std::array<std::string, 3>, std::uint64_t> by_outcome;
  by_outcome_.for_each([&](const auto& key, const auto& count) { by_outcome[key] = count.load(); });
  writer.family("dogged_worker_attempts_total", "counter", "Attempts that ended, by their outcome.");
  for (const auto& [key, count] : by_outcome) {
    writer.sample({{"queue_name", key[0]}, {"task", key[1]}, {"outcome", key[2]}}, count);
  }
  struct Series {
    std::vector<std::uint64_t> counts;
    double sum = 0;
  };
  std::map<std::array<std::string, 2>, Series> durations;
  durations_.for_each([&](const auto& key, const Durations& cell) {
    Series& series = durations[key];
    for (const auto& count : cell.counts) series.counts.push_back(count.load());
    series.sum = static_cast<double>(cell.sum_us.load()) / 1e6;
  });
  writer.family("dogged_worker_attempt_seconds", "histogram", "How long handlers ran.");
  for (const auto& [key, series] : durations) {
    writer.histogram({{"queue_name", key[0]}, {"task", key[1]}}, attempt_second_buckets, series.counts, series.sum);
  }
}

}  // namespace dogged::runtime
