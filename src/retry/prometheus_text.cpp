// Prometheus's text format 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/
#include "retry/prometheus_text.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "retry/number_text.hpp"

namespace dogged {
namespace {

struct Label {
  std::string_view name;
  std::string_view value;
};

std::string seconds_to_text(milliseconds duration) {
  return number_to_text(static_cast<double>(duration.count()) / 1000.0);
}

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

class Writer {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    add({"# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n"});
  }

  /// Of the family that was begun last. `suffix` is for the parts of a histogram.
  void sample(std::initializer_list<Label> labels, std::string_view value, std::string_view suffix = {}) {
    add({name_, suffix, "{"});
    std::string_view separator;
    for (const Label& label : labels) {
      add({separator, label.name, "=\""});
      add_escaped(label.value);
      text_ += '"';
      separator = ",";
    }
    add({"} ", value, "\n"});
  }
  void sample(std::initializer_list<Label> labels, std::uint64_t value, std::string_view suffix = {}) {
    sample(labels, std::to_string(value), suffix);
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void add(std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) text_ += part;
  }
  void add_escaped(std::string_view value) {
    for (const char c : value) {
      if (c == '\\' || c == '"') text_ += '\\';
      c == '\n' ? text_ += "\\n" : text_ += c;
    }
  }

  std::string text_;
  std::string_view name_;
};

/// Buckets hold all that is up to their bound; the count is the last one's, read once, so that the two cannot differ.
void write_histogram(Writer& writer, const RetryMetricsSnapshot::Delays& delays) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < delays.counts.size(); ++i) {
    const std::string bound = i < retry_delay_buckets.size() ? seconds_to_text(retry_delay_buckets[i]) : "+Inf";
    count += delays.counts[i];
    writer.sample({{"policy", delays.policy}, {"le", bound}}, count, "_bucket");
  }
  writer.sample({{"policy", delays.policy}}, seconds_to_text(delays.sum), "_sum");
  writer.sample({{"policy", delays.policy}}, count, "_count");
}

void write_retries(Writer& writer, const RetryMetricsSnapshot& snapshot) {
  writer.family("queue_retry_attempts_total", "counter", "Retries that were scheduled, by the number of the retry.");
  for (const auto& [policy, attempt, count] : snapshot.retries) {
    writer.sample({{"policy", policy}, {"attempt", attempt}}, count);
  }
  writer.family("queue_retry_successes_total", "counter", "Successes after at least one retry.");
  for (const auto& [policy, count] : snapshot.successes) writer.sample({{"policy", policy}}, count);
  writer.family("queue_retry_failures_total", "counter", "Failed attempts, by error code.");
  for (const auto& [error, count] : snapshot.failures) writer.sample({{"error", error}}, count);
  writer.family("queue_retry_delay_seconds", "histogram", "Delays before retries.");
  for (const auto& delays : snapshot.delays) write_histogram(writer, delays);
}

}  // namespace

std::string prometheus_text(const RetryMetricsSnapshot& snapshot) {
  Writer writer;
  write_retries(writer, snapshot);
  writer.family("queue_circuit_breaker_state", "gauge", "State of circuit breakers: 0 closed, 1 half-open, 2 open.");
  for (const auto& [circuit, state] : snapshot.circuits) writer.sample({{"circuit", circuit}}, gauge_of(state));
  writer.family("queue_dead_letter_messages_total", "counter", "Tasks that became dead letters, by error code.");
  for (const auto& [queue, error, count] : snapshot.dead_letters) {
    writer.sample({{"queue", queue}, {"error", error}}, count);
  }
  writer.family("queue_retry_throttled_total", "counter", "Times a retry was put off by its queue's retry budget.");
  for (const auto& [queue, count] : snapshot.throttled) writer.sample({{"queue", queue}}, count);
  return writer.take();
}

}  // namespace dogged
