// The page that a program without a worker serves to Prometheus, over real HTTP.
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include <httplib.h>

#include <dogged/metrics.hpp>
#include <dogged/retry.hpp>
#include <dogged/retry_metrics.hpp>

#include "retry/operation_counts.hpp"
#include "support/catch.hpp"

using namespace dogged;
using namespace std::chrono_literals;

namespace {

/// A program's own server, with the metrics mounted.
class OwnServer {
 public:
  explicit OwnServer(MetricNames names = MetricNames::dogged) {
    mount_metrics(server_, "/metrics", names);
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread{[this] { server_.listen_after_bind(); }};
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~OwnServer() {
    server_.stop();
    thread_.join();
  }
  OwnServer(const OwnServer&) = delete;
  OwnServer& operator=(const OwnServer&) = delete;

  [[nodiscard]] httplib::Result get(const httplib::Headers& headers = {}) const {
    return httplib::Client{"127.0.0.1", port_}.Get("/metrics", headers);
  }

 private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace

TEST_CASE("a program serves what its calls have retried from a server of its own") {
  RetryOptions options;
  options.metrics = &retry_metrics();
  options.operation = "metrics_page.fetch";
  int calls = 0;
  const auto fails_once = [&] {
    if (++calls == 1) throw std::runtime_error("not now");
  };
  REQUIRE(retry(fixed(1ms).with_max_retries(1), fails_once, options).end == RetryEnd::succeeded);
  const OwnServer server;
  const auto answer = server.get();
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->get_header_value("Content-Type").find("text/plain; version=0.0.4") == 0);
  CHECK(answer->body.find(
            R"(queue_retry_attempts_total{policy_type="fixed",attempt="1",operation="metrics_page.fetch"} 1)") !=
        std::string::npos);
}

TEST_CASE("a scraper that accepts OpenMetrics gets it from a program's own server too") {
  const OwnServer server;
  const auto answer = server.get({{"Accept", "application/openmetrics-text; version=1.0.0"}});
  REQUIRE(answer);
  CHECK(answer->get_header_value("Content-Type").find("application/openmetrics-text") == 0);
  CHECK(answer->body.ends_with("# EOF\n"));
}

TEST_CASE("a program's own server has OpenTelemetry's names for what its clients sent, if it asks for them") {
  operation_counts().sent("metrics_page", "mail.send", no_label, 2);
  const std::string otel =
      R"(messaging_client_sent_messages_total{messaging_system="dogged",messaging_operation_name="send",)"
      R"(messaging_operation_type="send",messaging_destination_name="metrics_page",dogged_task="mail.send"} 2)";
  const std::string ours = R"(dogged_sent_tasks_total{queue_name="metrics_page",task="mail.send"} 2)";
  const auto body = [](MetricNames names) { return OwnServer{names}.get()->body; };
  const auto has = [](const std::string& text, const std::string& line) {
    return text.find(line) != std::string::npos;
  };
  CHECK(has(body(MetricNames::dogged), ours));
  CHECK_FALSE(has(body(MetricNames::dogged), otel));
  CHECK(has(body(MetricNames::otel), otel));
  CHECK_FALSE(has(body(MetricNames::otel), ours));
  CHECK(has(body(MetricNames::both), otel));
  CHECK(has(body(MetricNames::both), ours));
}
