// The pages of a worker, over real HTTP.
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <httplib.h>

#include <dogged/metrics.hpp>
#include <dogged/retry_metrics.hpp>
#include <dogged/worker.hpp>

#include "support/catch.hpp"
#include "support/exposition.hpp"
#include "support/served_worker.hpp"
#include "support/test_database.hpp"
#include "support/unread_scrape.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::error_of;
using test::eventually;
using test::no_args;
using test::ServedWorker;
using test::TestDatabase;
using test::work;

TEST_CASE("a worker that runs is live and ready, and serves its attempts to Prometheus") {
  TestDatabase database;
  ServedWorker worker{database, [](Context&, const nlohmann::json&) {}};
  worker->start();
  CHECK(worker.get("/livez")->status == 200);
  CHECK(worker.get("/readyz")->body == "ready\n");
  Client client = database.client();
  CHECK(client.wait(client.enqueue(work, no_args), 20s).has_succeeded());

  const auto metrics = worker.get("/metrics");
  CHECK(metrics->get_header_value("Content-Type") == "text/plain; version=0.0.4; charset=utf-8");
  const auto families = support::ExpositionReader::read(metrics->body);
  const auto& attempt = families.at("dogged_worker_attempts_total").samples.at(0);
  CHECK(attempt.labels ==
        std::map<std::string, std::string>{{"queue_name", "default"}, {"task", "work"}, {"outcome", "succeeded"}});
  CHECK(attempt.value == 1);
  CHECK(worker.get("/metrics", {{"Accept", "application/openmetrics-text"}})->body.ends_with("# EOF\n"));

  const auto status = nlohmann::json::parse(worker.get("/status")->body);
  CHECK(std::to_string(status.at("lease").at("id").get<int>()) ==
        database.value("select id as value from dogged.workers"));
  CHECK(status.at("queues").at(0).at("slots") == 10);
  CHECK(worker.get("/")->status == 404);

  worker->stop();
  CHECK(worker.get("/livez")->status == 503);
}

TEST_CASE("while PostgreSQL does not answer heartbeats a worker is not ready, and says since when") {
  TestDatabase database;
  ServedWorker worker{database, [](Context&, const nlohmann::json&) {}, {.heartbeat = 50ms, .lease = 10s}};
  worker->start();
  db::Connection other{database.settings()};
  other.transaction([&] {
    other.run({"lock", "select from dogged.workers for update"});
    CHECK(eventually([&] { return worker.get("/readyz")->status == 503; }));
    CHECK(contains(worker.get("/readyz")->body, "PostgreSQL has answered no heartbeat for"));
    CHECK(worker.get("/livez")->status == 200);
  });
  CHECK(eventually([&] { return worker.get("/readyz")->status == 200; }));
}

TEST_CASE("while PostgreSQL refuses every claim a worker is not ready, and gives PostgreSQL's reason") {
  TestDatabase database;
  ServedWorker worker{database, [](Context&, const nlohmann::json&) {}};
  worker->start();
  REQUIRE(worker.get("/readyz")->status == 200);
  database.script("revoke update on dogged.tasks_live from dogged_test_worker");
  Client client = database.client();
  const TaskId id = client.enqueue(work, no_args);
  CHECK(eventually([&] { return worker.get("/readyz")->status == 503; }));
  CHECK(contains(worker.get("/readyz")->body, "permission denied for table tasks_live"));
  CHECK(contains(worker.get("/metrics")->body, "dogged_worker_ready 0\n"));
  CHECK(worker.get("/livez")->status == 200);
  database.script("grant update on dogged.tasks_live to dogged_test_worker");
  CHECK(client.wait(id, 20s).has_succeeded());
  CHECK(eventually([&] { return worker.get("/readyz")->status == 200; }));
}

TEST_CASE("a worker whose port is in use says so, and does not start") {
  TestDatabase database;
  ServedWorker first{database, [](Context&, const nlohmann::json&) {}};
  first->start();
  const std::string address = "127.0.0.1:" + std::to_string(first.port());
  ServedWorker second{database, [](Context&, const nlohmann::json&) {}, {.metrics_listen = address}};
  const std::string message = error_of<InvalidInput>([&] { second->start(); }).message();
  CHECK(contains(message, "--metrics-listen"));
  CHECK(contains(message, "Address already in use"));
  CHECK(database.value("select count(*) as value from dogged.workers") == "1");
}

