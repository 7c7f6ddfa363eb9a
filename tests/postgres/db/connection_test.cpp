// The promises of db::Connection on transactions and prepared statements.
#include <array>
#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <spdlog/sinks/null_sink.h>

#include "base/session.hpp"
#include "base/wake_fd.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::error_of;
using test::eventually;
using test::no_args;
using test::registered;
using test::TestDatabase;
using test::work;

namespace {

/// As the build makes one of a file that declares a column of another name than the statement gives.
struct Misdeclared {
  static constexpr db::Statement statement{"misdeclared", "select 1 as one"};
  struct Row {
    static constexpr std::array<std::string_view, 1> columns{"two"};
    static Row of(const db::Row& row) { return {.two = row.at<int>(0)}; }

    int two;
  };

  [[nodiscard]] db::Params params() const { return {}; }
};

}  // namespace

TEST_CASE(
    "a statement that gives other columns than its file declares is a mistake of dogged, and no row of it is read") {
  TestDatabase database;
  CHECK_THROWS_AS(database.connection().run(Misdeclared{}), std::logic_error);
}

TEST_CASE("the server ends a transaction whose client has vanished, and its locks with it") {
  TestDatabase database;
  const db::Settings of_commands{.url = database.settings().url, .schema = database.schema()};
  CHECK(of_commands.idle_in_transaction == 3s);

  db::Settings settings = of_commands;
  settings.idle_in_transaction = 100ms;
  db::Connection vanished{settings};
  db::Connection other{database.settings()};
  const auto hold_lock = [&] {
    vanished.run({"lock", "lock table dogged.queues in access exclusive mode"});
    other.run({"wait for the lock", "select count(*) from dogged.queues"});
  };
  CHECK_THROWS_AS(vanished.transaction(hold_lock), ConnectionError);
}

TEST_CASE("behind a pooler each transaction is set up as a session would be") {
  TestDatabase database;
  db::Settings settings = database.settings();
  settings.statement_timeout = 1s;
  settings.pooled = true;
  db::Connection connection{settings};
  constexpr std::string_view text =
      "select concat_ws(' ', current_setting('statement_timeout'), current_setting('enable_seqscan')) as set";
  CHECK(test::Rows{connection.run({"before", text})}.one().text("set") == "0 on");
  connection.set_up_session();
  CHECK(test::Rows{connection.run({"alone", text})}.one().text("set") == "1s off");
  connection.transaction([&] {
    CHECK(test::Rows{connection.run({"in a transaction", text})}.one().text("set") == "1s off");
  });
  CHECK(test::error_of<DatabaseError>([&] { connection.run({"sleep", "select pg_sleep(20)"}); }).sqlstate() == "57014");
  CHECK(test::Rows{connection.run({"alone again", text})}.one().text("set") == "1s off");
}

namespace {

constexpr db::Statement probe{"probe", "select 1 as n"};

db::Connection preparing_connection(const TestDatabase& database) {
  db::Settings settings = database.settings();
  settings.prepares = true;
  return db::Connection{settings};
}

/// The names of what the session has prepared, with commas between them.
std::string prepared_in(db::Connection& connection) {
  const std::string_view text = "select coalesce(string_agg(name, ','), '') as names from pg_prepared_statements";
  std::string names;
  // In a transaction nothing is prepared, this neither.
  connection.transaction([&] {
    names = test::Rows{connection.run({"names of what is prepared", text})}.one().text("names");
  });
  return names;
}

}  // namespace

TEST_CASE("a connection that prepares does so for what it runs again, outside of transactions") {
  TestDatabase database;
  db::Connection connection = preparing_connection(database);
  connection.run(probe);
  CHECK(prepared_in(connection).empty());
  connection.transaction([&] { connection.run(probe); });
  CHECK(prepared_in(connection).empty());
  connection.run(probe);
  CHECK(prepared_in(connection).starts_with("probe "));
  connection.run(probe);
  CHECK(prepared_in(connection).find(',') == std::string::npos);

  db::Connection other{database.settings()};
  for (int i = 0; i < 3; ++i) other.run(probe);
  CHECK(prepared_in(other).empty());
}

