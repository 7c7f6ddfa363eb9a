// A migrated schema of its own for each test, on the server that DOGGED_TEST_URL names, and a worker that runs in the
// test's process.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <dogged/client.hpp>
#include <dogged/worker.hpp>

#include "db/connection.hpp"
#include "definition.hpp"
#include "wake_fd.hpp"
#include "worker.hpp"

namespace dogged::test {

/// The server's URL. Throws where DOGGED_TEST_URL is not set, and says how to start a server.
[[nodiscard]] std::string server_url();

/// A schema that is there while this lives.
class TestDatabase {
 public:
  enum class Migrated { yes, no };
  explicit TestDatabase(Migrated migrated = Migrated::yes);
  ~TestDatabase();

  [[nodiscard]] const std::string& schema() const noexcept { return settings_.schema; }
  [[nodiscard]] const db::Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] db::Connection& connection() { return *connection_; }
  [[nodiscard]] Client client() const { return Client{settings_.url, {.schema = settings_.schema}}; }

  /// Runs SQL that names the schema `dogged.`.
  db::Rows run(const std::string& sql, const db::Params& params = {});
  /// The only value of the only row of `sql`, whose column is named `value`; "null" for null.
  [[nodiscard]] std::string value(const std::string& sql, const db::Params& params = {});

 private:
  db::Settings settings_;
  std::unique_ptr<db::Connection> connection_;
};

/// Asks until `condition` holds, for at most a generous 30 s; whether it held.
[[nodiscard]] bool eventually(const std::function<bool()>& condition);

/// What TASK_REGISTER makes, for a handler made in a test.
template <class Args, class Result, class Handler>
[[nodiscard]] detail::RegisteredTask registered(const Task<Args, Result>& task, Handler handler,
                                                const TaskOptions& options = {}) {
  return {std::string{task.name()}, options, detail::erase_handler<Args, Result>(std::move(handler))};
}

/// A worker on a thread of the test.
class RunningWorker {
 public:
  RunningWorker(const TestDatabase& database, const std::vector<detail::RegisteredTask>& tasks,
                runtime::WorkerSettings settings = {});
  ~RunningWorker();

  [[nodiscard]] std::int64_t id() const noexcept { return worker_.id(); }
  /// As SIGTERM does.
  runtime::ShutdownResult stop();

 private:
  runtime::Worker worker_;
  runtime::WakeFd stop_;
  runtime::ShutdownResult result_;
  std::thread thread_;
};

}  // namespace dogged::test
