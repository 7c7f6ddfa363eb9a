// See test_database.hpp.
#include "support/test_database.hpp"

#include <atomic>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <utility>

#include <spdlog/sinks/null_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include "migrate/embedded.hpp"
#include "migrate/migrate.hpp"
#include "tasks/published.hpp"

namespace dogged::test {
namespace {

/// Roles belong to the whole server: all tests share these.
constexpr const char* role_prefix = "dogged_test";

/// Of the schema in all copies. Not `dogged`, so that a statement which does not put the schema's name there fails.
constexpr const char* schema_of_copies = "tested";

std::string new_name() {
  static std::atomic<int> count{0};
  return "test_" + std::to_string(::getpid()) + "_" + std::to_string(++count);
}

std::string url_of(const std::string& database) { return server_url() + "&dbname=" + database; }

Rows run_on(db::Connection& connection, const std::string& sql, const db::Params& params = {}) {
  return connection.run({sql, sql}, params);
}

/// Of what the copies are made: the files that are migrated, and the day, since partitions are made for it.
std::string template_name(db::Connection& connection) {
  std::string files;
  for (const auto* all : {&migrate::embedded_migrations(), &migrate::embedded_schema()}) {
    for (const migrate::SqlFile& file : *all) files += file.checksum;
  }
  return run_on(connection, "select 'migrated_' || md5($1 || current_date) as name", db::Params{}.add(files))
      .one()
      .text("name");
}

void migrate_template(const std::string& name) {
  db::Connection connection{{.url = url_of(name), .schema = schema_of_copies, .application_name = name}};
  migrate::apply(connection, [&](const migrate::Step& step) {
    // Partitions take most of the time of a new schema, and tests need few days.
    if (step.name == "0001_tasks") run_on(connection, "update dogged.settings set partition_days_ahead = 1");
  });
  migrate::make_roles(connection, role_prefix);
}

/// The connection of this process on which databases are made and dropped: each costs the server 25 ms to begin.
db::Connection& server() {
  static db::Connection one{{.url = server_url(), .schema = "dogged", .application_name = "dogged tests"}};
  if (one.is_closed_by_server()) one = db::Connection{one.settings()};
  return one;
}

/// The name of the database that the others are copies of; the first test that comes makes it. To migrate a schema for
/// each test took 1 s of the server's time, which was most of what the tests took.
const std::string& migrated_template() {
  static const std::string made = [] {
    const std::string name = template_name(server());
    run_on(server(), "select pg_advisory_lock(1)");
    if (run_on(server(), "select from pg_database where datname = $1", db::Params{}.add(name)).empty()) {
      const std::string unfinished = name + "_" + new_name();
      run_on(server(), "create database " + unfinished);
      migrate_template(unfinished);
      run_on(server(), "alter database " + unfinished + " rename to " + name);
    }
    run_on(server(), "select pg_advisory_unlock(1)");
    return name;
  }();
  return made;
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

TestDatabase::TestDatabase(Migrated migrated) : name_(new_name()), is_copy_(migrated == Migrated::yes) {
  settings_.url = is_copy_ ? url_of(name_) : server_url();
  settings_.schema = is_copy_ ? schema_of_copies : name_;
  settings_.application_name = name_;
  settings_.idle_in_transaction = std::chrono::milliseconds{0};  // tests keep locks while they wait for events
  if (is_copy_) {
    const std::string& original = migrated_template();
    run_on(server(), "create database " + name_ + " template " + original + " strategy file_copy");
  }
  connection_ = std::make_unique<db::Connection>(settings_);
  // libpqxx makes a table at the first statement of a process. ThreadSanitizer does not see how it guards that, and two
  // threads of a test that come to it first would look like a race.
  connection_->run({"first statement", "select"});
  if (is_copy_) {  // two tests' databases are two queues; and no test's audit begins with this change
    script("set local session_replication_role = replica; update dogged.settings set installation = default");
  }
}

TestDatabase::~TestDatabase() {
  try {
    connection_.reset();  // the test may have broken it
    if (is_copy_) {
      run_on(server(), "drop database if exists " + name_ + " with (force)");
    } else {
      run_on(server(), "drop schema if exists " + name_ + " cascade");
    }
  } catch (const Error&) {
    // The server is gone or locked up; its directory is deleted after the tests.
  }
}

db::Settings TestDatabase::settings_of(const std::string& role) const {
  db::Settings settings = settings_;
  settings.url += std::string{contains(settings.url, "?") ? "&" : "?"} + "options=-crole%3D" + role_prefix + "_" + role;
  return settings;
}

Client TestDatabase::client() const { return Client{settings_.url, {.schema = settings_.schema, .log = make_log()}}; }

Rows TestDatabase::run(const std::string& sql, const db::Params& params) {
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

Rows TestDatabase::attempts_of(TaskId id) {
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
    const dogged::detail::Lock lock{mutex_};
    open_ = true;
  }
  opened_.notify_all();
}

void Gate::wait() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  dogged::detail::Lock lock{mutex_};
  ++arrived_;
  while (!open_ && opened_.wait_until(lock, until)) continue;
}

int Gate::arrived() const {
  const dogged::detail::Lock lock{mutex_};
  return arrived_;
}

void declare(TestDatabase& database, const std::vector<detail::RegisteredTask>& tasks) {
  runtime::publish_definitions(database.connection(), runtime::make_definitions(tasks), {}, *make_log());
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
  const bool listens = eventually([&] {  // to the last of its channels; its next statement may hide that
    return database.value(
               "select count(*) as value from pg_stat_activity a, dogged.workers w where a.application_name = $1 and "
               "a.state = 'idle' and w.id = $2::bigint and (a.query like 'LISTEN %.waiting\"' or a.query like '/* "
               "dogged:cancelling */%' or "
               "w.heartbeat_at > w.started_at + interval '1 second')",
               db::Params{}.add(database.application() + " lease").add(worker_id)) != "0";
  });
  return listens && eventually([&] {
           return database.value("select asleep as value from dogged.workers where id = $1::bigint",
                                 db::Params{}.add(worker_id)) == "t";
         });
}

std::int64_t terminate_connection(TestDatabase& database, const std::string& service) {
  return database
      .run(
          "select count(pg_terminate_backend(pid)) as value from pg_stat_activity where datname = current_database() "
          "and application_name = "
          "$1",
          db::Params{}.add(database.application() + " " + service))
      .one()
      .number("value");
}

RunningWorker::RunningWorker(const TestDatabase& database, const std::vector<detail::RegisteredTask>& tasks,
                             runtime::WorkerSettings settings)
    : worker_(with_database(std::move(settings), database), runtime::make_definitions(tasks), make_log(), stop_),
      thread_([this] {
        try {
          result_ = worker_.run();
        } catch (...) {
          error_ = std::current_exception();
        }
      }) {}

RunningWorker::~RunningWorker() { stop(); }

runtime::ShutdownResult RunningWorker::stop() {
  stop_.wake();
  return wait();
}

runtime::ShutdownResult RunningWorker::wait() {
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return result_;
}

}  // namespace dogged::test