TEST_CASE("a connection that finds itself in another session goes on without preparing") {
  TestDatabase database;
  db::Connection connection = preparing_connection(database);
  for (int i = 0; i < 2; ++i) connection.run(probe);
  connection.run({"leave", "deallocate all"});  // as where a pooler has given it another session
  CHECK(test::Rows{connection.run(probe)}.one().number("n") == 1);
  for (int i = 0; i < 2; ++i) connection.run(probe);
  CHECK(prepared_in(connection).empty());
}

TEST_CASE("a connection that finds its statement prepared already, in a session it shares, runs its own") {
  TestDatabase database;
  db::Connection first = preparing_connection(database);
  for (int i = 0; i < 2; ++i) first.run(probe);
  const std::string others = "prepare \"" + prepared_in(first) + "\" as select 2 as n";
  db::Connection second = preparing_connection(database);
  second.run({"prepare for another", others});
  for (int i = 0; i < 3; ++i) CHECK(test::Rows{second.run(probe)}.one().number("n") == 1);
}

TEST_CASE("a connection whose statement gives columns of other types than when it was prepared runs it as it is now") {
  TestDatabase database;
  db::Connection connection = preparing_connection(database);
  database.run("create table dogged.one_row as select 1 as n");
  constexpr db::Statement read{"read", "select n from dogged.one_row"};
  for (int i = 0; i < 2; ++i) connection.run(read);
  database.run("alter table dogged.one_row alter column n type bigint");
  CHECK(test::Rows{connection.run(read)}.one().number("n") == 1);
  CHECK_FALSE(connection.settings().prepares);
}

