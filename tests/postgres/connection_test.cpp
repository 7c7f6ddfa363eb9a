// What db::Connection promises of transactions and of prepared statements.
#include <chrono>
#include <string>

#include "support/catch.hpp"
#include "support/test_database.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::TestDatabase;

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
  connection.transaction([&] { names = connection.run({"names of what is prepared", text}).one().text("names"); });
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
  CHECK(connection.run(probe).one().number("n") == 1);
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
  for (int i = 0; i < 3; ++i) CHECK(second.run(probe).one().number("n") == 1);
}

TEST_CASE("a connection whose statement gives columns of other types than when it was prepared runs it as it is now") {
  TestDatabase database;
  db::Connection connection = preparing_connection(database);
  database.run("create table dogged.one_row as select 1 as n");
  constexpr db::Statement read{"read", "select n from dogged.one_row"};
  for (int i = 0; i < 2; ++i) connection.run(read);
  database.run("alter table dogged.one_row alter column n type bigint");
  CHECK(connection.run(read).one().number("n") == 1);
  CHECK_FALSE(connection.settings().prepares);
}
