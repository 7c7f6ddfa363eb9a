// See test_database.hpp.
#include "support/test_database.hpp"

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include <spdlog/sinks/null_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include "migrate/migrate.hpp"

namespace dogged::test {
namespace {

std::string new_schema_name() {
  static std::atomic<int> count{0};
  return "test_" + std::to_string(::getpid()) + "_" + std::to_string(++count);
}

/// DOGGED_TEST_LOG=1 shows what workers log.
std::shared_ptr<spdlog::logger> make_log() {
  if (std::getenv("DOGGED_TEST_LOG") == nullptr) {
    return std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
  }
  auto log = std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log->set_level(spdlog::level::debug);
  return log;
}

runtime::WorkerSettings with_database(runtime::WorkerSettings settings, const TestDatabase& database) {
  settings.database = database.settings();
  if (settings.name.empty()) settings.name = "test worker";
  return settings;
}

}  // namespace

std::string server_url() {
  const char* url = std::getenv("DOGGED_TEST_URL");
  if (url == nullptr) {
    throw std::runtime_error(
        "DOGGED_TEST_URL is not set: run ctest, or `tests/support/cluster start /tmp/dogged-test` and set it to the "
        "text of /tmp/dogged-test/url");
  }
  return url;
}

TestDatabase::TestDatabase(Migrated migrated)
    : settings_{server_url(), new_schema_name(), "dogged test"},
      connection_(std::make_unique<db::Connection>(settings_)) {
  if (migrated == Migrated::yes) migrate::apply(*connection_);
}

TestDatabase::~TestDatabase() {
  try {
    db::Connection fresh{settings_};  // the test may have broken its own
    const std::string drop = "drop schema if exists " + settings_.schema + " cascade";
    fresh.run({drop, drop});
  } catch (const Error&) {
    // The server is gone or locked up; its directory is deleted after the tests.
  }
}

db::Rows TestDatabase::run(const std::string& sql, const db::Params& params) {
  return connection_->run({sql, sql}, params);
}

std::string TestDatabase::value(const std::string& sql, const db::Params& params) {
  return run(sql, params).one().maybe_text("value").value_or("null");
}

bool eventually(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return true;
}

RunningWorker::RunningWorker(const TestDatabase& database, const std::vector<detail::RegisteredTask>& tasks,
                             runtime::WorkerSettings settings)
    : worker_(with_database(std::move(settings), database), runtime::make_definitions(tasks), make_log()),
      thread_([this] { result_ = worker_.run(stop_); }) {}

RunningWorker::~RunningWorker() { stop(); }

runtime::ShutdownResult RunningWorker::stop() {
  stop_.wake();
  if (thread_.joinable()) thread_.join();
  return result_;
}

}  // namespace dogged::test
