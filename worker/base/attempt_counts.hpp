// Counts of the attempts that a worker process has ended, for Prometheus.
#pragma once

#include <array>
#include <chrono>
#include <string_view>

#include <dogged/attempt_outcome.hpp>
#include <dogged/metrics.hpp>
#include <dogged/retry_metrics.hpp>
#include <dogged/trace_context.hpp>

#include "retry/duration_counts.hpp"
#include "retry/exposition.hpp"
#include "retry/metric_series.hpp"

namespace dogged::runtime {

/// An attempt that has ended so, as far as the worker knows: the database may still refuse its report.
struct CountedAttempt {
  std::string_view queue;
  std::string_view task;
  AttemptOutcome outcome = AttemptOutcome::succeeded;
  std::string_view error_code = {};  ///< empty if it succeeded
  std::chrono::nanoseconds ran{0};
  const TraceContext* trace = nullptr;  ///< null: none
};

/// Thread-safe. At most limits::metric_series tasks with their queues, and as many failures by error code. Of further
/// failures first the code is `other`, of further tasks the name.
class AttemptCounts {
 public:
  using Durations = DurationCounts<retry_duration_buckets>;
  using ByOutcome = std::array<Durations, detail::outcome_texts.size()>;  ///< by AttemptOutcome

  void ended(const CountedAttempt& attempt) noexcept { ended(attempt, of_task(attempt.queue, attempt.task)); }
  /// `of_task` has the counters of the attempt's queue and task; the caller answers for that. A thread that runs one
  /// task again and again looks them up once. A lookup for each attempt took a twentieth of a worker's CPU in a drain.
  void ended(const CountedAttempt& attempt, ByOutcome& of_task) noexcept;
  /// Valid while this lives.
  [[nodiscard]] ByOutcome& of_task(std::string_view queue, std::string_view task) noexcept {
    return by_task_.at({queue, task});
  }

  void write_to(MetricsWriter& writer, MetricNames names) const;

 private:
  void write_ours(MetricsWriter& writer) const;
  void write_messaging_families(MetricsWriter& writer) const;

  MetricSeries<2, ByOutcome> by_task_;                   // queue, task
  MetricSeries<3, Durations, most_error_codes> failed_;  // queue, task, error code: OpenTelemetry wants it
};

}  // namespace dogged::runtime
