// The promises of retention: old days are dropped whole, dead letters keep their attempts, and no session waits for it.
#include "retention/retention.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <map>
#include <optional>
#include <thread>

#include <spdlog/sinks/null_sink.h>
#include <spdlog/sinks/ringbuffer_sink.h>

#include "base/session.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"
#include "upkeep/chores.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using retention::Extent;
using retention::Step;
using test::add_worker;
using test::contains;
using test::does_nothing;
using test::error_of;
using test::eventually;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::work;

namespace {

constexpr int long_ago = 20;  // days; tasks that succeeded are kept for 7, dead letters for 90

void make_day(TestDatabase& database, int days_ago) {
  database.run(
      "select dogged.make_partition(parent, (now() at time zone 'UTC')::date - $1::int) "
      "from unnest(array['task_attempts', 'tasks_done', 'tasks_failed']) as parent",
      db::Params{}.add(days_ago));
}

/// A task with one attempt of noon so many days ago.
TaskId add_task(TestDatabase& database, const std::string& status, int days_ago, std::int64_t worker_id = 1) {
  const bool has_ended = status != "pending";
  const std::string id = database.value(
      "insert into dogged.tasks (status, queue, name, args, attempt, worker_id, run_at, finished_at) "
      "values ($1::dogged.task_status, 'default', 'old', '{}', 1, $4::bigint, now() + interval '1 day', case when "
      "$2::boolean then "
      "((now() at time zone 'UTC')::date - $3::int + time '12:00') at time zone 'UTC' end) returning id as value",
      db::Params{}.add(status).add(has_ended).add(days_ago).add(worker_id));
  database.run(
      "insert into dogged.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, started_at, "
      "finished_at, will_retry) select $1::bigint, 1, 'old', 'default', 'failed', $3::bigint, noon, noon, noon, false "
      "from (select ((now() at time zone 'UTC')::date - $2::int + time '12:00') at time zone 'UTC' as noon) as x",
      db::Params{}.add(id).add(days_ago).add(worker_id));
  return std::stoll(id);
}

std::vector<Step> apply(TestDatabase& database, Extent extent = Extent::everything) {
  return retention::apply(database.connection(), extent, [] { return true; });
}

runtime::Service::Settings chores_service(const TestDatabase& database, const std::shared_ptr<spdlog::logger>& log) {
  return {.session = std::make_shared<runtime::Session>(database.settings(), "chores", log, 100ms)};
}

std::string connections_of_chores(TestDatabase& database) {
  return database.value(
      "select count(*) as value from pg_stat_activity "
      "where datname = current_database() and application_name like '% chores'");
}

/// `dropped 3, postponed 1`: how many steps had which outcome.
std::string outcomes(const std::vector<Step>& steps) {
  std::map<std::string, int> counts;
  for (const Step& step : steps) ++counts[std::string{to_text(step.outcome)}];
  std::string text;
  for (const auto& [outcome, number] : counts) {
    text += (text.empty() ? "" : ", ") + outcome + " " + std::to_string(number);
  }
  return text;
}

std::string old_days(TestDatabase& database, const std::string& parent) {
  return database.value(
      "select count(*) as value from dogged.partitions where parent = $1 and not is_kept and day < "
      "(now() at time zone 'UTC')::date - 1",
      db::Params{}.add(parent));
}

std::string kept_days(TestDatabase& database) {
  return database.value("select count(*) as value from dogged.partitions where is_kept");
}

bool has_attempt(TestDatabase& database, TaskId id) {
  return database.value("select count(*) as value from dogged.task_attempts where task_id = $1::bigint",
                        db::Params{}.add(id)) == "1";
}

}  // namespace

TEST_CASE("days that are older than they are kept go whole, and younger ones stay") {
  TestDatabase database;
  for (const int days_ago : {3, 7, 8, long_ago, 91}) make_day(database, days_ago);
  const TaskId old = add_task(database, "succeeded", 8);
  const TaskId young = add_task(database, "succeeded", 7);  // its day ended less than 7 days ago
  const TaskId dead = add_task(database, "failed", 91);

  // Of done tasks and attempts the days 8, 20 and 91, of dead letters 91.
  CHECK(outcomes(apply(database)) == "dropped 7");
  CHECK(database.status_of(old) == "none");
  CHECK_FALSE(has_attempt(database, old));
  CHECK(database.status_of(young) == "succeeded");
  CHECK(has_attempt(database, young));
  CHECK(database.status_of(dead) == "none");
  CHECK_FALSE(has_attempt(database, dead));
  CHECK(old_days(database, "tasks_done") == "2");
  CHECK(old_days(database, "tasks_failed") == "4");
  CHECK(apply(database).empty());
}

