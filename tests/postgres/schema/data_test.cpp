// The promises of the tables: history never changes, every task has its place, and a missing partition loses nothing.
#include <chrono>
#include <future>
#include <latch>

#include "migrate/migrate.hpp"
#include "sql/doctor.hpp"
#include "sql/migrate.hpp"
#include "sql/retention.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::error_of;
using test::eventually;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::work;
using test::worker_is_asleep;

namespace {

detail::RegisteredTask fails_if_told() {
  return registered(work, [](Context&, const nlohmann::json& args) {
    if (args.contains("fail")) throw TaskError{"BROKEN", "as told"};
  });
}

/// `task_attempts` -> `task_attempts_20260131`, of today in UTC.
std::string todays_partition(TestDatabase& database, const std::string& parent) {
  return parent + "_" + database.value("select to_char(now() at time zone 'UTC', 'YYYYMMDD') as value");
}

void write_attempt(TestDatabase& database, const std::string& finished_at) {
  database.run(
      "insert into dogged.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, "
      "started_at, "
      "finished_at, will_retry) values (1, 1, 'work', 'default', 'succeeded', 1, now(), now(), "
      "$1::timestamptz, false)",
      db::Params{}.add(finished_at));
}

/// A TestDatabase has partitions of yesterday, of today, and of as many days to come as its settings say.
constexpr int days = 3;

/// How many of the days from yesterday to the last one ahead have no partition.
std::string missing_days(TestDatabase& database, const std::string& parent) {
  return database.value(
      "select count(*) as value from generate_series(-1, (select partition_days_ahead from dogged.settings)) "
      "as offset_days "
      "where to_regclass('dogged.' || $1 || '_' || to_char(now() at time zone 'UTC' + offset_days * interval "
      "'1 day', "
      "'YYYYMMDD')) is null",
      db::Params{}.add(parent));
}

/// Without partitions of days, as after a long time without a worker.
void drop_days(TestDatabase& database) {
  const test::Rows partitions = database.run(
      "select c.oid::regclass::text as name from pg_class c where c.relnamespace = $1::regnamespace and "
      "c.relkind = 'r' "
      "and c.relname ~ '^(task_attempts|tasks_done|tasks_failed)_[0-9]{8}$'",
      db::Params{}.add(database.schema()));
  for (const test::Row& partition : partitions) database.run("drop table " + partition.text("name"));
}

std::int64_t make_partitions(db::Connection& connection) {
  return test::Rows{connection.run({"make", "select dogged.make_partitions() as made"})}.one().number("made");
}

}  // namespace

TEST_CASE("attempts refuse UPDATE, DELETE and TRUNCATE, through the parent and on every partition") {
  TestDatabase database;
  write_attempt(database, "now");
  write_attempt(database, "2000-01-01");  // no day's partition: into the default
  const std::string tables[] = {"task_attempts", todays_partition(database, "task_attempts"), "task_attempts_default"};
  for (const std::string& table : tables) {
    for (const std::string& statement : {"update dogged." + table + " set will_retry = true",
                                         "delete from dogged." + table, "truncate dogged." + table}) {
      INFO(statement);
      const auto error = error_of<InvalidInput>([&] { database.run(statement); });
      CHECK(contains(error.message(), "attempts and steps are history"));
      CHECK(contains(error.message(), "task_attempts"));
      CHECK(contains(error.hint(), "Retention"));
    }
  }
  CHECK(database.value("select count(*) as value from dogged.task_attempts where not will_retry") == "2");
}

TEST_CASE("each task stands in the partition of its status") {
  TestDatabase database;
  RunningWorker worker{database, {fails_if_told()}};
  Client client = database.client();
  const TaskId done = client.enqueue(work, nlohmann::json::object());
  const TaskId failed = client.enqueue(work, {{"fail", true}});
  const TaskId live = client.enqueue(work, nlohmann::json::object(), {.delay = 1h});
  REQUIRE(
      eventually([&] { return database.status_of(done) == "succeeded" && database.status_of(failed) == "failed"; }));

  const auto table_of = [&](TaskId id) {
    return database.value(
        "select relname as value from dogged.tasks t join pg_class c on c.oid = t.tableoid "
        "where t.id = $1::bigint",
        db::Params{}.add(id));
  };
  CHECK(table_of(done) == todays_partition(database, "tasks_done"));
  CHECK(table_of(failed) == todays_partition(database, "tasks_failed"));
  CHECK(table_of(live) == "tasks_live");
  CHECK(database.value("select id as value from dogged.dead_letters") == std::to_string(failed));
}

TEST_CASE("after migrating there are partitions for yesterday, today and the coming week") {
  TestDatabase database{TestDatabase::Migrated::no};
  migrate::apply(database.connection());
  CHECK(database.value("select partition_days_ahead as value from dogged.settings") == "7");
  CHECK(missing_days(database, "task_attempts") == "0");
  CHECK(missing_days(database, "tasks_done") == "0");
  CHECK(missing_days(database, "tasks_failed") == "0");
}

TEST_CASE("a worker that starts makes the partitions that are missing") {
  TestDatabase database;
  drop_days(database);
  REQUIRE(missing_days(database, "tasks_done") == std::to_string(days));
  RunningWorker worker{database, {fails_if_told()}};
  CHECK(missing_days(database, "task_attempts") == "0");
  CHECK(missing_days(database, "tasks_done") == "0");
}

