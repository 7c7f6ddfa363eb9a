// See pages.hpp.
#include "http/pages.hpp"

#include <cstdint>

#include <nlohmann/json.hpp>

#include "retry/prometheus_text.hpp"

namespace dogged::runtime {
namespace {

using http::Page;

double in_seconds_of(milliseconds duration) { return static_cast<double>(duration.count()) / 1000.0; }

std::string_view text_of_lease(Lease::State state) {
  switch (state) {
    case Lease::State::held:
    case Lease::State::regained:
      return "held";
    case Lease::State::lapsed:
      return "lapsed";
    case Lease::State::ended:
      return "ended";
  }
  return "unknown";
}

void write_worker(MetricsWriter& writer, const WorkerStatus& worker) {
  writer.family("dogged_worker_info", "gauge", "The worker's name and the version of dogged.");
  writer.sample({{"name", worker.name}, {"version", DOGGED_VERSION}}, std::uint64_t{1});
  writer.family("dogged_worker_ready", "gauge", "1 if the worker claims tasks under a lease that PostgreSQL renews.");
  writer.sample({}, std::uint64_t{why_not_ready(worker) ? 0U : 1U});
  writer.family("dogged_worker_lease_seconds", "gauge", "How long the lease lasts unless it is renewed.");
  if (worker.lease) writer.sample({}, in_seconds_of(worker.lease->left));
  writer.family("dogged_worker_slots", "gauge", "How many tasks of a queue run at once.");
  for (const auto& [queue, load] : worker.queues) writer.sample({{"queue_name", queue}}, std::uint64_t{load.at_once});
  writer.family("dogged_worker_running_tasks", "gauge", "Handlers that run now.");
  for (const auto& [queue, load] : worker.queues) writer.sample({{"queue_name", queue}}, std::uint64_t{load.busy});
  writer.family("dogged_worker_waiting_tasks", "gauge", "Claimed tasks that wait for a thread.");
  for (const auto& [queue, load] : worker.queues) writer.sample({{"queue_name", queue}}, std::uint64_t{load.waiting});
  writer.family("dogged_worker_fenced_total", "counter",
                "Reports that changed nothing, because the worker did not hold the task any more.");
  writer.sample({}, static_cast<std::uint64_t>(worker.fenced));
  writer.family("dogged_worker_abandoned_threads", "gauge", "Threads lost to handlers that ignore their stop tokens.");
  writer.sample({}, static_cast<std::uint64_t>(worker.abandoned_threads));
}

Page metrics_page(std::string_view accept, const PageSources& sources) {
  const MetricsFormat format = metrics_format_for(accept);
  MetricsWriter writer{format};
  write_worker(writer, sources.worker);
  sources.attempts.write_to(writer, sources.names);
  sources.operations.write_to(writer, sources.names);
  sources.traces.write_to(writer);
  write_retry_metrics(writer, sources.retries.snapshot());
  return {.content_type = std::string{content_type_of(format)}, .body = writer.take()};
}

Page live_page(const WorkerStatus& worker) {
  if (worker.state == WorkerStatus::State::ended) return {.status = 503, .body = "the worker has ended\n"};
  return {.body = "live\n"};
}

Page ready_page(const WorkerStatus& worker) {
  const auto why = why_not_ready(worker);
  if (why) return {.status = 503, .body = "the worker is not ready: " + *why + "\n"};
  return {.body = "ready\n"};
}

Page status_page(const WorkerStatus& worker) {
  const auto why = why_not_ready(worker);
  nlohmann::ordered_json json{{"name", worker.name},
                              {"version", DOGGED_VERSION},
                              {"state", to_text(worker.state)},
                              {"is_ready", !why.has_value()},
                              {"not_ready_because", nullptr},
                              {"lease", nullptr},
                              {"queues", nlohmann::ordered_json::array()},
                              {"fenced", worker.fenced},
                              {"abandoned_threads", worker.abandoned_threads}};
  if (why) json["not_ready_because"] = *why;
  if (worker.lease) {
    json["lease"] = {{"id", worker.lease->id},
                     {"state", text_of_lease(worker.lease->state)},
                     {"length_ms", worker.lease->length.count()},
                     {"left_ms", worker.lease->left.count()},
                     {"renewed_ms_ago", worker.lease->since_renewal.count()}};
  }
  for (const auto& [queue, load] : worker.queues) {
    json["queues"].push_back(
        {{"name", queue}, {"slots", load.at_once}, {"running", load.busy}, {"waiting", load.waiting}});
  }
  return {.content_type = "application/json",
          .body = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
}

}  // namespace

http::Page page_at(std::string_view path, std::string_view accept, const PageSources& sources) {
  if (path == "/metrics") return metrics_page(accept, sources);
  if (path == "/livez") return live_page(sources.worker);
  if (path == "/readyz") return ready_page(sources.worker);
  if (path == "/status") return status_page(sources.worker);
  return {.status = 404, .body = "there are /metrics, /livez, /readyz and /status\n"};
}

}  // namespace dogged::runtime