TEST_CASE("the settings say how long, and take effect at the next round") {
  TestDatabase database;
  make_day(database, 3);
  const TaskId id = add_task(database, "succeeded", 3);
  CHECK(apply(database).empty());
  database.run("update dogged.settings set keep_done_days = 1, keep_attempts_days = 2");
  CHECK(outcomes(apply(database)) == "dropped 2");
  CHECK(database.status_of(id) == "none");
}

TEST_CASE("events are kept for days of their own, which the settings say") {
  TestDatabase database;
  for (const int days_ago : {3, 8}) {
    database.run("select dogged.make_partition('events', (now() at time zone 'UTC')::date - $1::int)",
                 db::Params{}.add(days_ago));
    database.run(
        "insert into dogged.events (name, payload, resumed, emitted_at) select 'days' || $1::int, 'null', 0, "
        "((now() at time zone 'UTC')::date - $1::int + time '12:00') at time zone 'UTC'",
        db::Params{}.add(days_ago));
  }
  const auto events = [&] {
    return database.value("select string_agg(name, ' ' order by name) as value from dogged.events");
  };
  CHECK(outcomes(apply(database)) == "dropped 1");
  CHECK(events() == "days3");
  database.run("update dogged.settings set keep_events_days = 2");
  CHECK(outcomes(apply(database)) == "dropped 1");
  CHECK(events() == "null");
}

TEST_CASE("the attempts of dead letters and of tasks that have not ended stay when their day goes") {
  TestDatabase database;
  make_day(database, long_ago);
  const TaskId dead = add_task(database, "failed", long_ago);
  const TaskId waiting = add_task(database, "pending", long_ago);
  const TaskId succeeded = add_task(database, "succeeded", long_ago);
  const std::string before = database.value(
      "select string_agg(a::text, ' ' order by task_id) as value from dogged.task_attempts a where task_id <> "
      "$1::bigint",
      db::Params{}.add(succeeded));

  CHECK(outcomes(apply(database)) == "dropped 2");
  CHECK(database.value("select string_agg(a::text, ' ' order by task_id) as value from dogged.task_attempts a") ==
        before);
  CHECK(has_attempt(database, dead));
  CHECK(has_attempt(database, waiting));
  CHECK(old_days(database, "task_attempts") == "0");
  CHECK(kept_days(database) == "1");

  const std::string kept = database.value("select partition as value from dogged.partitions where is_kept");
  for (const std::string& statement : {"update dogged." + kept + " set will_retry = true", "delete from dogged." + kept,
                                       "truncate dogged." + kept, std::string{"delete from dogged.task_attempts"}}) {
    INFO(statement);
    CHECK(
        contains(error_of<InvalidInput>([&] { database.run(statement); }).message(), "attempts and steps are history"));
  }
  CHECK(apply(database).empty());
}

TEST_CASE("the attempts of a dead letter that is gone go with the next round, those of others stay") {
  TestDatabase database;
  make_day(database, long_ago);
  const TaskId purged = add_task(database, "failed", long_ago);
  const TaskId other = add_task(database, "failed", long_ago);
  REQUIRE(outcomes(apply(database)) == "dropped 2");
  database.run("delete from dogged.tasks_failed where id = $1::bigint", db::Params{}.add(purged));

  CHECK(outcomes(apply(database)) == "thinned 1");
  CHECK_FALSE(has_attempt(database, purged));
  CHECK(has_attempt(database, other));
  database.run("delete from dogged.tasks_failed");
  CHECK(outcomes(apply(database)) == "thinned 1");
  CHECK(kept_days(database) == "0");
}

