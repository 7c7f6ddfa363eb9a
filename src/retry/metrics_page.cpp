// See <dogged/metrics.hpp>.
#include <dogged/metrics.hpp>
#include <dogged/retry_metrics.hpp>

#include "retry/exposition.hpp"
#include "retry/operation_counts.hpp"
#include "retry/prometheus_text.hpp"

namespace dogged {

MetricsPage metrics_page(std::string_view accept, MetricNames names) {
  const MetricsFormat format = metrics_format_for(accept);
  MetricsWriter writer{format};
  operation_counts().write_to(writer, names);
  write_retry_metrics(writer, retry_metrics().snapshot());
  return {std::string{content_type_of(format)}, writer.take()};
}

}  // namespace dogged
