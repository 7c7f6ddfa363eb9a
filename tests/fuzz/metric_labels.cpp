// Labels of metrics: error codes, queues and circuits are text from outside. The first line of the input is the queue,
// what follows it is the other label.
#include <map>
#include <stdexcept>
#include <string>

#include <dogged/policy.hpp>
#include <dogged/retry_metrics.hpp>

#include "../support/exposition.hpp"
#include "fuzz.hpp"

namespace {

using Labels = std::map<std::string, std::string>;

std::string expected(std::string_view text) {
  const bool is_label = !text.empty() && text.size() <= dogged::limits::metric_label_bytes && fuzz::is_utf8(text) &&
                        text.find('\0') == std::string_view::npos;
  return is_label ? std::string{text} : "other";
}

void require_one(const support::Exposition& text, const std::string& family, const Labels& labels) {
  const auto& samples = text.at(family).samples;
  fuzz::require(samples.size() == 1, "what was counted once is one series", family);
  fuzz::require(samples[0].labels == labels, "a label reads back as it was, or as other", labels.begin()->second);
}

support::Exposition exposition_in(const std::string& text) {
  try {
    return support::ExpositionReader::read(text);
  } catch (const std::runtime_error& error) {
    fuzz::require(false, "the text keeps to its format", error.what());
    throw;
  }
}

}  // namespace

FUZZ_TARGET(metric_labels, input) {
  Lines lines{input};
  const std::string queue = lines.text();
  const std::string_view label = lines.rest();
  dogged::RetryMetrics metrics;
  const dogged::RetryPolicy policy = dogged::NoRetry{};
  metrics.failed({{dogged::RetrySource::Kind::task, queue}, policy, 1}, label, true);
  metrics.dead_lettered(queue, queue, label);
  metrics.circuit_state(label, dogged::CircuitState::open);
  metrics.retry_throttled(queue);
  const support::Exposition text = exposition_in(metrics.to_prometheus_text());
  require_one(text, "queue_retry_failures_total",
              {{"policy_type", "none"}, {"error_type", expected(label)}, {"task", expected(queue)}});
  require_one(text, "queue_errors_total",
              {{"kind", "transient"}, {"error_type", expected(label)}, {"task", expected(queue)}});
  require_one(text, "queue_dead_letter_messages_total",
              {{"queue_name", expected(queue)}, {"error_type", expected(label)}, {"task", expected(queue)}});
  require_one(text, "queue_circuit_breaker_state", {{"circuit", expected(label)}});
  require_one(text, "queue_retry_throttled_total", {{"queue_name", expected(queue)}});

  bool was_refused = false;
  try {
    (void)metrics.watch(label);
  } catch (const dogged::InvalidInput& error) {
    was_refused = true;
    require_sound_message(error);
  }
  require(was_refused == (expected(label) != label), "a name is refused where it would be counted as other", label);
}
