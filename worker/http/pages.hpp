// The pages that a worker serves over HTTP. Pure.
//
//   /metrics   Prometheus's text format, or OpenMetrics if the request accepts that
//   /livez     200 while the worker has not ended, else 503
//   /readyz    200 while the worker claims tasks under a lease that PostgreSQL renews, else 503 with the reason
//   /status    how the worker stands, as JSON
#pragma once

#include <string_view>

#include <dogged/metrics.hpp>
#include <dogged/retry_metrics.hpp>

#include "base/attempt_counts.hpp"
#include "base/trace_counts.hpp"
#include "http/page.hpp"
#include "retry/operation_counts.hpp"
#include "runtime/status.hpp"

namespace dogged::runtime {

/// The sources of the pages.
struct PageSources {
  const WorkerStatus& worker;
  const AttemptCounts& attempts;
  const TraceCounts& traces;
  const OperationCounts& operations;
  const RetryMetrics& retries;
  MetricNames names = MetricNames::dogged;
};

/// `accept`: the request's header of that name; may be empty. For another path, 404 and the list of pages.
[[nodiscard]] http::Page page_at(std::string_view path, std::string_view accept, const PageSources& sources);

}  // namespace dogged::runtime
