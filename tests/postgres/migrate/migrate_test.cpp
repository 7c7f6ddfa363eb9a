// The promises of migrations: applied once and whole, refused where they do not fit, and nothing beside them.
#include "migrate/migrate.hpp"

#include <array>
#include <cstdio>
#include <fstream>
#include <future>
#include <latch>
#include <sstream>

#include <unistd.h>

#include "migrate/embedded.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::error_of;
using test::eventually;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;

namespace {

constexpr Task<nlohmann::json, nlohmann::json> echo{"echo"};

detail::RegisteredTask echo_handler() {
  return registered(echo, [](Context&, const nlohmann::json& args) { return args; });
}

std::size_t count_files() { return migrate::embedded_migrations().size() + migrate::embedded_schema().size(); }

bool schema_exists(TestDatabase& database) {
  return database.value("select exists (select from pg_namespace where nspname = $1) as value",
                        db::Params{}.add(database.schema())) == "t";
}

/// The error with which a producer and a worker refuse this database; both must give the same.
SchemaMismatch refusal_of_client_and_worker(const TestDatabase& database) {
  const auto of_client = error_of<SchemaMismatch>([&] { (void)database.client(); });
  const auto of_worker = error_of<SchemaMismatch>([&] { RunningWorker worker{database, {echo_handler()}}; });
  CHECK(std::string{of_client.what()} == of_worker.what());
  return of_client;
}

/// A database that is there while this lives.
class OwnDatabase {
 public:
  OwnDatabase() : name_("test_structure_" + std::to_string(::getpid())) { run_on_server("create database " + name_); }
  ~OwnDatabase() { run_on_server("drop database " + name_ + " with (force)"); }

  [[nodiscard]] std::string url() const {
    const std::string server = test::server_url();
    return server + (contains(server, "?") ? "&" : "?") + "dbname=" + name_;
  }

 private:
  static void run_on_server(const std::string& sql) {
    db::Connection connection{{.url = test::server_url(), .schema = "dogged", .application_name = "dogged test"}};
    connection.run({sql, sql});
  }

  std::string name_;
};

std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe{::popen(command.c_str(), "r"), ::pclose};
  std::string output;
  std::array<char, 4096> buffer{};
  while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) {
    output.append(buffer.data(), size);
  }
  return output;
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream{path}.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("an empty database is migrated, file by file, and then works") {
  TestDatabase database{TestDatabase::Migrated::no};
  std::vector<std::string> told;
  const migrate::Report report =
      migrate::apply(database.connection(), [&](const migrate::Step& step) { told.push_back(step.name); });

  CHECK(report.up_to_date);
  REQUIRE(report.steps.size() == count_files());
  CHECK(report.steps.front().name == "0001_tasks");
  CHECK(told.size() == count_files());
  CHECK(migrate::status(database.connection()).up_to_date);
  CHECK(database.client().enqueue(NewTask{"echo", "{}", {}}) == 1);
}

TEST_CASE("migrating again changes nothing") {
  TestDatabase database;
  database.client().enqueue(NewTask{"echo", "{}", {}});
  const migrate::Report report = migrate::apply(database.connection());
  CHECK(report.up_to_date);
  CHECK(report.steps.empty());
  CHECK(database.count_tasks() == 1);
}

TEST_CASE("two migrators at once apply each file once") {
  TestDatabase database{TestDatabase::Migrated::no};
  std::latch together{2};
  const auto migrate_it = [&] {
    db::Connection connection{database.settings()};
    together.arrive_and_wait();
    return migrate::apply(connection).steps.size();
  };
  auto first = std::async(std::launch::async, migrate_it);
  auto second = std::async(std::launch::async, migrate_it);
  CHECK(first.get() + second.get() == count_files());
  CHECK(migrate::status(database.connection()).up_to_date);
}

TEST_CASE("the status of an empty database lists what is pending and makes nothing") {
  TestDatabase database{TestDatabase::Migrated::no};
  const migrate::Report report = migrate::status(database.connection());
  CHECK_FALSE(report.up_to_date);
  CHECK(report.steps.size() == count_files());
  for (const migrate::Step& step : report.steps) {
    CHECK_FALSE(step.applied);
    CHECK(step.applied_at.empty());
  }
  CHECK_FALSE(schema_exists(database));
}

TEST_CASE("the status of a migrated database says when each file was applied") {
  TestDatabase database;
  for (const migrate::Step& step : migrate::status(database.connection()).steps) {
    INFO(step.name);
    CHECK(step.applied);
    CHECK(step.applied_at.size() == std::string{"2026-01-01T00:00:00Z"}.size());
    CHECK(step.checksum.size() == 64);
  }
}

TEST_CASE("a migration that fails leaves nothing behind, and works once the cause is gone") {
  TestDatabase database{TestDatabase::Migrated::no};
  database.run("create schema " + database.schema());
  database.run("create table dogged.workers (in_the_way integer)");
  const auto error = error_of<DatabaseError>([&] { migrate::apply(database.connection()); });
  INFO(error.what());
  CHECK(contains(error.message(), "0001_tasks"));
  CHECK(contains(error.message(), "workers"));
  CHECK(database.value("select to_regclass('dogged.tasks')::text as value") == "null");
  CHECK(database.value("select count(*) as value from dogged.schema_migrations") == "0");

  database.run("drop table dogged.workers");
  migrate::apply(database.connection());
  CHECK(migrate::status(database.connection()).up_to_date);
}

