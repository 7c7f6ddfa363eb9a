// The metrics of retries as Prometheus reads them.
#pragma once

#include <dogged/retry_metrics.hpp>

#include "retry/exposition.hpp"

namespace dogged {

/// A family without series has its HELP and TYPE alone.
void write_retry_metrics(MetricsWriter& writer, const RetryMetricsSnapshot& snapshot);

}  // namespace dogged
