// Counts under the names of OpenTelemetry's conventions for messaging, as Prometheus has them: dots become underscores,
// the unit and `_total` stand at the end.
// https://opentelemetry.io/docs/specs/semconv/messaging/messaging-metrics/
// https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/#metric-metadata-1
#pragma once

#include <cstdint>
#include <string_view>

#include <dogged/metrics.hpp>
#include <dogged/retry_metrics.hpp>

#include "retry/duration_counts.hpp"
#include "retry/exposition.hpp"
#include "retry/metric_series.hpp"

namespace dogged {

[[nodiscard]] constexpr bool shows_dogged(MetricNames names) noexcept { return names != MetricNames::otel; }
[[nodiscard]] constexpr bool shows_otel(MetricNames names) noexcept { return names != MetricNames::dogged; }

/// `dogged`, `otel` or `both`; throws InvalidInput for another text.
[[nodiscard]] MetricNames metric_names_from_text(std::string_view text);

/// Of a family of messaging. no_label: the series has no such label.
struct MessagingSeries {
  std::string_view operation;  ///< send, receive, process or settle: its name and its type
  std::string_view queue = no_label;
  std::string_view task = no_label;
  std::string_view error_type = no_label;
};

/// Of the family that was begun last.
void write_messaging(MetricsWriter& writer, const MessagingSeries& series, std::uint64_t count);
void write_messaging(MetricsWriter& writer, const MessagingSeries& series,
                     const DurationCounts<retry_duration_buckets>::Read& durations);

}  // namespace dogged
