// The pages of a worker, over real HTTP.
#include <chrono>
#include <string>
#include <vector>

#include <httplib.h>

#include <dogged/worker.hpp>

#include "support/catch.hpp"
#include "support/exposition.hpp"
#include "support/served_worker.hpp"
#include "support/test_database.hpp"
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

TEST_CASE("connections that ask for nothing hold up no task, and are cut off") {
  TestDatabase database;
  ServedWorker worker{database, [](Context&, const nlohmann::json&) {}};
  worker->start();
  std::vector<int> sockets;
  for (int i = 0; i < 20; ++i) {
    const int connection = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(worker.port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    sockets.push_back(connection);
  }
  Client client = database.client();
  CHECK(client.wait(client.enqueue(work, no_args), 20s).has_succeeded());
  char byte = 0;
  CHECK(::recv(sockets.front(), &byte, 1, 0) == 0);  // the server has closed the connection
  for (const int connection : sockets) ::close(connection);
  CHECK(worker.get("/readyz")->status == 200);
}