TEST_CASE("the server shows the name of a script, and of each statement that sets up a session or a transaction") {
  TestDatabase database;
  const auto last_of = [&](const std::string& application) {
    return database.value("select query as value from pg_stat_activity where application_name = $1",
                          db::Params{}.add(application));
  };
  const auto count = [](const std::string& text, const std::string& part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  db::Settings settings = database.settings();
  settings.statement_timeout = 5s;

  settings.application_name = "named session";
  db::Connection session{settings};
  session.set_up_session();
  const std::string set_up = last_of("named session");
  CHECK(set_up.starts_with("/* dogged:set_up_session */ set session "));
  CHECK(count(set_up, "/* dogged:set_up_session */ set ") == count(set_up, ";"));

  settings.application_name = "named transaction";
  settings.pooled = true;
  db::Connection pooled{settings};
  pooled.set_up_session();
  pooled.transaction([&] {
    const std::string set = last_of("named transaction");
    CHECK(set.starts_with("/* dogged:set_up_transaction */ set local "));
    CHECK(count(set, "/* dogged:set_up_transaction */ set ") == count(set, ";"));
    pooled.run_script("0001_core", "select 1; select 2");
    CHECK(last_of("named transaction") == "/* dogged:0001_core */ select 1; select 2");
  });
}

TEST_CASE("a connection that is told twice to listen hears each notification once") {
  TestDatabase database;
  db::Connection connection{database.settings()};
  for (int i = 0; i < 2; ++i) connection.listen(db::Channel::wake);
  database.run("select pg_notify('dogged.wake', 'a'), pg_notify('dogged.wake', 'b')");
  const runtime::WakeFd never;
  std::string heard;
  while (!heard.ends_with('b')) {
    const std::vector<db::Notification> said = connection.wait(20s, never.fd());
    REQUIRE_FALSE(said.empty());
    for (const db::Notification& notification : said) heard += notification.payload;
  }
  CHECK(heard == "ab");
}

TEST_CASE("a connection that listens is closed without waiting for the server") {
  TestDatabase database;
  std::optional<db::Connection> connection{database.settings()};
  connection->listen(db::Channel::wake);
  const auto backend = static_cast<pid_t>(
      test::Rows{connection->run({"its backend", "select pg_backend_pid() as pid"})}.one().number("pid"));
  REQUIRE(::kill(backend, SIGSTOP) == 0);
  auto closed = std::async(std::launch::async, [&] { connection.reset(); });
  CHECK(closed.wait_for(20s) == std::future_status::ready);
  REQUIRE(::kill(backend, SIGCONT) == 0);
}

TEST_CASE("a session gives up a statement that has waited for its patience, and says when to look again") {
  TestDatabase database;
  const auto log = std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
  runtime::Session session{database.settings(), "session", log};
  const auto at = std::chrono::steady_clock::now();
  CHECK(session.abort_if_busy_for(10s, at) == at + 10s);  // a statement that begins now would have waited then
  (void)session.connection();
  CHECK(session.abort_if_busy_for(10s, at) == at + 10s);
  db::Connection user{database.settings()};
  user.transaction([&] {
    user.run({"lock", "lock table dogged.queues in access exclusive mode"});
    auto given_up = std::async(std::launch::async, [&] {
      session.connection().run({"wait", "select count(*) from dogged.queues"});
    });
    const auto later = at + 1h;
    REQUIRE(eventually([&] { return session.abort_if_busy_for(2h, later) < later + 2h; }));
    CHECK(session.abort_if_busy_for(2h, later) <= std::chrono::steady_clock::now() + 2h);
    CHECK(session.abort_if_busy_for(10min, later) == later + 1s);
    CHECK_THROWS_AS(given_up.get(), ConnectionError);
  });
}

namespace {

constexpr Task<nlohmann::json> breaks{"breaks"};

/// As if the role or the database had set it.
db::Settings with_option(db::Settings settings, const std::string& name, const std::string& value) {
  settings.url += "%20-c" + name + "%3D" + value;  // settings_of ends in its options
  return settings;
}

}  // namespace

TEST_CASE("a worker's work means the same whatever its role or its database has set") {
  TestDatabase database;
  db::Settings settings = database.settings_of("worker");
  settings = with_option(settings, "array_nulls", "off");
  settings = with_option(settings, "standard_conforming_strings", "off");
  settings = with_option(settings, "datestyle", "German");
  settings = with_option(settings, "extra_float_digits", "-15");
  const TaskId lost = database.client().enqueue(work, no_args);
  database.claim_all_for(test::add_worker(database, "-1 second"));
  const TaskId fails = database.client().enqueue({.name = "breaks"});
  const auto definitions = runtime::make_definitions({registered(work, [](Context&, const nlohmann::json&) {}),
                                                      registered(breaks,
                                                                 [](Context&, const nlohmann::json&) {
                                                                   throw TaskError{"BROKEN", "it did not work"};
                                                                 },
                                                                 {.timeout = 1h, .circuit = "payments"})});
  const runtime::WakeFd stop;
  runtime::Worker worker{{.database = settings, .name = "w"},
                         definitions,
                         std::make_shared<spdlog::logger>("quiet", std::make_shared<spdlog::sinks::null_sink_mt>()),
                         stop};
  std::thread running{[&] { (void)worker.run(); }};
  CHECK(eventually([&] { return database.history_of(lost) == "1 lost true, 2 succeeded false"; }));
  CHECK(eventually([&] { return database.status_of(fails) == "failed"; }));
  stop.wake();
  running.join();
}

TEST_CASE("tasks of one call that have options and tasks that have none are told apart where array_nulls is off") {
  TestDatabase database;
  database.run("select dogged.create_queue('other')");
  const db::Settings producer = with_option(database.settings_of("producer"), "array_nulls", "off");
  Client client{producer.url, {.schema = producer.schema}};
  const EnqueueOptions all{.queue = "other", .delay = 1h, .trace_context = "t", .expires_in = 2h, .tags = {"x"}};
  (void)client.enqueue_many({{.name = "a.b", .options = all}, {.name = "a.b"}});
  CHECK(database.value("select string_agg(concat_ws(' ', queue, deferred, trace_context, expires_at - run_at, "
                       "tags::text), ', ' order by id) as value from dogged.tasks") ==
        "other t t 01:00:00 {x}, default f");
  db::Connection connection{producer};
  const std::string sql = "select dogged.enqueue_many('{a.b}', array['{}'::jsonb], tags => array['{x,NULL}'])";
  CHECK(contains(error_of<InvalidInput>([&] { connection.run({sql, sql}); }).message(), "one of its tags is null"));
}