TEST_CASE("without today's partitions tasks end all the same, and what they left is moved there later") {
  TestDatabase database;
  RunningWorker worker{database, {fails_if_told()}};
  REQUIRE(worker_is_asleep(
      database, worker.id()));  // the first upkeep of a worker would make the partitions that this test drops
  drop_days(database);
  Client client = database.client();
  const std::vector<TaskId> ids = client.enqueue_many(work, std::vector<nlohmann::json>(20, nlohmann::json::object()));
  REQUIRE(
      eventually([&] { return database.value("select count(*) as value from dogged.task_attempts_default") == "20"; }));
  CHECK(database.value("select count(*) as value from dogged.tasks_done_default where status = 'succeeded'") == "20");

  CHECK(make_partitions(database.connection()) == 3 * days);
  CHECK(database.value("select count(*) as value from dogged.task_attempts_default") == "0");
  CHECK(database.value("select count(*) as value from dogged.tasks_done_default") == "0");
  CHECK(database.value("select count(distinct task_id) as value from dogged." +
                       todays_partition(database, "task_attempts")) == "20");
  CHECK(database.value("select count(distinct id) as value from dogged." + todays_partition(database, "tasks_done")) ==
        "20");
  for (const std::string& table : {todays_partition(database, "task_attempts"), std::string{"task_attempts_default"}}) {
    CHECK_THROWS_AS(database.run("truncate dogged." + table), InvalidInput);
  }
  CHECK_THROWS_AS(database.run("update dogged.task_attempts set attempt = 2"), InvalidInput);
  write_attempt(database, "2000-01-01");
  CHECK_THROWS_AS(database.run("delete from dogged.task_attempts_default"), InvalidInput);
}

TEST_CASE("two that make partitions at once hinder neither each other nor anyone else") {
  TestDatabase database;
  for (int round = 0; round < 5; ++round) {
    drop_days(database);
    std::latch together{2};
    const auto make = [&] {
      db::Connection connection{database.settings()};
      together.arrive_and_wait();
      return make_partitions(connection);
    };
    auto first = std::async(std::launch::async, make);
    auto second = std::async(std::launch::async, make);
    CHECK(first.get() + second.get() == 3 * days);
    CHECK(missing_days(database, "task_attempts") == "0");
    CHECK(missing_days(database, "tasks_done") == "0");
  }
}

TEST_CASE("one that makes partitions and has not committed yet makes no other one wait or fail") {
  TestDatabase database;
  drop_days(database);
  db::Connection slow{database.settings()};
  slow.transaction([&] {
    CHECK(make_partitions(slow) == 3 * days);
    const auto begun = std::chrono::steady_clock::now();
    CHECK(make_partitions(database.connection()) == 0);
    CHECK(std::chrono::steady_clock::now() - begun < 3s);
  });
  CHECK(missing_days(database, "task_attempts") == "0");
}

TEST_CASE("a long query on the default partition puts making partitions off, without a long wait") {
  TestDatabase database;
  drop_days(database);
  write_attempt(database, "now");
  db::Connection reader{database.settings()};
  reader.transaction([&] {
    reader.run({"read", "select count(*) from dogged.task_attempts_default"});
    const auto begun = std::chrono::steady_clock::now();
    CHECK(make_partitions(database.connection()) == 2 * days);  // of tasks_done and tasks_failed
    CHECK(std::chrono::steady_clock::now() - begun < 3s);
    CHECK(missing_days(database, "task_attempts") == std::to_string(days));
    CHECK(missing_days(database, "tasks_done") == "0");
  });
  CHECK(make_partitions(database.connection()) == days);
  CHECK(missing_days(database, "task_attempts") == "0");
  CHECK(database.value("select count(*) as value from dogged." + todays_partition(database, "task_attempts")) == "1");
}

TEST_CASE("rows of days that are older than all that is kept make no partitions") {
  TestDatabase database;
  const auto partitions = [&] { return database.value("select count(*) as value from dogged.partitions"); };
  const std::string before = partitions();
  database.run(
      "insert into dogged.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, started_at, "
      "finished_at, will_retry) select n, 1, 'work', 'default', 'failed', 1, at, at, at, false "
      "from generate_series(1, 20) as n cross join lateral (select timestamptz '2004-01-01 12:00:00+00' + n * interval "
      "'1 day' as at) old");
  CHECK(database.value("select dogged.make_partitions() as value") == "0");
  CHECK(partitions() == before);
}

TEST_CASE("the session that keeps others from making partitions, or from migrating, is named") {
  TestDatabase database;
  db::Connection holder{database.settings()};
  const auto named = [&] {
    const auto holders = database.connection().run(sql::DoctorHolders{});
    return holders.empty() ? "" : holders.front().name + " " + std::to_string(holders.front().pid);
  };
  CHECK(named().empty());
  holder.transaction([&] {
    const std::string pid = test::Rows{holder.run({"pid", "select pg_backend_pid() as pid"})}.one().text("pid");
    (void)holder.run(sql::MakePartitions{});
    CHECK(named() == "partitions " + pid);
  });
  holder.transaction([&] {
    holder.run(sql::LockMigrations{});
    CHECK(contains(named(), "migrations "));
  });
  CHECK(named().empty());
}
