// The metrics of `dogged exporter`. Pure.
//
// Gauges are those of the last reading. Counters and histograms add up what each reading found new, from 0 at the start
// of the exporter. Each family is as bounded as a MetricSeries: dogged_dead_letters by DeadLetterCount. Further series
// are summed under the label `other`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <dogged/retry_metrics.hpp>

#include "cli/exporter/reading.hpp"
#include "retry/exposition.hpp"
#include "retry/metric_series.hpp"

namespace dogged::cli::exporter {

class FleetMetrics {
 public:
  void add(Reading reading);
  /// PostgreSQL does not answer.
  void lose(std::string why);

  /// Why the last reading failed; empty: it did not.
  [[nodiscard]] const std::string& why_down() const noexcept { return why_down_; }

  /// Leaves out the families of queries that PostgreSQL did not answer in the last reading.
  [[nodiscard]] std::string text(MetricsFormat format) const;

 private:
  template <std::size_t BoundCount>
  struct Durations {
    std::array<std::uint64_t, BoundCount + 1> counts{};
    double seconds = 0;
  };

  void write_counters(MetricsWriter& writer) const;

  std::string why_down_ = "it was not asked yet";
  Reading last_;
  MetricSeries<4, std::uint64_t> attempts_;                        // queue, task, outcome, will_retry
  MetricSeries<2, Durations<retry_duration_buckets.size()>> ran_;  // queue, task
  MetricSeries<1, Durations<retry_delay_buckets.size()>> waited_;  // queue
  MetricSeries<2, std::uint64_t, most_error_codes> dead_letters_;  // task, error code
  MetricSeries<2, std::uint64_t> ticks_;                           // schedule, outcome
  Durations<retry_delay_buckets.size()> late_;                     // of ticks that fired
};

}  // namespace dogged::cli::exporter
