// The proxy makes the faults that it promises. On a real server, because it speaks PostgreSQL's protocol.
#include "proxy.hpp"

#include <chrono>
#include <future>

#include "db/connection.hpp"
#include "stage.hpp"
#include "support/catch.hpp"

using namespace dogged;
using namespace dogged::faults;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

db::Connection connect(const Proxy& proxy) { return db::Connection{{.url = proxy.url()}}; }

void run(db::Connection& connection, const std::string& sql) { connection.run({sql, sql}); }

/// A table of its own, and how many rows a scenario left in it.
class Table {
 public:
  Table() { database_.run("create table public.task_attempts (n int)"); }
  ~Table() { database_.run("drop table public.task_attempts"); }
  [[nodiscard]] std::string rows() { return database_.value("select count(*) as value from public.task_attempts"); }
  static constexpr const char* insert = "insert into public.task_attempts values (1)";

 private:
  Database database_{Stage::server().url()};
};

}  // namespace

TEST_CASE("the proxy passes on what it is given, and delays it where it is told to", "[scenario]") {
  Proxy proxy{Stage::server().socket()};
  db::Connection connection = connect(proxy);
  proxy.delay(50ms);
  const auto before = Clock::now();
  run(connection, "select 1");
  CHECK(Clock::now() - before >= 100ms);  // there and back
  proxy.delay(0ms);
  Table table;
  for (int i = 0; i < 100; ++i) run(connection, Table::insert);
  CHECK(table.rows() == "100");
}

TEST_CASE("the proxy cuts all connections, and takes new ones", "[scenario]") {
  Proxy proxy{Stage::server().socket()};
  db::Connection connection = connect(proxy);
  proxy.cut();
  CHECK_THROWS_AS(run(connection, "select 1"), ConnectionError);
  db::Connection next = connect(proxy);
  CHECK_NOTHROW(run(next, "select 1"));
}

TEST_CASE("the proxy cuts at a statement, before or after the server did it, and once", "[scenario]") {
  Table table;
  Proxy proxy{Stage::server().socket()};
  db::Connection connection = connect(proxy);
  const auto insert = [&] { run(connection, Table::insert); };
  const auto insert_in_transaction = [&] { connection.transaction(insert); };
  SECTION("completion, before") {
    proxy.cut_at(Statement::completion, Side::before_server);
    CHECK_THROWS_AS(insert(), ConnectionError);
    CHECK(table.rows() == "0");
  }
  SECTION("completion, after") {
    proxy.cut_at(Statement::completion, Side::after_server);
    CHECK_THROWS_AS(insert(), ConnectionError);
    CHECK(table.rows() == "1");
  }
  SECTION("commit, before") {
    proxy.cut_at(Statement::commit, Side::before_server);
    CHECK_THROWS_AS(insert_in_transaction(), ConnectionError);
    CHECK(table.rows() == "0");
  }
  SECTION("commit, after") {
    proxy.cut_at(Statement::commit, Side::after_server);
    CHECK_THROWS_AS(insert_in_transaction(), ConnectionError);
    CHECK(table.rows() == "1");
  }
  CHECK(proxy.hits() == 1);
  db::Connection next = connect(proxy);
  CHECK_NOTHROW(next.transaction([&] { run(next, Table::insert); }));
}

TEST_CASE("the proxy swallows without closing: forgotten connections alone, or all of them", "[scenario]") {
  Proxy proxy{Stage::server().socket()};
  db::Connection connection = connect(proxy);
  const auto select_on = [](db::Connection& on) {
    return std::async(std::launch::async, [&on] { run(on, "select 1"); });
  };
  SECTION("forgotten") {
    proxy.forget_connections();
    auto answer = select_on(connection);
    db::Connection next = connect(proxy);
    CHECK_NOTHROW(run(next, "select 1"));
    CHECK(answer.wait_for(200ms) == std::future_status::timeout);
    proxy.heal();
    CHECK_THROWS_AS(answer.get(), ConnectionError);
  }
  SECTION("partition") {
    proxy.partition(true);
    auto answer = select_on(connection);
    auto next = std::async(std::launch::async, [&] { (void)connect(proxy); });
    CHECK(answer.wait_for(200ms) == std::future_status::timeout);
    CHECK(next.wait_for(0ms) == std::future_status::timeout);
    proxy.partition(false);
    CHECK_THROWS_AS(answer.get(), ConnectionError);
    CHECK_THROWS_AS(next.get(), ConnectionError);
  }
}

TEST_CASE("a connection through the proxy is refused while the server is away", "[scenario]") {
  Proxy proxy{Stage::server().socket()};
  Stage::server().stop(SIGINT);
  CHECK_THROWS_AS(connect(proxy), ConnectionError);
  Stage::server().start();
  db::Connection connection = connect(proxy);
  CHECK_NOTHROW(run(connection, "select 1"));
}