TEST_CASE("a task that ends days after its first attempts has all of them for as long as it is there") {
  TestDatabase database;
  for (const int days_ago : {long_ago, 10, 9, 2}) make_day(database, days_ago);
  const TaskId late = add_task(database, "succeeded", 2);  // its retries took 18 days
  const TaskId cancelled = add_task(database, "cancelled", 2);
  const TaskId waiting = add_task(database, "pending", long_ago);
  const TaskId other = add_task(database, "succeeded", long_ago);
  const auto add_attempt = [&](TaskId id, int attempt, int days_ago) {
    database.run(
        "insert into dogged.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, started_at, "
        "finished_at, will_retry) select $1::bigint, $2::int, 'old', 'default', 'failed', 1, noon, noon, noon, true "
        "from (select ((now() at time zone 'UTC')::date - $3::int + time '12:00') at time zone 'UTC' as noon) as x",
        db::Params{}.add(id).add(attempt).add(days_ago));
  };
  add_attempt(late, 2, long_ago);
  add_attempt(late, 3, 10);
  add_attempt(cancelled, 2, 9);
  database.run(
      "update dogged.tasks_done set enqueued_at = now() - interval '20 days', "
      "attempt = case status when 'succeeded' then 3 else 1 end");
  const auto history = [&](TaskId id) {
    return database.value("select count(*) as value from dogged.task_attempts where task_id = $1::bigint",
                          db::Params{}.add(id));
  };

  CHECK(outcomes(apply(database)) == "dropped 6");
  CHECK(old_days(database, "task_attempts") == "1");  // the day before yesterday
  CHECK(history(late) == "3");
  CHECK(history(cancelled) == "2");
  CHECK(history(waiting) == "1");
  CHECK(history(other) == "0");
  CHECK(apply(database).empty());

  // The pending task succeeds. The task's kept attempts stay until the task itself is dropped.
  database.run(
      "with ended as (delete from dogged.tasks_live returning *) insert into dogged.tasks (id, status, queue, name, "
      "args, enqueued_at, attempt, finished_at) select id, 'succeeded', queue, name, args, now() - interval '20 days', "
      "2, now() from ended");
  CHECK(apply(database).empty());
  CHECK(history(waiting) == "1");
  database.run("delete from dogged.tasks_done where id = $1::bigint", db::Params{}.add(waiting));
  database.run("delete from dogged.tasks_done where id = $1::bigint", db::Params{}.add(late));
  CHECK(outcomes(apply(database)) == "thinned 2");
  CHECK(history(waiting) == "0");
  CHECK(history(late) == "1");  // of a day that is still whole
  CHECK(history(cancelled) == "2");
}

TEST_CASE(
    "a task that succeeded at once, after midnight, keeps the steps of the day before for as long as it is there") {
  TestDatabase database;
  database.run("select dogged.set_queue('default', '{\"keep_done_days\": 365}')");
  for (const int days_ago : {long_ago, long_ago - 1}) {
    make_day(database, days_ago);
    database.run("select dogged.make_partition('task_steps', (now() at time zone 'UTC')::date - $1::int)",
                 db::Params{}.add(days_ago));
  }
  const TaskId id = add_task(database, "succeeded", long_ago - 1);
  const auto add_step = [&](TaskId task, const std::string& name, int days_ago) {
    database.run(
        "insert into dogged.task_steps (task_id, name, attempt, task_name, worker_id, started_at, finished_at, result) "
        "select $1::bigint, $2, 1, 'old', 1, noon, noon, '1' "
        "from (select ((now() at time zone 'UTC')::date - $3::int + time '12:00') at time zone 'UTC' as noon) as x",
        db::Params{}.add(task).add(name).add(days_ago));
  };
  add_step(id, "charge", long_ago);
  add_step(id, "ship", long_ago - 1);
  add_step(id + 1, "of a task that is gone", long_ago);
  database.run("update dogged.tasks_done set enqueued_at = finished_at - interval '1 day'");
  (void)apply(database);
  CHECK(database.value("select string_agg(name, ', ' order by name) as value from dogged.task_steps") ==
        "charge, ship");
}

