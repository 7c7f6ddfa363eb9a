// Where and how a worker exports its spans: OpenTelemetry's environment variables. Pure.
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
// https://opentelemetry.io/docs/specs/otel/protocol/exporter/
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dogged/resolved_retry_config.hpp>

#include "trace/sampler.hpp"

namespace dogged::runtime {

struct OtlpSettings {
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  std::string url;               ///< of POST; may have a password in it
  std::string shown_url;         ///< the same for the log, without user and password
  Pairs headers = {};            ///< never shown: they carry keys
  Pairs resource = {};           ///< attributes, service.name among them
  std::string certificate = {};  ///< a PEM file of the authorities that are trusted; empty: the system's
  milliseconds timeout{10'000};  ///< of one request; 1 ms to 10 min
  Sampler sampler = {};
  std::size_t most_queued = 32'768;  ///< spans that wait; further ones are dropped
  /// Spans of one request, some 3.5 MB. One request at a time waits for its answer. With 1,024 spans in each, a worker
  /// that ended 50,000 attempts a second dropped 42 % of their spans.
  std::size_t most_in_batch = 4'096;
  milliseconds schedule_delay{5'000};  ///< how long a span waits at most for a batch to fill
};

struct OtlpSettingsRead {
  std::optional<OtlpSettings> settings;  ///< nothing: no spans are exported
  /// One line each, for the log: a variable that cannot be read does not count, as OpenTelemetry asks, because other
  /// programs may share it. Neither a value of a header nor a password stands in them.
  std::vector<std::string> warnings = {};
};

/// An empty `environment` has no variables. Spans are exported only if OTEL_EXPORTER_OTLP_ENDPOINT or
/// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is given.
[[nodiscard]] OtlpSettingsRead read_otlp_settings(const Environment& environment);

}  // namespace dogged::runtime
