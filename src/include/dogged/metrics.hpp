// The metrics of a program that embeds a Client, for the HTTP server that it has: what its calls retried, and its
// circuit breakers. A worker serves these and its own by itself (--metrics-listen). docs/metrics.md lists them.
//
//   httplib::Server server;
//   dogged::mount_metrics(server);   // GET /metrics
//
// With another server, answer with metrics_page(the request's header Accept).
//
// Where OpenTelemetry's conventions for messaging have a metric, MetricNames chooses between its name and dogged's.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dogged {

namespace limits {
inline constexpr std::size_t metric_series = 1000;  ///< in each family, without `other`; or tasks, or operations
inline constexpr std::size_t metric_label_bytes = 128;
}  // namespace limits

/// The names of what a process sends, receives and processes. All other metrics have dogged's names alone.
enum class MetricNames {
  dogged,  ///< dogged_worker_attempt_seconds, …
  otel,    ///< messaging_process_duration_seconds, … in their place
  both,    ///< each count under two names
};

struct MetricsPage {
  std::string content_type;  ///< for the header Content-Type
  std::string body;
};

/// The counts of tasks that the clients of this process enqueued, and its retry_metrics(). The format is Prometheus's
/// text format 0.0.4, or OpenMetrics 1.0 if `accept` asks for that. Thread-safe.
[[nodiscard]] MetricsPage metrics_page(std::string_view accept = {}, MetricNames names = MetricNames::dogged);

/// Answers GET requests for `path` with metrics_page. For cpp-httplib, and for any server with its interface.
template <class Server>
void mount_metrics(Server& server, const std::string& path = "/metrics", MetricNames names = MetricNames::dogged) {
  server.Get(path, [names](const auto& request, auto& response) {
    const MetricsPage page = metrics_page(request.get_header_value("Accept"), names);
    response.set_content(page.body, page.content_type.c_str());
  });
}

}  // namespace dogged