TEST_CASE("partitions made by a session with another style of dates and another time zone are days of UTC") {
  TestDatabase database;
  database.script(
      "set datestyle = 'SQL, DMY'; set timezone = 'Asia/Kolkata'; "
      "update dogged.settings set partition_days_ahead = partition_days_ahead + 1; select dogged.make_partitions(); "
      "reset datestyle; reset timezone");
  database.run("update dogged.settings set partition_days_ahead = partition_days_ahead + 1");
  CHECK(database.value("select dogged.make_partitions() > 0 as value") == "t");
  database.run("set timezone = 'UTC'");
  CHECK(database.value("select count(*) as value from pg_class c where relispartition and relkind = 'r' "
                       "and pg_get_expr(relpartbound, oid) like 'FOR VALUES FROM%' "
                       "and pg_get_expr(relpartbound, oid) not like '%00:00:00+00%00:00:00+00%'") == "0");
}

TEST_CASE("dead letters that are older than they are kept take their attempts along") {
  TestDatabase database;
  make_day(database, long_ago);
  const TaskId dead = add_task(database, "failed", long_ago);
  REQUIRE(outcomes(apply(database)) == "dropped 2");
  REQUIRE(has_attempt(database, dead));
  database.run("update dogged.settings set keep_failed_days = 10");
  CHECK(outcomes(apply(database, Extent::days)) == "dropped 1, thinned 1");
  CHECK(database.status_of(dead) == "none");
  CHECK_FALSE(has_attempt(database, dead));
}

namespace {

void move_to_queue(TestDatabase& database, const std::string& queue, const std::vector<TaskId>& tasks) {
  database.run("insert into dogged.queues (name) values ($1) on conflict do nothing", db::Params{}.add(queue));
  for (const TaskId id : tasks) {
    database.run("update dogged.tasks set queue = $1 where id = $2::bigint", db::Params{}.add(queue).add(id));
  }
}

void set_queue(TestDatabase& database, const std::string& queue, const std::string& settings) {
  database.run("select dogged.set_queue($1, $2::jsonb)", db::Params{}.add(queue).add(settings));
}

std::string row_of(TestDatabase& database, TaskId id) {
  return database.value(
      "select t::text || coalesce((select string_agg(a::text, ' ') from dogged.task_attempts a where a.task_id = "
      "t.id), "
      "'') as value from dogged.tasks t where t.id = $1::bigint",
      db::Params{}.add(id));
}

}  // namespace

TEST_CASE("a queue's own days keep its tasks and their attempts, unchanged, and those of no other queue") {
  TestDatabase database;
  for (const int days_ago : {long_ago, 100}) make_day(database, days_ago);
  const TaskId kept = add_task(database, "succeeded", long_ago);
  const TaskId cancelled = add_task(database, "cancelled", long_ago);
  const TaskId kept_dead = add_task(database, "failed", 100);
  const TaskId other = add_task(database, "succeeded", long_ago);
  const TaskId other_dead = add_task(database, "failed", 100);
  move_to_queue(database, "payments", {kept, cancelled, kept_dead});
  set_queue(database, "payments", R"({"keep_done_days": 30, "keep_failed_days": 200})");
  const std::string before = row_of(database, kept);
  const std::string dead_before = row_of(database, kept_dead);

  CHECK(outcomes(apply(database)) == "dropped 5");  // the empty day of tasks_done as well
  CHECK(row_of(database, kept) == before);
  CHECK(row_of(database, kept_dead) == dead_before);
  CHECK(has_attempt(database, cancelled));
  CHECK(database.status_of(other) == "none");
  CHECK_FALSE(has_attempt(database, other));
  CHECK(database.status_of(other_dead) == "none");
  CHECK_FALSE(has_attempt(database, other_dead));
  CHECK(database.value(
            "select string_agg(parent, ' ' order by parent, day) as value from dogged.partitions where is_kept") ==
        "task_attempts task_attempts tasks_done tasks_failed");
  CHECK(apply(database).empty());
  CHECK(database.value(
            "select count(*) as value from dogged.partitions where is_kept and parent = 'tasks_done' and kept_until = "
            "(day + 31)::timestamp at time zone 'UTC'") == "1");

  // The kept tasks are found and changed as before: one of their dead letters is replayed.
  CHECK(database.value("select count(*) as value from dogged.replay($1::bigint)", db::Params{}.add(kept_dead)) == "1");
  CHECK(database.status_of(kept_dead) == "pending");
}

