// A worker of the task `work` inside of the test's process that serves its pages on a free port, and keeps its log.
#pragma once

#include <memory>
#include <regex>
#include <stdexcept>
#include <string>
#include <utility>

#include <httplib.h>
#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/spdlog.h>

#include <dogged/worker.hpp>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

namespace dogged::test {

/// A worker that serves its pages on a free port.
class ServedWorker {
 public:
  template <class Handler>
  ServedWorker(const TestDatabase& database, Handler handler, WorkerOptions options = {},
               const TaskOptions& task_options = {})
      : worker_(with(database, log_, std::move(options)), Tasks{}.add(std::move(handler), work, task_options)) {}

  [[nodiscard]] Worker& operator*() noexcept { return worker_; }
  [[nodiscard]] Worker* operator->() noexcept { return &worker_; }

  [[nodiscard]] std::string log() const {
    std::string lines;
    for (const std::string& line : log_->last_formatted()) lines += line;
    return lines;
  }

  /// As the log tells it.
  [[nodiscard]] int port() const {
    for (const std::string& line : log_->last_formatted()) {
      std::smatch found;
      if (std::regex_search(line, found, std::regex{R"(metrics on http://127\.0\.0\.1:(\d+)/metrics)"})) {
        return std::stoi(found[1]);
      }
    }
    throw std::logic_error("the log does not tell where the metrics are");
  }

  [[nodiscard]] httplib::Result get(const std::string& path, const httplib::Headers& headers = {}) const {
    httplib::Client client{"127.0.0.1", port()};
    client.set_read_timeout(20);
    auto answer = client.Get(path, headers);
    REQUIRE(answer);
    return answer;
  }

 private:
  using Log = std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt>;

  static WorkerOptions with(const TestDatabase& database, const Log& log, WorkerOptions options) {
    const db::Settings settings = database.settings_of("worker");
    options.database_url = settings.url;
    options.schema = settings.schema;
    if (options.metrics_listen.empty()) options.metrics_listen = "127.0.0.1:0";
    options.log = std::make_shared<spdlog::logger>("test", log);
    return options;
  }

  Log log_ = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(200);
  Worker worker_;
};

}  // namespace dogged::test
