// Spans of the calls that enqueue, for a program without a worker: the exporter that workers have, over OTLP/HTTP.
// docs/tracing.md. Link dogged::worker.
//
//   dogged::ClientOptions options;
//   if (const auto tracer = dogged::otlp_tracer()) options.middleware = {dogged::trace_enqueues(tracer)};
//   dogged::Client client{url, options};
#pragma once

#include <memory>

#include <dogged/resolved_retry_config.hpp>
#include <dogged/tracer.hpp>

namespace spdlog {
class logger;
}

namespace dogged {

/// A tracer that exports to the collector of OTEL_EXPORTER_OTLP_ENDPOINT and the other variables of `environment`; null
/// if they name none. A variable that cannot be read is logged and does not count. `log` null: spdlog's default logger.
/// The tracer has a thread of its own. When its last owner lets go of it, the tracer sends the waiting spans, for 3 s
/// at most. WorkerOptions::tracer takes it as well. Throws Error if libcurl cannot be initialised.
[[nodiscard]] std::shared_ptr<Tracer> otlp_tracer(const Environment& environment = process_environment,
                                                  std::shared_ptr<spdlog::logger> log = {});

}  // namespace dogged