TEST_CASE("tasks that a queue's own days have kept go when these are over, are made fewer, or are taken back") {
  TestDatabase database;
  for (const int days_ago : {long_ago, 12}) make_day(database, days_ago);
  const TaskId older = add_task(database, "succeeded", long_ago);
  const TaskId younger = add_task(database, "succeeded", 12);
  const TaskId of_another = add_task(database, "succeeded", long_ago);
  move_to_queue(database, "payments", {older, younger});
  move_to_queue(database, "ledger", {of_another});
  set_queue(database, "payments", R"({"keep_done_days": 30})");
  set_queue(database, "ledger", R"({"keep_done_days": 40})");
  REQUIRE(outcomes(apply(database)) == "dropped 4");
  REQUIRE(database.status_of(older) == "succeeded");

  set_queue(database, "payments", R"({"keep_done_days": 15})");
  CHECK(outcomes(apply(database)) == "thinned 2");  // the older day and its attempts
  CHECK(database.status_of(older) == "none");
  CHECK_FALSE(has_attempt(database, older));
  CHECK(has_attempt(database, of_another));
  CHECK(has_attempt(database, younger));
  set_queue(database, "payments", R"({"keep_done_days": null})");
  CHECK(outcomes(apply(database)) == "thinned 2");
  CHECK(database.status_of(younger) == "none");
  CHECK(database.status_of(of_another) == "succeeded");

  // Kept longer by all, nothing of it goes for the sake of its queue.
  database.run("update dogged.settings set keep_done_days = 60, keep_attempts_days = 60");
  set_queue(database, "ledger", R"({"keep_done_days": null})");
  CHECK(apply(database).empty());
  CHECK(database.status_of(of_another) == "succeeded");
}

TEST_CASE(
    "two queues in one day of dead letters go each at their time, and a purge of what stays takes its attempts along") {
  TestDatabase database;
  make_day(database, 100);
  const TaskId of_a = add_task(database, "failed", 100);
  const TaskId of_b = add_task(database, "failed", 100);
  const TaskId purged = add_task(database, "failed", 100);
  move_to_queue(database, "a", {of_a});
  move_to_queue(database, "b", {of_b, purged});
  set_queue(database, "a", R"({"keep_failed_days": 200})");
  set_queue(database, "b", R"({"keep_failed_days": 300})");
  REQUIRE(outcomes(apply(database)) == "dropped 3");
  REQUIRE(database.status_of(of_a) == "failed");

  CHECK(database.value("select dogged.purge($1::bigint) as value", db::Params{}.add(purged)) != "");
  CHECK(outcomes(apply(database)) == "thinned 1");
  CHECK_FALSE(has_attempt(database, purged));
  set_queue(database, "a", R"({"keep_failed_days": 90})");
  CHECK(outcomes(apply(database)) == "thinned 2");
  CHECK(database.status_of(of_a) == "none");
  CHECK(database.status_of(of_b) == "failed");
  CHECK(has_attempt(database, of_b));
  CHECK(database.value("select dogged.purge($1::bigint) as value", db::Params{}.add(of_b)) != "");
  CHECK(outcomes(apply(database)) == "thinned 2");
  CHECK(kept_days(database) == "0");
}

TEST_CASE("retention in a transaction that would not see what was committed meanwhile is refused, and drops nothing") {
  TestDatabase database;
  make_day(database, long_ago);
  const TaskId old = add_task(database, "succeeded", long_ago);
  database.run("set default_transaction_isolation = 'repeatable read'");
  const Error error = error_of<Error>([&] { apply(database); });
  CHECK(contains(error.message(),
                 "retention needs the isolation read committed, and this transaction is repeatable read"));
  const std::string thinning = "select dogged.thin_kept_day('tasks_failed', current_date)";
  CHECK(contains(error_of<Error>([&] { database.run(thinning); }).message(), "retention needs the isolation"));
  database.run("set default_transaction_isolation = 'read committed'");
  CHECK(database.status_of(old) == "succeeded");
  CHECK(outcomes(apply(database)) == "dropped 2");
}

TEST_CASE("a change of how long things are kept stands in the audit, with what it was") {
  TestDatabase database;
  database.run("update dogged.settings set keep_done_days = 3, keep_failed_days = 100");
  database.run("update dogged.settings set keep_done_days = 3");
  CHECK(
      database.value("select string_agg(action || ' ' || details::text, ' ' order by id) as value from dogged.audit") ==
      R"(set_settings {"before": {"keep_done_days": 7, "keep_failed_days": 90}, )"
      R"("settings": {"keep_done_days": 3, "keep_failed_days": 100}})");
}

