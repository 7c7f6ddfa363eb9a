// See trace_counts.hpp.
#include "base/trace_counts.hpp"

namespace dogged::runtime {

void TraceCounts::write_to(MetricsWriter& writer) const {
  writer.family("dogged_worker_malformed_trace_contexts_total", "counter",
                "Trace contexts of producers that are no W3C traceparent, and were dropped.");
  writer.sample({}, malformed_contexts.load());
  writer.family("dogged_worker_spans_exported_total", "counter", "Spans that the collector has taken.");
  writer.sample({}, exported.load());
  writer.family("dogged_worker_spans_dropped_total", "counter", "Spans that no collector has, by the reason.");
  writer.sample({{"reason", "queue_full"}}, queue_full.load());
  writer.sample({{"reason", "refused"}}, refused.load());
  writer.sample({{"reason", "failed"}}, failed.load());
  writer.sample({{"reason", "shutdown"}}, shutdown.load());
}

}  // namespace dogged::runtime
