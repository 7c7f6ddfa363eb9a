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

/// Roles belong to the whole server: all tests share these.
constexpr const char* role_prefix = "dogged_test";

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
  settings.database = database.settings_of("worker");
  static std::atomic<int> count{0};
  if (settings.name.empty()) settings.name = "test worker " + std::to_string(++count);
  return settings;
}

}  // namespace

std::string server_url() {
  const char* url = std::getenv("DOGGED_TEST_URL");
  if (url == nullptr) {
    throw std::runtime_error(
        "DOGGED_TEST_URL is not set: run ctest, or `tests/support/cluster start /tmp/dogged-test` and set it "
        "to the "
        "text of /tmp/dogged-test/url");
  }
  return url;
}

TestDatabase::TestDatabase(Migrated migrated) {
  settings_.url = server_url();
  settings_.schema = new_schema_name();
  settings_.application_name = settings_.schema;  // so that a test finds its own connections in pg_stat_activity
  settings_.idle_in_transaction = std::chrono::milliseconds{0};  // tests keep locks while they wait for events
  connection_ = std::make_unique<db::Connection>(settings_);
  // libpqxx makes a table at the first statement of a process. ThreadSanitizer does not see how it guards that, and two
  // threads of a test that come to it first would look like a race.
  connection_->run({"first statement", "select"});
  if (migrated == Migrated::no) return;
  // Most of the time that a new schema takes goes into its partitions; tests need those of few days.
  migrate::apply(*connection_, [&](const migrate::Step& step) {
    if (step.name == "0001_tasks") run("update dogged.settings set partition_days_ahead = 1");
  });
  migrate::make_roles(*connection_, role_prefix);
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

db::Settings TestDatabase::settings_of(const std::string& role) const {
  db::Settings settings = settings_;
  settings.url += std::string{contains(settings.url, "?") ? "&" : "?"} + "options=-crole%3D" + role_prefix + "_" + role;
  return settings;
}

db::Rows TestDatabase::run(const std::string& sql, const db::Params& params) {
  return connection_->run({sql, sql}, params);
}

std::string TestDatabase::value(const std::string& sql, const db::Params& params) {
  return run(sql, params).one().maybe_text("value").value_or("null");
}

void TestDatabase::script(const std::string& sql) {
  connection_->transaction([&] { connection_->run_script("test script", sql); });
}

std::string TestDatabase::status_of(TaskId id) {
  return value("select coalesce(min(status::text), 'none') as value from dogged.tasks where id = $1::bigint",
               db::Params{}.add(id));
}

void TestDatabase::claim_all_for(std::int64_t worker_id) {
  run("with claimed as (update dogged.tasks_live set status = 'running', deferred = false, attempt = attempt + 1, "
      "worker_id = $1::bigint, claimed_at = clock_timestamp() where status = 'pending' returning id) "
      "insert into dogged.claims (worker_id, task_ids) select $1::bigint, array_agg(id) from claimed",
      db::Params{}.add(worker_id));
}

std::int64_t TestDatabase::count_tasks() {
  return run("select count(*) as value from dogged.tasks").one().number("value");
}

db::Rows TestDatabase::attempts_of(TaskId id) {
  return run(
      "select *, (extract(epoch from finished_at - started_at) * 1000000)::bigint as ran_us, "
      "extract(epoch from next_retry_at - finished_at) * 1000 as until_retry_ms "
      "from dogged.task_attempts where task_id = $1::bigint order by attempt",
      db::Params{}.add(id));
}

std::string TestDatabase::history_of(TaskId id) {
  return value(
      "select coalesce(string_agg(attempt || ' ' || outcome || ' ' || will_retry, ', ' order by attempt), "
      "'') as value "
      "from dogged.task_attempts where task_id = $1::bigint",
      db::Params{}.add(id));
}

void Gate::open() {
  {
    const std::scoped_lock lock{mutex_};
    open_ = true;
  }
  opened_.notify_all();
}

void Gate::wait() {
  std::unique_lock lock{mutex_};
  ++arrived_;
  opened_.wait_for(lock, std::chrono::seconds{20}, [this] { return open_; });
}

int Gate::arrived() const {
  const std::scoped_lock lock{mutex_};
  return arrived_;
}

bool eventually(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return true;
}

std::int64_t add_worker(TestDatabase& database, const std::string& lease) {
  return database
      .run(
          "insert into dogged.workers (name, host, pid, version, queues, task_names, lease_until) "
          "select 'worker ' || count(*), 'elsewhere', 1, '0', '{\"default\": 1}', '{}', clock_timestamp() + "
          "$1::interval "
          "from dogged.workers returning id",
          db::Params{}.add(lease))
      .one()
      .number("id");
}

bool worker_is_asleep(TestDatabase& database, std::int64_t worker_id) {
  const bool listens = eventually([&] {  // to the last of its channels; what it asks later may hide that
    return database.value(
               "select count(*) as value from pg_stat_activity a, dogged.workers w where a.application_name = $1 and "
               "a.state = 'idle' and w.id = $2::bigint and (a.query like 'LISTEN %.waiting\"' or a.query like '-- The "
               "tasks that "
               "run under%' or "
               "w.heartbeat_at > w.started_at + interval '1 second')",
               db::Params{}.add(database.schema() + " lease").add(worker_id)) != "0";
  });
  return listens && eventually([&] {
           return database.value("select asleep as value from dogged.workers where id = $1::bigint",
                                 db::Params{}.add(worker_id)) == "t";
         });
}

std::int64_t terminate_connection(TestDatabase& database, const std::string& service) {
  return database
      .run(
          "select count(pg_terminate_backend(pid)) as value from pg_stat_activity where application_name = "
          "$1",
          db::Params{}.add(database.schema() + " " + service))
      .one()
      .number("value");
}

RunningWorker::RunningWorker(const TestDatabase& database, const std::vector<detail::RegisteredTask>& tasks,
                             runtime::WorkerSettings settings)
    : worker_(with_database(std::move(settings), database), runtime::make_definitions(tasks), make_log(), stop_),
      thread_([this] { result_ = worker_.run(); }) {}

RunningWorker::~RunningWorker() { stop(); }

runtime::ShutdownResult RunningWorker::stop() {
  stop_.wake();
  return wait();
}

runtime::ShutdownResult RunningWorker::wait() {
  if (thread_.joinable()) thread_.join();
  return result_;
}

}  // namespace dogged::test
