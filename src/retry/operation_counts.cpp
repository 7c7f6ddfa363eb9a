// See operation_counts.hpp.
#include "retry/operation_counts.hpp"

#include <array>
#include <map>
#include <string>

#include "retry/messaging_names.hpp"

namespace dogged {
namespace {

using Labels = std::array<std::string, 3>;
using Durations = DurationCounts<retry_duration_buckets>::Read;

void write_sent(MetricsWriter& writer, const std::map<Labels, std::uint64_t>& sent, MetricNames names) {
  if (shows_dogged(names)) {
    writer.family("dogged_sent_tasks_total", "counter", "Tasks that clients enqueued, or failed to enqueue.");
    for (const auto& [labels, count] : sent) {
      writer.sample({{"queue_name", labels[0]}, {"task", labels[1]}, {"error_type", labels[2]}}, count);
    }
  }
  if (shows_otel(names)) {
    writer.family("messaging_client_sent_messages_total", "counter",
                  "Number of messages producer attempted to send to the broker.");
    for (const auto& [labels, count] : sent) {
      write_messaging(writer, {.operation = "send", .queue = labels[0], .task = labels[1], .error_type = labels[2]},
                      count);
    }
  }
}

void write_durations(MetricsWriter& writer, const std::map<Labels, Durations>& all, MetricNames names) {
  if (shows_dogged(names)) {
    writer.family("dogged_operation_seconds", "histogram", "How long sending, claiming and reporting took.");
    for (const auto& [labels, took] : all) {
      writer.histogram({{"operation", labels[0]}, {"queue_name", labels[1]}, {"error_type", labels[2]}},
                       in_seconds(retry_duration_buckets), took.counts, std::chrono::duration<double>{took.sum}.count(),
                       took.exemplars);
    }
  }
  if (shows_otel(names)) {
    writer.family("messaging_client_operation_duration_seconds", "histogram",
                  "Duration of messaging operation initiated by a producer or consumer client.");
    for (const auto& [labels, took] : all) {
      write_messaging(writer, {.operation = labels[0], .queue = labels[1], .error_type = labels[2]}, took);
    }
  }
}

}  // namespace

void OperationCounts::sent(std::string_view queue, std::string_view task, std::string_view error_code,
                           std::uint64_t tasks) noexcept {
  sent_.at({queue, task, error_code}).fetch_add(tasks, std::memory_order_relaxed);
}

void OperationCounts::ended(QueueOperation operation, std::string_view queue, std::string_view error_code,
                            std::chrono::nanoseconds took) noexcept {
  durations_.at({to_text(operation), queue, error_code}).add(took);
}

/// Sorted by their labels.
void OperationCounts::write_to(MetricsWriter& writer, MetricNames names) const {
  std::map<Labels, std::uint64_t> sent;
  sent_.for_each([&](const auto& labels, const auto& count) { sent[labels] = count.load(); });
  write_sent(writer, sent, names);
  std::map<Labels, Durations> durations;
  durations_.for_each([&](const auto& labels, const auto& cell) { durations[labels] = cell.read(); });
  write_durations(writer, durations, names);
}

OperationCounts& operation_counts() {
  static OperationCounts& counts = *new OperationCounts;
  return counts;
}

}  // namespace dogged
