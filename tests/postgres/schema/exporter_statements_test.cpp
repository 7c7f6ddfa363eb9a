// The exporter's statements for new rows: the rows that each statement finds, and its plan on a long history.
#include <cstdint>
#include <map>
#include <optional>
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
    connection.run(sql::ExporterPlans{.timeout_ms = "60000", .lock_timeout_ms = "54000"});
    for (const test::Row& row : test::Rows{connection.run({name, text}, statement.params)}) {
      plan += row.text("QUERY PLAN") + "\n";
    }
  });
  INFO(plan);
  CHECK(contains(plan, "task_attempts_"));
  std::set<std::string> days;
  for (const test::Row& row : database.run("select partition, day::text as day from dogged.partitions")) {
    if (contains(plan, row.text("partition"))) days.insert(row.text("day"));
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
       {db::BoundStatement{
            sql::ExporterAttempts{.bounds_us = bounds, .after_us = after_us, .until_us = std::nullopt, .since = since}},
        db::BoundStatement{sql::ExporterWaits{.queues = {"mail"},
        .attempts = {2},
        .after_us = after_us,
        .until_us = std::nullopt,
        .since = since,
        .most = 500,
        .bounds_us = bounds}},
        db::BoundStatement{
            sql::ExporterNewDeadLetters{.after_us = after_us, .until_us = std::nullopt, .since = since}}}) {
    CAPTURE(statement.statement.name);
    const std::set<std::string> days = days_read_by(database, statement);
    REQUIRE_FALSE(days.empty());
    CHECK(*days.begin() >= oldest);
  }
}

TEST_CASE("the exporter's questions count rows of their time that the snapshot does not see") {
  TestDatabase database;
  db::Connection& connection = database.connection();
  const std::string base = database.value("select clock_timestamp()::text as value");
  // A dead letter with its attempt, and a tick, each so many seconds before `base`. Those at 3 and 9 s waited for 2 s,
  // and the others for no time.
  const auto insert = [&](const std::string& seconds) {
    const std::string rows = " from (select s, '" + base +
                             "'::timestamptz - s * interval '1 s' as at from unnest(array[" + seconds + "]) s) ended";
    database.run(
        "insert into dogged.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, started_at, "
        "finished_at, will_retry, error_code) select s, 1, 'work', 'mail', 'failed', 1, at, at, at, false, 'E'" +
        rows);
    database.run(
        "insert into dogged.tasks_failed (id, status, queue, name, args, attempt, run_at, finished_at, error_code) "
        "select s, 'failed', 'mail', 'work', '{}', 1, at - (s % 3 = 0)::int * interval '2 s', at, 'E'" +
        rows);
    database.run(
        "insert into dogged.schedule_ticks (schedule_id, scheduled_at, outcome, origin, decided_at, late_ms) "
        "select 1, at, 'fired', 'clock', at, 0" +
        rows);
  };
  insert("2, 4, 6, 8");
  const std::string since = database.value("select pg_current_snapshot() as value");
  insert("1, 3, 5, 7, 9");
  const auto us_ago = [&](int seconds) {
    return std::stoll(database.value("select (extract(epoch from '" + base + "'::timestamptz) * 1000000)::bigint - " +
                                     std::to_string(seconds * 1'000'000) + " as value"));
  };
  const std::vector<std::int64_t> bounds{1'000, 1'000'000};
  struct Range {
    int after, until, found;
  };
  for (const auto [after, until, found] : {Range{7, 3, 2}, Range{2, 0, 1}}) {
    CAPTURE(after, until);
    const std::int64_t after_us = us_ago(after);
    const std::optional<std::int64_t> until_us = until > 0 ? std::optional{us_ago(until)} : std::nullopt;
    CHECK(db::one(connection.run(sql::ExporterAttempts{
                      .bounds_us = bounds, .after_us = after_us, .until_us = until_us, .since = since}))
              .attempts == found);
    CHECK(db::one(connection.run(sql::ExporterWaits{.queues = {"mail"},
                                                    .attempts = {found},
                                                    .after_us = after_us,
                                                    .until_us = until_us,
                                                    .since = since,
                                                    .most = 500,
                                                    .bounds_us = bounds}))
              .attempts == found);
    CHECK(
        db::one(connection.run(sql::ExporterNewDeadLetters{.after_us = after_us, .until_us = until_us, .since = since}))
            .letters == found);
    CHECK(db::one(connection.run(sql::ExporterTicks{
                      .bounds_us = bounds, .after_us = after_us, .until_us = until_us, .since = since}))
              .ticks == found);
  }
}

TEST_CASE("the slices of the exporter's count have each dead letter once, and no letter from after its begin") {
  TestDatabase database;
  // In each of three days ten tasks end, in pairs at the same time.
  const auto insert = [&](const std::string& ended_at) {
    database.run(
        "insert into dogged.tasks_failed (id, status, queue, name, args, attempt, run_at, finished_at, error_code) "
        "select n, 'failed', 'mail', 'work', '{}', 1, now(), " +
        ended_at + ", 'E' || n % 2 from generate_series(0, 29) n");
  };
  insert("date_trunc('day', now()) - n % 3 * interval '1 day' + (n / 3 / 2 - 60) * interval '1 us'");
  std::vector<std::int64_t> slices;
  std::map<std::string, std::int64_t> by_code;
  std::optional<std::int64_t> after_us = 0, until_us;
  while (after_us) {
    const sql::ExporterDeadLetters slice{.after_us = *after_us, .until_us = until_us, .rows = 7};
    after_us.reset();
    slices.push_back(0);
    for (const auto& row : database.connection().run(slice)) {
      slices.back() += row.letters;
      by_code[row.error_code.value_or("")] += row.letters;
      after_us = row.end_us;
      CHECK(row.until_us == until_us.value_or(row.until_us));
      until_us = row.until_us;
    }
    if (slices.size() == 1) insert("clock_timestamp()");
  }
  CHECK(slices == std::vector<std::int64_t>{8, 8, 8, 6});
  CHECK(by_code == std::map<std::string, std::int64_t>{{"E0", 15}, {"E1", 15}});
}
