// The pages that a worker serves.
#include "http/pages.hpp"

#include <string>

#include <nlohmann/json.hpp>

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
          .queues = {{"mail", {.slots = 10, .running = 3, .waiting = 1}}},
          .fenced = 2};
}

Page page(std::string_view path, const WorkerStatus& worker, std::string_view accept = {}) {
  static const RetryMetrics no_retries;
  static const AttemptCounts no_attempts;
  static const TraceCounts no_traces;
  return runtime::page_at(path, accept, {worker, no_attempts, no_traces, no_retries});
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
  attempts.ended("mail", "mail.send", AttemptOutcome::succeeded, 30ms);
  attempts.ended("mail", "mail.send", AttemptOutcome::succeeded, 4s);
  attempts.ended("mail", "mail.send", AttemptOutcome::failed, 2h);
  const RetryMetrics retries;
  TraceCounts traces;
  traces.queue_full = 3;
  const WorkerStatus worker = working();
  const Page page = runtime::page_at("/metrics", "", {worker, attempts, traces, retries});
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
  CHECK(buckets.at("5") == 2);
  CHECK(buckets.at("3600") == 2);
  CHECK(buckets.at("+Inf") == 3);
}

TEST_CASE("a request that accepts OpenMetrics gets it: families of counters without _total, and an end") {
  const Page page = ::page("/metrics", working(), "application/openmetrics-text;version=1.0.0,text/plain;q=0.5");
  CHECK(page.content_type == "application/openmetrics-text; version=1.0.0; charset=utf-8");
  CHECK_THAT(page.body, Catch::Contains("# TYPE dogged_worker_fenced counter\ndogged_worker_fenced_total 2\n"));
  CHECK(page.body.ends_with("\n# EOF\n"));
}

TEST_CASE("another path is told which pages there are") {
  CHECK(page("/", working()).status == 404);
  CHECK_THAT(page("/metricsz", working()).body, Catch::Contains("/metrics"));
}
