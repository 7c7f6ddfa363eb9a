// Counts of the attempts that a worker process has ended, for Prometheus.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

#include <dogged/attempt_outcome.hpp>

#include "retry/exposition.hpp"
#include "retry/metric_series.hpp"

namespace dogged::runtime {

/// The upper bounds of dogged_worker_attempt_seconds: about three for each power of ten, from a cache's answer to an
/// hour's export.
inline constexpr std::array<double, 16> attempt_second_buckets = {0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1,
                                                                  2.5,   5,     10,   30,   60,  300,  900, 3600};

/// Thread-safe. In each family at most limits::metric_series series; further ones are counted as `other`.
class AttemptCounts {
 public:
  /// An attempt has ended so, as far as the worker knows: the database may still refuse its report.
  void ended(std::string_view queue, std::string_view task, AttemptOutcome outcome,
             std::chrono::nanoseconds ran) noexcept;

  void write_to(MetricsWriter& writer) const;

 private:
  struct Durations {
    std::array<std::atomic<std::uint64_t>, attempt_second_buckets.size() + 1> counts{};
    std::atomic<std::int64_t> sum_us{0};
  };

  MetricSeries<3, std::atomic<std::uint64_t>> by_outcome_;  // queue, task, outcome
  MetricSeries<2, Durations> durations_;                    // queue, task
};

}  // namespace dogged::runtime
