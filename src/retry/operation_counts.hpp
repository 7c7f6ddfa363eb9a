// Counts of what this process asks of the queue: tasks that its clients send, and how long sending, receiving and
// settling took.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string_view>

#include <dogged/metrics.hpp>
#include <dogged/retry_metrics.hpp>

#include "retry/duration_counts.hpp"
#include "retry/exposition.hpp"
#include "retry/failure_code.hpp"
#include "retry/metric_series.hpp"

namespace dogged {

enum class QueueOperation {
  send,     ///< a client's call that enqueues, with its retries
  receive,  ///< a worker's claim of a batch
  settle,   ///< a worker's report of a batch
};

[[nodiscard]] constexpr std::string_view to_text(QueueOperation operation) noexcept {
  switch (operation) {
    case QueueOperation::send:
      return "send";
    case QueueOperation::receive:
      return "receive";
    case QueueOperation::settle:
      return "settle";
  }
  return "unknown";
}

/// Thread-safe. Each family is as bounded as a MetricSeries; further error codes and names are `other`. `queue` is
/// no_label if the process does not know it, or the operation is on several queues; `error_code` if it succeeded.
class OperationCounts {
 public:
  void sent(std::string_view queue, std::string_view task, std::string_view error_code, std::uint64_t tasks) noexcept;
  void ended(QueueOperation operation, std::string_view queue, std::string_view error_code,
             std::chrono::nanoseconds took) noexcept;

  void write_to(MetricsWriter& writer, MetricNames names) const;

 private:
  MetricSeries<3, std::atomic<std::uint64_t>, most_error_codes> sent_;                   // queue, task, error code
  MetricSeries<3, DurationCounts<retry_duration_buckets>, most_error_codes> durations_;  // operation, queue, error code
};

/// Of this process; never destroyed, so that code that runs at the program's end may count.
[[nodiscard]] OperationCounts& operation_counts();

/// Does the work of one operation, and counts how long it took, and by which error it failed. Passes on its exception.
template <class Work>
auto counted_operation(QueueOperation operation, std::string_view queue, Work work) {
  const auto began = std::chrono::steady_clock::now();
  try {
    auto result = work();
    operation_counts().ended(operation, queue, no_label, std::chrono::steady_clock::now() - began);
    return result;
  } catch (...) {
    operation_counts().ended(operation, queue, failure_code(std::current_exception()).view(),
                             std::chrono::steady_clock::now() - began);
    throw;
  }
}

}  // namespace dogged