TEST_CASE("a queue with fewer days than all is refused, with what to do instead") {
  TestDatabase database;
  const auto refused = [&](const std::string& settings) {
    return error_of<InvalidInput>([&] { set_queue(database, "default", settings); });
  };
  const InvalidInput fewer = refused(R"({"keep_done_days": 6})");
  CHECK(contains(fewer.message(), "the queue \"default\": keep_done_days is 6, less than that of all queues, 7"));
  CHECK(contains(fewer.hint(), "lower keep_done_days of "));
  CHECK(contains(refused(R"({"keep_failed_days": 89})").message(),
                 "keep_failed_days is 89, less than that of all queues, 90"));
  CHECK(contains(refused(R"({"keep_done_days": 3651})").message(), "a whole number from 1 to 3650"));
  CHECK_NOTHROW(set_queue(database, "default", R"({"keep_done_days": 7, "keep_failed_days": 3650})"));
  database.run("update dogged.settings set keep_done_days = 8, keep_attempts_days = 8");
  CHECK_NOTHROW(set_queue(database, "default", R"({"concurrency": 2})"));  // of no use now, and harmless
}

TEST_CASE("rows that came late into the default partition are kept or dropped as rows that came in time") {
  TestDatabase database;
  const TaskId succeeded = add_task(database, "succeeded", long_ago);
  const TaskId dead = add_task(database, "failed", long_ago);
  const TaskId missed = add_task(database, "succeeded", 3);  // its day had no partition, and is not old
  database.run("select dogged.make_partitions()");
  CHECK(database.value("select (select count(*) from dogged.task_attempts_default) + (select count(*) from "
                       "dogged.tasks_done_default) + (select count(*) from dogged.tasks_failed_default) as value") ==
        "0");
  CHECK(outcomes(apply(database)) == "dropped 2");
  CHECK(database.status_of(succeeded) == "none");
  CHECK_FALSE(has_attempt(database, succeeded));
  CHECK(database.status_of(dead) == "failed");
  CHECK(has_attempt(database, dead));
  CHECK(database.status_of(missed) == "succeeded");

  // Of a dropped day: kept attempts have a partition of their own, and tasks use the default partition.
  const TaskId again = add_task(database, "succeeded", long_ago);
  database.run("select dogged.make_partitions()");
  CHECK(outcomes(apply(database)) == "dropped 1, thinned 1");
  CHECK(database.status_of(again) == "none");
  CHECK_FALSE(has_attempt(database, again));
  CHECK(has_attempt(database, dead));
}

TEST_CASE("a worker's chores drop old days by themselves, and have a connection for that time only") {
  TestDatabase database;
  make_day(database, long_ago);
  const TaskId succeeded = add_task(database, "succeeded", long_ago);
  const TaskId dead = add_task(database, "failed", long_ago);
  const auto log = std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
  runtime::Chores chores{chores_service(database, log), {.first = 0ms}, log};
  CHECK(eventually([&] { return old_days(database, "task_attempts") == "0"; }));
  CHECK(eventually([&] { return connections_of_chores(database) == "0"; }));
  CHECK(database.status_of(succeeded) == "none");
  CHECK(has_attempt(database, dead));
}

TEST_CASE("the log of chores names each kind of rows that retention has forgotten") {
  TestDatabase database;
  make_day(database, long_ago);
  const TaskId succeeded = add_task(database, "succeeded", long_ago, add_worker(database));
  database.run(
      "update dogged.workers set lease_ended_at = ended, rescued_at = ended, stopped_at = ended "
      "from (select now() - interval '15 days' as ended) as x");
  database.run(
      "insert into dogged.task_checkpoints (task_id, name, attempt, value, saved_at) "
      "values ($1::bigint, 'loop', 1, '{}', now()), ($1::bigint, 'other-loop', 1, '{}', now())",
      db::Params{}.add(succeeded));
  const auto lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(100);
  const auto log = std::make_shared<spdlog::logger>("test", lines);
  const auto is_logged = [&](const std::string& text) {
    const auto logged = lines->last_formatted();
    return std::any_of(logged.begin(), logged.end(), [&](const std::string& line) { return contains(line, text); });
  };
  runtime::Chores chores{chores_service(database, log), {.first = 0ms}, log};
  CHECK(eventually([&] { return is_logged("retention: forgotten 2 rows of waits and checkpoints"); }));
  CHECK(is_logged("retention: forgotten 1 row of workers"));
}

