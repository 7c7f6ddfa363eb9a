// A migrated database of its own for each test, on the server that DOGGED_TEST_URL names, and a worker that runs in the
// test's process.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <dogged/client.hpp>
#include <dogged/detail/mutex.hpp>
#include <dogged/worker.hpp>

#include "base/wake_fd.hpp"
#include "db/connection.hpp"
#include "runtime/worker.hpp"
#include "support/contains.hpp"
#include "support/eventually.hpp"
#include "support/rows.hpp"
#include "tasks/definition.hpp"

namespace dogged::test {

/// The server's URL. Throws where DOGGED_TEST_URL is not set, and says how to start a server.
[[nodiscard]] std::string server_url();

/// A database that exists while this lives: a copy of a database that was migrated once for all tests. If it is not
/// migrated, it is an empty schema in the database that all tests share.
class TestDatabase {
 public:
  enum class Migrated { yes, no };
  explicit TestDatabase(Migrated migrated = Migrated::yes);
  ~TestDatabase();

  [[nodiscard]] const std::string& schema() const noexcept { return settings_.schema; }
  /// The database's name, which no other test's database has.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// By which a test finds its own connections in pg_stat_activity; a worker's have the service's name behind it.
  [[nodiscard]] const std::string& application() const noexcept { return settings_.application_name; }
  [[nodiscard]] const db::Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] db::Connection& connection() { return *connection_; }
  /// For connections with the rights of one role alone: producer, worker, viewer or operator.
  [[nodiscard]] db::Settings settings_of(const std::string& role) const;
  [[nodiscard]] Client client() const;

  /// Runs one statement that names the schema `dogged.`.
  Rows run(const std::string& sql, const db::Params& params = {});
  /// The only value of the only row of `sql`, whose column is named `value`; "null" for null.
  [[nodiscard]] std::string value(const std::string& sql, const db::Params& params = {});
  /// Runs several statements in one transaction.
  void script(const std::string& sql);

  /// `pending`, `succeeded` …; "none" if there is no such task.
  [[nodiscard]] std::string status_of(TaskId id);
  /// All pending tasks now run under a worker, as if it had claimed them.
  void claim_all_for(std::int64_t worker_id);
  /// How many tasks there are, whatever became of them.
  [[nodiscard]] std::int64_t count_tasks();
  /// The attempts of a task in their order, with `ran_us` and `until_retry_ms` (from finished_at to
  /// next_retry_at).
  [[nodiscard]] Rows attempts_of(TaskId id);
  /// `1 failed true, 2 succeeded false`: number, outcome and will_retry of every attempt of the task.
  [[nodiscard]] std::string history_of(TaskId id);

 private:
  const std::string name_;
  const bool is_copy_;
  db::Settings settings_;
  std::unique_ptr<db::Connection> connection_;
};

/// The error of type E that `work` throws. Another one is passed on; none at all is a std::logic_error.
template <class E, class Work>
[[nodiscard]] E error_of(Work&& work) {
  try {
    std::forward<Work>(work)();
  } catch (const E& error) {
    return error;
  }
  throw std::logic_error("an error was expected, and none was thrown");
}

/// Holds handlers until the test lets them go on. Thread-safe.
class Gate {
 public:
  void open();
  /// Waits until it is open; 20 s at most, so that a test that fails ends all the same.
  void wait();
  /// How many have come to wait so far.
  [[nodiscard]] int arrived() const;

 private:
  mutable dogged::detail::Mutex mutex_;
  dogged::detail::Condition opened_;
  bool open_ DOGGED_GUARDED_BY(mutex_) = false;
  int arrived_ DOGGED_GUARDED_BY(mutex_) = 0;
};

/// The registration that TASK_REGISTER would make, for a handler made in a test. All handlers of a task share the
/// templates of erase_handler, since they are of one type.
template <class Args, class Result>
[[nodiscard]] detail::RegisteredTask registered(
    const Task<Args, Result>& task, std::type_identity_t<std::function<Result(Context&, const Args&)>> handler,
    const TaskOptions& options = {}) {
  return {std::string{task.name()}, options,
          detail::erase_handler<Args, Result>(std::move(handler), {task.version(), options.upgrade}), task.queue(),
          task.version()};
}

/// Publishes what the tasks declare, as a worker does that starts.
void declare(TestDatabase& database, const std::vector<detail::RegisteredTask>& tasks);

/// The row of a worker that is not there, and serves the queue `default`; its lease lapses after `lease`.
[[nodiscard]] std::int64_t add_worker(TestDatabase& database, const std::string& lease = "1 hour");

/// Waits until a worker's row says that it sleeps, and until it listens. From then on only a notification, a due time
/// or its poll interval makes it look.
[[nodiscard]] bool worker_is_asleep(TestDatabase& database, std::int64_t worker_id);

/// Ends the server's side of a worker's connection: `service` is claimer, completer, lease or upkeep. How many
/// there were.
std::int64_t terminate_connection(TestDatabase& database, const std::string& service);

/// A worker on a thread of the test, with the rights of dogged's worker role.
class RunningWorker {
 public:
  RunningWorker(const TestDatabase& database, const std::vector<detail::RegisteredTask>& tasks,
                runtime::WorkerSettings settings = {});
  ~RunningWorker();

  [[nodiscard]] std::int64_t id() const { return worker_.id().value(); }
  /// As SIGTERM does, and waits until it has ended.
  runtime::ShutdownResult stop();
  /// Waits until the worker has ended by itself. Throws the error that has ended it.
  runtime::ShutdownResult wait();

 private:
  runtime::WakeFd stop_;
  runtime::Worker worker_;
  runtime::ShutdownResult result_;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace dogged::test
