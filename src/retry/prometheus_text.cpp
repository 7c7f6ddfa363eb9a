// See prometheus_text.hpp.
#include "retry/prometheus_text.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace dogged {
namespace {

std::string_view gauge_of(CircuitState state) {
  switch (state) {
    case CircuitState::closed:
      return "0";
    case CircuitState::half_open:
      return "1";
    case CircuitState::open:
      break;
  }
  return "2";
}

double seconds_of(milliseconds duration) { return static_cast<double>(duration.count()) / 1000.0; }

void write_retries(MetricsWriter& writer, const RetryMetricsSnapshot& snapshot) {
  writer.family("queue_retry_attempts_total", "counter", "Retries that were scheduled, by the number of the retry.");
  for (const auto& [policy, attempt, count] : snapshot.retries) {
    writer.sample({{"policy", policy}, {"attempt", attempt}}, count);
  }
  writer.family("queue_retry_successes_total", "counter", "Successes after at least one retry.");
  for (const auto& [policy, count] : snapshot.successes) writer.sample({{"policy", policy}}, count);
  writer.family("queue_retry_failures_total", "counter", "Failed attempts, by error code.");
  for (const auto& [error, count] : snapshot.failures) writer.sample({{"error", error}}, count);
  writer.family("queue_retry_delay_seconds", "histogram", "Delays before retries.");
  std::array<double, retry_delay_buckets.size()> bounds{};
  std::transform(retry_delay_buckets.begin(), retry_delay_buckets.end(), bounds.begin(), seconds_of);
  for (const auto& delays : snapshot.delays) {
    writer.histogram({{"policy", delays.policy}}, bounds, delays.counts, seconds_of(delays.sum));
  }
}

}  // namespace

void write_retry_metrics(MetricsWriter& writer, const RetryMetricsSnapshot& snapshot) {
  write_retries(writer, snapshot);
  writer.family("queue_circuit_breaker_state", "gauge", "State of circuit breakers: 0 closed, 1 half-open, 2 open.");
  for (const auto& [circuit, state] : snapshot.circuits) writer.sample({{"circuit", circuit}}, gauge_of(state));
  writer.family("queue_dead_letter_messages_total", "counter", "Tasks that became dead letters, by error code.");
  for (const auto& [queue, error, count] : snapshot.dead_letters) {
    writer.sample({{"queue", queue}, {"error", error}}, count);
  }
  writer.family("queue_retry_throttled_total", "counter", "Times a retry was put off by its queue's retry budget.");
  for (const auto& [queue, count] : snapshot.throttled) writer.sample({{"queue", queue}}, count);
}

}  // namespace dogged
