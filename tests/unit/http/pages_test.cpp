// The pages that a worker serves.
#include "http/pages.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "retry/operation_counts.hpp"
#include "support/catch.hpp"
#include "support/exposition.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using http::Page;
using runtime::AttemptCounts;
using runtime::Lease;
using runtime::TraceCounts;
using runtime::WorkerStatus;

namespace {

/// A worker that works.
WorkerStatus working() {
  return {.name = "app-1",
          .state = WorkerStatus::State::running,
          .heartbeat = 5s,
          .lease = WorkerStatus::LeaseStatus{.id = 7, .length = 30s, .left = 27s, .since_renewal = 3s},
          .queues = {{"mail", {.at_once = 10, .busy = 3, .waiting = 1}}},
          .fenced = 2};
}

Page page(std::string_view path, const WorkerStatus& worker, std::string_view accept = {}) {
  static const RetryMetrics no_retries;
  static const AttemptCounts no_attempts;
  static const TraceCounts no_traces;
  static const OperationCounts no_operations;
  return runtime::page_at(path, accept, {worker, no_attempts, no_traces, no_operations, no_retries});
}

/// The page of a worker that has ended these attempts and operations alone.
std::string metrics_of(const AttemptCounts& attempts, const OperationCounts& operations, MetricNames names,
                       std::string_view accept = {}) {
  const RetryMetrics no_retries;
  const TraceCounts no_traces;
  const WorkerStatus worker = working();
  return runtime::page_at("/metrics", accept, {worker, attempts, no_traces, operations, no_retries, names}).body;
}

using Labels = std::map<std::string, std::string>;

/// The values of the samples of that name, by their labels without those that all of OpenTelemetry's have.
std::map<Labels, double> samples_of(const support::Exposition& families, const std::string& family,
                                    const std::string& suffix = "") {
  std::map<Labels, double> values;
  for (const support::Sample& sample : families.at(family).samples) {
    if (sample.name != family + suffix) continue;
    Labels labels = sample.labels;
    CHECK(labels["messaging_system"] == "dogged");
    CHECK(labels["messaging_operation_name"] == labels["messaging_operation_type"]);
    labels.erase("messaging_system");
    labels.erase("messaging_operation_type");
    values[labels] = sample.value;
  }
  return values;
}

}  // namespace