TEST_CASE("chores thin a day soon after its table was in use, also when no day is to be dropped") {
  TestDatabase database;
  make_day(database, long_ago);
  const TaskId purged = add_task(database, "failed", long_ago);
  REQUIRE(outcomes(apply(database)) == "dropped 2");
  database.run("delete from dogged.tasks_failed where id = $1::bigint", db::Params{}.add(purged));
  make_day(database, long_ago + 1);
  const std::string kept = database.value("select partition as value from dogged.partitions where is_kept");

  const auto lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(100);
  const auto log = std::make_shared<spdlog::logger>("test", lines);
  log->set_level(spdlog::level::debug);
  std::optional<runtime::Chores> chores;
  db::Connection reader{database.settings()};
  reader.transaction([&] {
    const std::string text = "select count(*) from dogged." + kept;
    reader.run({"read", text.c_str()});
    chores.emplace(chores_service(database, log), runtime::ChoresPlan::Settings{.first = 0ms, .again_if_left = 50ms},
                   log);
    REQUIRE(eventually([&] {
      const auto logged = lines->last_formatted();
      return std::any_of(logged.begin(), logged.end(),
                         [&](const std::string& line) { return contains(line, kept + " is postponed"); });
    }));
    CHECK(old_days(database, "task_attempts") == "0");  // there is no other day to drop
  });
  CHECK(eventually([&] { return !has_attempt(database, purged); }));
}

TEST_CASE("a worker's chores that the database refuses are tried until it accepts them, and logged once") {
  TestDatabase database;
  make_day(database, long_ago);
  database.run("create sequence public.refusals");
  database.run(
      "create function public.refuse() returns event_trigger language plpgsql as "
      "$$ begin raise exception 'an operator refuses %', nextval('public.refusals'); end $$");
  database.run("create event trigger refuse on sql_drop execute function public.refuse()");
  const auto lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(100);
  const auto log = std::make_shared<spdlog::logger>("test", lines);
  const auto refusals = [&] {
    const auto logged = lines->last_formatted();
    return std::count_if(logged.begin(), logged.end(),
                         [](const std::string& line) { return contains(line, "an operator refuses"); });
  };
  runtime::Chores chores{chores_service(database, log), {.first = 0ms}, log};
  CHECK(eventually([&] { return database.value("select last_value >= 3 as value from public.refusals") == "t"; }));
  database.run("drop event trigger refuse");
  CHECK(eventually([&] { return old_days(database, "task_attempts") == "0"; }));
  CHECK(refusals() == 1);
}

TEST_CASE("a worker that finds a table in use lets tasks end, and drops its days later") {
  TestDatabase database;
  make_day(database, long_ago);
  const TaskId old = add_task(database, "succeeded", long_ago);
  db::Connection reader{database.settings()};
  reader.transaction([&] {
    reader.run({"read", "select count(*) from dogged.tasks_done"});
    const auto begun = std::chrono::steady_clock::now();
    CHECK(outcomes(apply(database)) == "postponed 2");
    CHECK(has_attempt(database, old));  // which are not read, but belong to a task that is still there
    CHECK(std::chrono::steady_clock::now() - begun < 5s);
    CHECK(database.status_of(old) == "succeeded");
    RunningWorker worker{database, {does_nothing()}};
    const TaskId task = database.client().enqueue(work, nlohmann::json::object());
    CHECK(eventually([&] { return database.status_of(task) == "succeeded"; }));
  });
  CHECK(outcomes(apply(database)) == "dropped 2");
  CHECK(database.status_of(old) == "none");
  CHECK_FALSE(has_attempt(database, old));
}

