// The counts of traces and spans of a worker process, for /metrics.
#pragma once

#include <atomic>
#include <cstdint>

#include "retry/exposition.hpp"

namespace dogged::runtime {

/// Thread-safe.
struct TraceCounts {
  using Count = std::atomic<std::uint64_t>;

  Count malformed_contexts{0};  ///< of producers: no W3C traceparent
  // Of spans, by the worker's own exporter.
  Count exported{0};    ///< the collector has taken them
  Count queue_full{0};  ///< dropped: the collector takes them more slowly than attempts end
  Count refused{0};     ///< dropped: the collector refused them
  Count failed{0};      ///< dropped: the collector could not be reached, or asked for more tries than there are
  Count shutdown{0};    ///< dropped: the worker ended before the collector took them

  void write_to(MetricsWriter& writer) const;
};

}  // namespace dogged::runtime