TEST_CASE(
    "a worker serves its attempts, and what the process sent and claimed, under OpenTelemetry's names if asked to") {
  TestDatabase database;
  ServedWorker worker{database,
                      [](Context&, const nlohmann::json& args) {
                        if (!args.empty()) throw TaskError{"BAD_ARGS", "no"};
                      },
                      {.metrics_names = MetricNames::otel}};
  worker->start();
  Client client = database.client();
  CHECK(client.wait(client.enqueue(work, no_args, {.queue = "default"}), 20s).has_succeeded());
  CHECK(client.wait(client.enqueue(work, {{"bad", 1}}, {.queue = "default"}), 20s).has_ended());
  const auto families = support::ExpositionReader::read(worker.get("/metrics")->body);
  CHECK_FALSE(families.contains("dogged_worker_attempts_total"));
  const auto has = [&](const std::string& family, const std::map<std::string, std::string>& wanted) {
    const auto& samples = families.at(family).samples;
    return std::any_of(samples.begin(), samples.end(), [&](const support::Sample& sample) {
      return sample.value > 0 && std::all_of(wanted.begin(), wanted.end(), [&](const auto& label) {
               const auto found = sample.labels.find(label.first);
               return found != sample.labels.end() && found->second == label.second;
             });
    });
  };
  const std::string queue = "messaging_destination_name", operation = "messaging_operation_name";
  CHECK(has("messaging_process_duration_seconds", {{queue, "default"}, {"error_type", "BAD_ARGS"}}));
  CHECK(has("messaging_client_consumed_messages_total", {{queue, "default"}, {"dogged_task", "work"}}));
  CHECK(has("messaging_client_sent_messages_total", {{queue, "default"}, {operation, "send"}}));
  for (const char* name : {"send", "receive", "settle"}) {
    CHECK(has("messaging_client_operation_duration_seconds", {{operation, name}}));
  }
}

TEST_CASE("tasks that cannot be sent count as sent, with the error") {
  TestDatabase database;
  Client client = database.client();
  CHECK_THROWS_AS(client.enqueue(work, no_args, {.queue = "metrics.missing"}), InvalidInput);
  const std::string page = metrics_page().body;
  CHECK(contains(page, R"(dogged_sent_tasks_total{queue_name="metrics.missing",task="work",error_type=")"));
}

TEST_CASE("of unique tasks only the new ones count as sent") {
  TestDatabase database;
  Client client = database.client();
  database.run("select dogged.create_queue('metrics.unique')");
  const NewTask task{"work", "{}", {.queue = "metrics.unique", .unique_key = "k"}};
  REQUIRE(client.enqueue_many_unique({task, task}).front().is_new());
  REQUIRE_FALSE(client.enqueue_unique(task).is_new());
  CHECK(contains(metrics_page().body, "dogged_sent_tasks_total{queue_name=\"metrics.unique\",task=\"work\"} 1\n"));
}

TEST_CASE("scrapers that ask for metrics and never read them hold up no task and no other scrape") {
  // Two histograms of a thousand tasks: some 8 MB, which fit into no socket's buffers.
  const RetryPolicy policy = fixed(1s);
  for (int i = 0; i < 1000; ++i) {
    const std::string name = std::string(100, 'x') + std::to_string(i);
    const RetrySource task{RetrySource::Kind::task, name};
    retry_metrics().retry_scheduled(task, policy, 1, 1s);
    retry_metrics().succeeded({.source = task, .policy = policy, .retry = 1, .ran = 1ms});
  }
  TestDatabase database;
  ServedWorker worker{database, [](Context&, const nlohmann::json&) {}};
  worker->start();
  REQUIRE(worker.get("/readyz"));  // alone, as in page_server_test
  std::vector<test::UnreadScrape> unread;
  for (int i = 0; i < 4; ++i) unread.emplace_back(worker.port(), "/metrics");
  Client client = database.client();
  CHECK(client.wait(client.enqueue(work, no_args), 20s).has_succeeded());
  CHECK(worker.get("/readyz")->body == "ready\n");
}

TEST_CASE("connections that ask for nothing hold up no task, and are cut off") {
  TestDatabase database;
  ServedWorker worker{database, [](Context&, const nlohmann::json&) {}};
  worker->start();
  std::vector<test::UnreadScrape> idle;
  for (int i = 0; i < 20; ++i) idle.emplace_back(worker.port(), "");
  Client client = database.client();
  CHECK(client.wait(client.enqueue(work, no_args), 20s).has_succeeded());
  CHECK(idle.front().is_closed());
  idle.clear();
  CHECK(worker.get("/readyz")->status == 200);
}
