// See prometheus_text.hpp.
#include "retry/prometheus_text.hpp"

#include <array>
#include <chrono>
#include <string_view>

namespace dogged {
namespace {

/// As in the circuit breakers that operators know from other systems.
std::string_view gauge_of(CircuitState state) {
  switch (state) {
    case CircuitState::closed:
      return "0";
    case CircuitState::open:
      return "1";
    case CircuitState::half_open:
      break;
  }
  return "2";
}

MetricsWriter::Label label_of(const RetryMetricsSnapshot::Source& source) {
  return {source.kind == RetrySource::Kind::task ? "task" : "operation", source.name};
}

template <std::size_t Size, class Histograms>
void write_histograms(MetricsWriter& writer, const std::array<milliseconds, Size>& buckets,
                      const Histograms& histograms) {
  const auto bounds = in_seconds(buckets);
  for (const auto& histogram : histograms) {
    writer.histogram({{"policy_type", histogram.policy_type}, label_of(histogram.source)}, bounds, histogram.counts,
                     std::chrono::duration<double>{histogram.sum}.count(), histogram.exemplars);
  }
}

void write_retries(MetricsWriter& writer, const RetryMetricsSnapshot& snapshot) {
  writer.family("queue_retry_attempts_total", "counter", "Retries that were scheduled, by the number of the retry.");
  for (const auto& [source, policy, attempt, count] : snapshot.retries) {
    writer.sample({{"policy_type", policy}, {"attempt", attempt}, label_of(source)}, count);
  }
  writer.family("queue_retry_successes_total", "counter", "Retries that succeeded.");
  for (const auto& [source, policy, count] : snapshot.successes) {
    writer.sample({{"policy_type", policy}, label_of(source)}, count);
  }
  writer.family("queue_retry_failures_total", "counter", "Retries that failed, by error code.");
  for (const auto& [source, policy, error, count] : snapshot.failures) {
    writer.sample({{"policy_type", policy}, {"error_type", error}, label_of(source)}, count);
  }
  writer.family("queue_retry_delay_seconds", "histogram", "Delays before retries.");
  write_histograms(writer, retry_delay_buckets, snapshot.delays);
  writer.family("queue_retry_duration_seconds", "histogram", "How long retries ran.");
  write_histograms(writer, retry_duration_buckets, snapshot.durations);
  writer.family("queue_errors_total", "counter", "Failed attempts, first ones included, by kind and error code.");
  for (const auto& [source, kind, error, count] : snapshot.errors) {
    writer.sample({{"kind", kind}, {"error_type", error}, label_of(source)}, count);
  }
}

}  // namespace

void write_retry_metrics(MetricsWriter& writer, const RetryMetricsSnapshot& snapshot) {
  write_retries(writer, snapshot);
  writer.family("queue_circuit_breaker_state", "gauge", "State of circuit breakers: 0 closed, 1 open, 2 half-open.");
  for (const auto& [circuit, state] : snapshot.circuits) writer.sample({{"circuit", circuit}}, gauge_of(state));
  writer.family("queue_dead_letter_messages_total", "counter", "Tasks that became dead letters, by error code.");
  for (const auto& [queue, error, task, count] : snapshot.dead_letters) {
    writer.sample({{"queue_name", queue}, {"error_type", error}, {"task", task}}, count);
  }
  writer.family("queue_retry_throttled_total", "counter", "Times a retry was deferred by its queue's retry budget.");
  for (const auto& [queue, count] : snapshot.throttled) writer.sample({{"queue_name", queue}}, count);
}

}  // namespace dogged