TEST_CASE("a worker is ready while it runs under a lease that PostgreSQL renews, and else says why not") {
  CHECK(page("/readyz", working()).status == 200);
  const auto why = [](auto change) {
    WorkerStatus worker = working();
    change(worker);
    const Page ready = page("/readyz", worker);
    CHECK(ready.status == 503);
    CHECK(nlohmann::json::parse(page("/status", worker).body).at("is_ready") == false);
    return ready.body;
  };
  using State = WorkerStatus::State;
  CHECK_THAT(why([](auto& worker) { worker.state = State::starting; }), Catch::Contains("not registered yet"));
  CHECK_THAT(why([](auto& worker) { worker.state = State::stopping; }), Catch::Contains("claims no more"));
  CHECK_THAT(why([](auto& worker) { worker.state = State::beginning; }), Catch::Contains("registers itself again"));
  CHECK_THAT(why([](auto& worker) { worker.state = State::ended; }), Catch::Contains("has ended"));
  CHECK_THAT(why([](auto& worker) { worker.lease->state = Lease::State::ended; }), Catch::Contains("another worker"));
  CHECK_THAT(why([](auto& worker) { worker.lease->state = Lease::State::lapsed; }), Catch::Contains("has lapsed"));
  CHECK_THAT(why([](auto& worker) { worker.lease->left = 0ms; }), Catch::Contains("has lapsed"));
  CHECK_THAT(why([](auto& worker) { worker.lease->since_renewal = 15'001ms; }),
             Catch::Contains("no heartbeat for 15s1ms; the lease lapses in 27s"));
}

TEST_CASE("a worker whose claimer, completer or lease keeper fails is not ready, and gives the error") {
  WorkerStatus worker = working();
  worker.failures = {{"lease", "the connection to PostgreSQL was lost"}};
  CHECK(page("/readyz", worker).status == 503);
  CHECK_THAT(page("/readyz", worker).body, Catch::Contains("lease: the connection to PostgreSQL was lost"));
  CHECK_THAT(page("/metrics", worker).body, Catch::Contains("dogged_worker_ready 0\n"));
  worker.lease->state = Lease::State::lapsed;  // which says more
  CHECK_THAT(page("/readyz", worker).body, Catch::Contains("has lapsed"));
}

TEST_CASE("an idle worker that leaves every other heartbeat out is ready") {
  WorkerStatus worker = working();
  worker.lease->since_renewal = 10'500ms;
  CHECK(page("/readyz", worker).status == 200);
}

TEST_CASE("a worker is live until it has ended, whatever becomes of its lease") {
  WorkerStatus worker = working();
  worker.lease->state = Lease::State::ended;
  CHECK(page("/livez", worker).status == 200);
  worker.state = WorkerStatus::State::ended;
  CHECK(page("/livez", worker).status == 503);
}

TEST_CASE("the status is JSON with the lease and the queues") {
  const auto status = nlohmann::json::parse(page("/status", working()).body);
  CHECK(status.at("name") == "app-1");
  CHECK(status.at("state") == "running");
  CHECK(status.at("is_ready") == true);
  CHECK(status.at("not_ready_because").is_null());
  CHECK(
      status.at("lease") ==
      nlohmann::json{{"id", 7}, {"state", "held"}, {"length_ms", 30000}, {"left_ms", 27000}, {"renewed_ms_ago", 3000}});
  CHECK(status.at("queues") ==
        nlohmann::json::array({{{"name", "mail"}, {"slots", 10}, {"running", 3}, {"waiting", 1}}}));
}

TEST_CASE("the metrics are what Prometheus reads, with the worker's gauges and the attempts by task") {
  AttemptCounts attempts;
  attempts.ended({.queue = "mail", .task = "mail.send", .ran = 30ms});
  attempts.ended({.queue = "mail", .task = "mail.send", .ran = 4s});
  attempts.ended(
      {.queue = "mail", .task = "mail.send", .outcome = AttemptOutcome::failed, .error_code = "SMTP_550", .ran = 2h});
  const RetryMetrics retries;
  TraceCounts traces;
  traces.queue_full = 3;
  const WorkerStatus worker = working();
  const OperationCounts operations;
  const Page page = runtime::page_at("/metrics", "", {worker, attempts, traces, operations, retries});
  CHECK(page.content_type == "text/plain; version=0.0.4; charset=utf-8");
  const auto families = support::ExpositionReader::read(page.body);
  CHECK(families.at("dogged_worker_ready").samples.at(0).value == 1);
  CHECK(families.at("dogged_worker_lease_seconds").samples.at(0).value == 27);
  CHECK(families.at("dogged_worker_running_tasks").samples.at(0).labels.at("queue_name") == "mail");
  CHECK(families.at("dogged_worker_fenced_total").samples.at(0).value == 2);
  CHECK(families.at("dogged_worker_spans_dropped_total").samples.at(0).labels.at("reason") == "queue_full");
  CHECK(families.at("dogged_worker_spans_dropped_total").samples.at(0).value == 3);
  CHECK(families.contains("queue_retry_attempts_total"));
  std::map<std::string, double> by_outcome, buckets;
  for (const auto& sample : families.at("dogged_worker_attempts_total").samples) {
    CHECK(sample.labels.at("task") == "mail.send");
    by_outcome[sample.labels.at("outcome")] = sample.value;
  }
  CHECK(by_outcome == std::map<std::string, double>{{"failed", 1}, {"succeeded", 2}});
  for (const auto& sample : families.at("dogged_worker_attempt_seconds").samples) {
    if (sample.labels.contains("le")) buckets[sample.labels.at("le")] = sample.value;
    if (sample.name == "dogged_worker_attempt_seconds_sum") CHECK(sample.value == 7204.03);
  }
  CHECK(buckets.at("0.01") == 0);
  CHECK(buckets.at("0.05") == 1);
  CHECK(buckets.at("5.0") == 2);
  CHECK(buckets.at("3600.0") == 2);
  CHECK(buckets.at("+Inf") == 3);
}

TEST_CASE("a request that accepts OpenMetrics gets it: families of counters without _total, and an end") {
  const Page page = ::page("/metrics", working(), "application/openmetrics-text;version=1.0.0,text/plain;q=0.5");
  CHECK(page.content_type == "application/openmetrics-text; version=1.0.0; charset=utf-8");
  CHECK_THAT(page.body, Catch::Contains("# TYPE dogged_worker_fenced counter\ndogged_worker_fenced_total 2\n"));
  CHECK(page.body.ends_with("\n# EOF\n"));
}

TEST_CASE("under OpenTelemetry's names are the same counts as under dogged's, by queue, task and error") {
  AttemptCounts attempts;
  attempts.ended({.queue = "mail", .task = "mail.send", .ran = 30ms});
  attempts.ended({.queue = "mail", .task = "mail.send", .ran = 4s});
  attempts.ended(
      {.queue = "mail", .task = "mail.send", .outcome = AttemptOutcome::failed, .error_code = "SMTP_550", .ran = 2h});
  attempts.ended({.queue = "mail", .task = "mail.send", .outcome = AttemptOutcome::interrupted, .ran = 1s});
  OperationCounts operations;
  operations.sent("mail", "mail.send", no_label, 3);
  operations.sent(no_label, "mail.send", "CONNECT_REFUSED", 1);
  operations.ended(QueueOperation::send, "mail", no_label, 2ms);
  operations.ended(QueueOperation::settle, no_label, "PG_40001", 3ms);

  const auto ours = support::ExpositionReader::read(metrics_of(attempts, operations, MetricNames::dogged));
  const auto otel = support::ExpositionReader::read(metrics_of(attempts, operations, MetricNames::otel));
  const auto both = support::ExpositionReader::read(metrics_of(attempts, operations, MetricNames::both));
  for (const char* name : {"dogged_worker_attempts_total", "dogged_worker_attempt_seconds", "dogged_sent_tasks_total",
                           "dogged_operation_seconds"}) {
    CHECK(ours.contains(name));
    CHECK_FALSE(otel.contains(name));
    CHECK(both.contains(name));
  }
  for (const char* name : {"messaging_process_duration_seconds", "messaging_client_consumed_messages_total",
                           "messaging_client_sent_messages_total", "messaging_client_operation_duration_seconds"}) {
    CHECK_FALSE(ours.contains(name));
    CHECK(both.contains(name));
  }
  const Labels processed{
      {"messaging_operation_name", "process"}, {"messaging_destination_name", "mail"}, {"dogged_task", "mail.send"}};
  const auto with = [](Labels labels, const char* error) {
    labels["error_type"] = error;
    return labels;
  };
  CHECK(
      samples_of(otel, "messaging_process_duration_seconds", "_count") ==
      std::map<Labels, double>{{processed, 2}, {with(processed, "SMTP_550"), 1}, {with(processed, "interrupted"), 1}});
  CHECK(samples_of(otel, "messaging_process_duration_seconds", "_sum") ==
        std::map<Labels, double>{
            {processed, 4.03}, {with(processed, "SMTP_550"), 7200}, {with(processed, "interrupted"), 1}});
  CHECK(samples_of(otel, "messaging_client_consumed_messages_total") == std::map<Labels, double>{{processed, 4}});
  CHECK(
      samples_of(otel, "messaging_client_sent_messages_total") ==
      std::map<Labels, double>{
          {{{"messaging_operation_name", "send"}, {"messaging_destination_name", "mail"}, {"dogged_task", "mail.send"}},
           3},
          {{{"messaging_operation_name", "send"}, {"dogged_task", "mail.send"}, {"error_type", "CONNECT_REFUSED"}},
           1}});
  CHECK(samples_of(otel, "messaging_client_operation_duration_seconds", "_count") ==
        std::map<Labels, double>{{{{"messaging_operation_name", "send"}, {"messaging_destination_name", "mail"}}, 1},
                                 {{{"messaging_operation_name", "settle"}, {"error_type", "PG_40001"}}, 1}});
}

TEST_CASE("ten thousand error codes and task names make a thousand series with codes, and a thousand without",
          "[one_thread]") {
  AttemptCounts attempts;
  OperationCounts operations;
  constexpr int many = 10'000;
  for (int i = 0; i < many; ++i) {
    const std::string code = "CODE_" + std::to_string(i), task = "task." + std::to_string(i);
    attempts.ended(
        {.queue = "mail", .task = "mail.send", .outcome = AttemptOutcome::failed, .error_code = code, .ran = 1ms});
    attempts.ended({.queue = "mail", .task = task, .ran = 1ms});
    operations.sent("mail", task, code, 1);
    operations.ended(QueueOperation::send, "mail", code, 1ms);
  }
  const auto families = support::ExpositionReader::read(metrics_of(attempts, operations, MetricNames::both));
  const auto sum = [](const std::map<Labels, double>& values) {
    double all = 0;
    for (const auto& [labels, value] : values) all += value;
    return all;
  };
  const std::map<std::string, std::pair<std::size_t, double>> series{
      {"messaging_process_duration_seconds", {2 * (limits::metric_series + 1), 2 * many}},
      {"messaging_client_operation_duration_seconds", {limits::metric_series + 1, many}}};
  for (const auto& [family, expected] : series) {
    INFO(family);
    const auto counts = samples_of(families, family, "_count");
    CHECK(counts.size() <= expected.first);
    CHECK(sum(counts) == expected.second);
  }
  CHECK(samples_of(families, "messaging_client_sent_messages_total").size() == 2 * limits::metric_series + 1);
  CHECK(sum(samples_of(families, "messaging_client_consumed_messages_total")) == 2 * many);
  // The failures by code leave the counts by task alone.
  const auto& by_outcome = families.at("dogged_worker_attempts_total").samples;
  const auto failed = std::find_if(by_outcome.begin(), by_outcome.end(),
                                   [](const auto& sample) { return sample.labels.at("outcome") == "failed"; });
  CHECK(failed->labels.at("task") == "mail.send");
  CHECK(failed->value == many);
}

TEST_CASE("OpenMetrics has the trace of an attempt in the bucket of its duration, and the text format has none") {
  const TraceContext trace = TraceContext::from_text("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").value();
  TraceContext not_sampled = trace;
  not_sampled.sampled = false;
  AttemptCounts attempts;
  attempts.ended({.queue = "mail", .task = "mail.send", .ran = 30ms, .trace = &trace});
  attempts.ended({.queue = "mail", .task = "mail.send", .ran = 4s, .trace = &not_sampled});
  attempts.ended({.queue = "mail", .task = "mail.send", .ran = 20s});
  const OperationCounts operations;
  const std::string exemplar = R"( # {trace_id="4bf92f3577b34da6a3ce929d0e0e4736",span_id="00f067aa0ba902b7"} 0.03 )";
  for (const MetricNames names : {MetricNames::dogged, MetricNames::otel}) {
    const std::string open = metrics_of(attempts, operations, names, "application/openmetrics-text");
    const std::size_t at = open.find(exemplar);
    REQUIRE(at != std::string::npos);
    const std::size_t line = open.rfind('\n', at) + 1;
    CHECK(open.substr(line, at - line).ends_with(R"(le="0.05"} 1)"));
    CHECK(open.find(" # {", at + 1) == std::string::npos);
    CHECK(metrics_of(attempts, operations, names).find("trace_id") == std::string::npos);
  }
}

TEST_CASE("another path is told which pages there are") {
  CHECK(page("/", working()).status == 404);
  CHECK_THAT(page("/metricsz", working()).body, Catch::Contains("/metrics"));
}