TEST_CASE("an applied migration whose file has changed is refused by all, and named") {
  TestDatabase database;
  database.run("update dogged.schema_migrations set checksum = repeat('0', 64) where version = 1");
  const auto error = refusal_of_client_and_worker(database);
  INFO(error.what());
  CHECK(contains(error.message(), "0001_tasks"));
  CHECK(contains(error.message(), "000000000000"));
  CHECK(contains(error.hint(), "restore the file"));
  CHECK_THROWS_AS(migrate::apply(database.connection()), SchemaMismatch);
  CHECK_THROWS_AS(migrate::status(database.connection()), SchemaMismatch);
}

TEST_CASE("a database that is newer than the program is refused by all, and left alone") {
  TestDatabase database;
  database.run(
      "insert into dogged.schema_migrations (version, name, checksum, applied_by) values (9999, '9999_x', "
      "'', '')");
  database.run("update dogged.schema_files set checksum = ''");
  const auto error = refusal_of_client_and_worker(database);
  INFO(error.what());
  CHECK(contains(error.message(), "9999"));
  CHECK(contains(error.hint(), "upgrade this program"));
  CHECK_THROWS_AS(migrate::apply(database.connection()), SchemaMismatch);
  CHECK(database.value("select count(*) as value from dogged.schema_files where checksum <> ''") == "0");
}

TEST_CASE("a database without the schema is refused with the command that makes it") {
  const TestDatabase migrated;  // makes the worker's role, if this test is the first of the server
  TestDatabase database{TestDatabase::Migrated::no};
  const auto error = refusal_of_client_and_worker(database);
  INFO(error.what());
  CHECK(contains(error.message(), "\"" + database.schema() + "\""));
  CHECK(contains(error.hint(), "dogged migrate"));
}

TEST_CASE("a database that lacks a migration is refused with the command that adds it") {
  TestDatabase database;
  database.run("delete from dogged.schema_migrations where version = 2");
  const auto error = refusal_of_client_and_worker(database);
  INFO(error.what());
  CHECK(contains(error.message(), "0002_task_attempts"));
  CHECK(contains(error.hint(), "dogged migrate"));
}

TEST_CASE("a database that lacks a part of the SQL interface is refused with the command that adds it") {
  TestDatabase database;
  database.run("delete from dogged.schema_files where name = 'enqueue'");
  const auto error = refusal_of_client_and_worker(database);
  INFO(error.what());
  CHECK(contains(error.message(), "enqueue"));
  CHECK(contains(error.hint(), "dogged migrate"));
}

TEST_CASE("a part of the SQL interface that changed is applied again, and old programs work meanwhile") {
  TestDatabase database;
  database.run("update dogged.schema_files set checksum = 'of another version' where name = 'views'");
  database.run("drop view dogged.dead_letters");
  database.client().enqueue(NewTask{"echo", "{}", {}});

  const migrate::Report report = migrate::apply(database.connection());
  REQUIRE(report.steps.size() == 1);
  CHECK(report.steps.front().name == "views");
  CHECK(report.steps.front().is_schema_file);
  CHECK(database.value("select count(*) as value from dogged.dead_letters") == "0");
}

TEST_CASE("a schema of another name works from end to end, and nothing in it refers to `dogged`") {
  TestDatabase database;
  RunningWorker worker{database, {echo_handler()}};
  const std::string sql = "select " + database.schema() + ".enqueue('echo', '{\"n\": 1}') as value";
  const TaskId id = std::stoll(database.value(sql));
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 succeeded false");
  const std::string word = "\\mdogg";  // in two parts, or the schema's name would be put there
  CHECK(database.value("select count(*) as value from pg_proc where pronamespace = $1::regnamespace and prosrc ~ $2",
                       db::Params{}.add(database.schema()).add(word + "ed\\.")) == "0");
}

TEST_CASE("a schema name that would need quotes or is PostgreSQL's own is refused") {
  for (const std::string& name :
       {std::string{}, std::string{"Upper"}, std::string{"1st"}, std::string{"with-dash"}, std::string{"with space"},
        std::string{"quote\"d"}, std::string{"pg_mine"}, std::string{"caf?"}, std::string(49, 'a')}) {
    INFO(name);
    const auto error = error_of<InvalidInput>([&] { (void)Client{test::server_url(), {.schema = name}}; });
    CHECK(contains(error.message(), "\"" + name + "\""));
    CHECK(contains(error.message(), "48"));
  }
}

TEST_CASE("a migrated database has the structure that tests/postgres/migrate/structure.sql shows") {
  const OwnDatabase own;
  db::Connection connection{{.url = own.url(), .schema = "dogged", .application_name = "dogged test"}};
  migrate::apply(connection);

  const std::string source = DOGGED_SOURCE_DIR;
  const std::string expected = text_of(source + "/tests/postgres/migrate/structure.sql");
  REQUIRE_FALSE(expected.empty());
  const test::Rows server =
      connection.run({"server_version", "select current_setting('server_version_num')::int / 10000 as major"});
  const std::string version = "on PostgreSQL " + std::to_string(server.one().number("major")) + " ";
  if (!contains(expected.substr(0, expected.find('\n')), version)) {
    WARN(
        "tests/postgres/migrate/structure.sql is of another major version of PostgreSQL than this server: not "
        "compared");
    return;
  }
  const std::string actual = output_of("'" + source + "/scripts/structure' --stdout '" + own.url() + "'");
  CHECK(actual == expected);
}

TEST_CASE("docs/sql.md is what scripts/sql_reference makes of a migrated database") {
  const OwnDatabase own;
  db::Connection connection{{.url = own.url(), .schema = "dogged", .application_name = "dogged test"}};
  migrate::apply(connection);

  const std::string source = DOGGED_SOURCE_DIR;
  const std::string expected = text_of(source + "/docs/sql.md");
  REQUIRE_FALSE(expected.empty());
  CHECK(output_of("'" + source + "/scripts/sql_reference' --stdout '" + own.url() + "'") == expected);
}
