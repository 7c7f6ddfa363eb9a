// The metrics of retries as Prometheus reads them.
#pragma once

#include <string>

#include <dogged/retry_metrics.hpp>

namespace dogged {

[[nodiscard]] std::string prometheus_text(const RetryMetricsSnapshot& snapshot);

}  // namespace dogged