TEST_CASE("tasks end without an error while days are dropped, and every attempt is there") {
  TestDatabase database;
  for (int days_ago = long_ago; days_ago < long_ago + 10; ++days_ago) {
    make_day(database, days_ago);
    add_task(database, "succeeded", days_ago);
    add_task(database, "failed", days_ago);
  }
  RunningWorker worker{database, {does_nothing()}};
  Client client = database.client();
  std::atomic<bool> is_over{false};
  std::atomic<int> enqueued{0};
  std::thread producer{[&] {
    while (!is_over || enqueued < 200) {
      client.enqueue_many(work, std::vector<nlohmann::json>(20, nlohmann::json::object()));
      enqueued += 20;
    }
  }};
  const bool is_done = eventually([&] {
    (void)apply(database);  // a completion may hold the table for a moment: then the next round goes on
    return old_days(database, "tasks_done") == "0" && old_days(database, "task_attempts") == "0";
  });
  is_over = true;
  producer.join();
  CHECK(is_done);
  const std::string all = std::to_string(enqueued.load());
  CHECK(eventually([&] {
    return database.value("select count(*) as value from dogged.tasks where name = 'work' and status = 'succeeded'") ==
           all;
  }));
  CHECK(database.value("select count(*) as value from dogged.task_attempts where name = 'work' and outcome = "
                       "'succeeded'") == all);
  CHECK(database.value("select count(*) as value from dogged.task_attempts where name = 'old'") == "10");
}

TEST_CASE("two rounds at once drop each day once, and neither waits nor fails") {
  TestDatabase database;
  for (int days_ago = long_ago; days_ago < long_ago + 5; ++days_ago) {
    make_day(database, days_ago);
    add_task(database, "failed", days_ago);
  }
  std::latch together{2};
  const auto round = [&] {
    db::Connection connection{database.settings()};
    together.arrive_and_wait();
    return retention::apply(connection, Extent::days, [] { return true; });
  };
  auto first = std::async(std::launch::async, round);
  auto second = std::async(std::launch::async, round);
  int dropped = 0;
  for (auto* steps : {&first, &second}) {
    for (const Step& step : steps->get()) dropped += step.outcome == retention::Outcome::dropped ? 1 : 0;
  }
  for (const Step& step : apply(database))
    dropped += step.outcome == retention::Outcome::dropped ? 1 : 0;  // where both were refused
  CHECK(dropped == 10);
  CHECK(kept_days(database) == "5");
}

TEST_CASE("rows of workers that ended long ago are deleted, unless an attempt or a task names them") {
  TestDatabase database;
  make_day(database, long_ago);
  const std::int64_t named = add_worker(database);
  const std::int64_t forgotten = add_worker(database);
  const std::int64_t recent = add_worker(database);
  const std::int64_t alive = add_worker(database);
  add_task(database, "failed", long_ago, named);
  add_task(database, "succeeded", long_ago, forgotten);
  database.run(
      "update dogged.workers set lease_ended_at = ended, rescued_at = ended, stopped_at = ended "
      "from (select now() - interval '15 days' as ended) as x where id in ($1::bigint, $2::bigint)",
      db::Params{}.add(named).add(forgotten));
  database.run("update dogged.workers set lease_ended_at = now(), rescued_at = now() where id = $1::bigint",
               db::Params{}.add(recent));

  CHECK(outcomes(apply(database)) == "dropped 2, forgotten 1");
  CHECK(database.value("select string_agg(id::text, ' ' order by id) as value from dogged.workers") ==
        std::to_string(named) + " " + std::to_string(recent) + " " + std::to_string(alive));
}

TEST_CASE("settings of retention that contradict each other are refused, with what to do") {
  TestDatabase database;
  const auto refused = [&](const std::string& assignment) {
    return error_of<InvalidInput>([&] { database.run("update dogged.settings set " + assignment); });
  };
  const InvalidInput contradiction = refused("keep_done_days = 30");
  CHECK(contains(contradiction.message(), "keep_attempts_days"));
  CHECK(contains(contradiction.message(), "(7) is below keep_done_days (30)"));
  CHECK(contains(contradiction.hint(), "Set both"));
  CHECK(contains(refused("keep_failed_days = 0").message(), "settings is 0: it must be 1 to 3650 days"));
  CHECK(contains(refused("keep_done_days = null").message(), "settings is null"));
  CHECK(contains(refused("keep_attempts_days = 4000").message(), "1 to 3650 days"));
  CHECK_NOTHROW(database.run("update dogged.settings set keep_done_days = 30, keep_attempts_days = 30"));
  CHECK(contains(error_of<InvalidInput>([&] { database.run("select dogged.drop_oldest_day('settings')"); }).message(),
                 "'settings' is not a table"));
}
