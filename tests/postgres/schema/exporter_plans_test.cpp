// The exporter's statements on a long history: plans, as its transactions make them.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "db/connection.hpp"
#include "sql/exporter.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"

using namespace dogged;
using test::contains;
using test::TestDatabase;

namespace {

/// The days of the partitions in the statement's plan, as of `dogged.partitions`.
std::set<std::string> days_read_by(TestDatabase& database, const db::BoundStatement& statement) {
  db::Connection& connection = database.connection();
  const std::string name = "explain_" + std::string{statement.statement.name};
  const std::string text = "explain " + std::string{statement.statement.text};
  std::string plan;
  connection.transaction([&] {
    connection.run(sql::ExporterPlans{.timeout_ms = "2000", .lock_timeout_ms = "1800"});
    for (const db::Row& row : connection.run({name, text}, statement.params)) {
      plan += std::string{row.text("QUERY PLAN")} + "\n";
    }
  });
  INFO(plan);
  CHECK(contains(plan, "task_attempts_"));
  std::set<std::string> days;
  for (const db::Row& row : database.run("select partition, day::text as day from dogged.partitions")) {
    if (contains(plan, std::string{row.text("partition")})) days.insert(std::string{row.text("day")});
  }
  return days;
}

}  // namespace

TEST_CASE("the exporter's questions of new attempts read the last days of a long history, and no earlier ones") {
  TestDatabase database;
  database.run(
      "select dogged.make_partition(parent, (now() at time zone 'UTC')::date - day) "
      "  from unnest(array['tasks_done', 'tasks_failed', 'task_attempts']) parent, generate_series(1, 30) day");
  const auto us = [&](const std::string& moment) {
    return std::stoll(database.value("select (extract(epoch from " + moment + ") * 1000000)::bigint as value"));
  };
  const std::string since = database.value("select pg_current_snapshot() as value");
  const std::int64_t after_us = us("now() - interval '2 min'");
  const std::string oldest =
      database.value("select ((now() - interval '1 day 2 min') at time zone 'UTC')::date as value");
  const std::vector<std::int64_t> bounds{1'000, 1'000'000};
  for (const db::BoundStatement& statement :
       {db::BoundStatement{sql::ExporterAttempts{.bounds_us = bounds, .after_us = after_us, .since = since}},
        db::BoundStatement{sql::ExporterWaits{.queues = {"mail"},
        .attempts = {2},
        .after_us = after_us,
        .since = since,
        .most = 500,
        .bounds_us = bounds}},
        db::BoundStatement{sql::ExporterNewDeadLetters{.after_us = after_us, .since = since}}}) {
    CAPTURE(statement.statement.name);
    const std::set<std::string> days = days_read_by(database, statement);
    REQUIRE_FALSE(days.empty());
    CHECK(*days.begin() >= oldest);
  }
}
