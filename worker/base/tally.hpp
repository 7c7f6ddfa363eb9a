// The counts of a worker process over all of its incarnations. /metrics serves all of them.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/attempt_counts.hpp"
#include "base/trace_counts.hpp"

namespace dogged::runtime {

struct Tally {
  // The heartbeat sends these two as well.
  /// Reports and releases that changed nothing, because the worker did not hold the task any more.
  std::atomic<std::int64_t> fenced{0};
  /// Threads whose handler was given up and still runs.
  std::atomic<int> abandoned_threads{0};

  AttemptCounts attempts;
  TraceCounts traces;
};

}  // namespace dogged::runtime
