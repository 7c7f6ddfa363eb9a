// The promises of dogged.reschedule, for tasks that are ready, wait, run, have ended or do not exist. Also to workers
// that sleep or have passed over a place. The poll interval is ten minutes, so only a notification brings the awaited
// task in time.
#include <future>

#include "claim/statements.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::add_worker;
using test::contains;
using test::does_nothing;
using test::error_of;
using test::eventually;
using test::no_args;
using test::no_polling;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::work;
using test::worker_is_asleep;

namespace {

/// `when` is SQL: now() + interval '1 hour'.
TaskId enqueue(TestDatabase& database, const std::string& when = "now()") {
  return database.run("select dogged.enqueue('work', run_at => " + when + ") as id").one().number("id");
}

std::string reschedule(db::Connection& connection, TaskId id, const std::string& when) {
  const std::string call = "select dogged.reschedule($1::bigint, " + when + ") as result";
  return test::Rows{connection.run({call, call}, db::Params{}.add(id))}.one().text("result");
}

std::string reschedule(TestDatabase& database, TaskId id, const std::string& when = "now()") {
  return reschedule(database.connection(), id, when);
}

std::vector<TaskId> claim(db::Connection& connection, std::int64_t worker_id) {
  std::vector<TaskId> ids;
  const sql::Claim claim = runtime::claim_of(worker_id, {{.queue = "default", .how_many = 10}}, {"work"}, 0, {1});
  for (const sql::Claim::Row& task : connection.run(claim)) ids.push_back(task.id);
  return ids;
}

std::string row_of(TestDatabase& database, TaskId id) {
  return database.value("select to_jsonb(t)::text as value from dogged.tasks t where id = $1::bigint",
                        db::Params{}.add(id));
}

/// As it stands after a failed attempt that is to be retried in an hour.
TaskId enqueue_and_fail(TestDatabase& database) {
  const std::int64_t worker = add_worker(database);
  const TaskId id = enqueue(database);
  REQUIRE(claim(database.connection(), worker) == std::vector<TaskId>{id});
  database.run(
      "update dogged.tasks_live set status = 'pending', deferred = true, next_retry_at = now() + interval '1 hour', "
      "retry_count = 1, error_code = 'HTTP_503' where id = $1::bigint",
      db::Params{}.add(id));
  return id;
}

bool has_succeeded(TestDatabase& database, TaskId id) {
  return eventually([&] { return database.status_of(id) == "succeeded"; });
}

struct Rollback {};

}  // namespace

TEST_CASE("a task of the future that is rescheduled to now runs at once, and its sleeping worker is woken") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}, no_polling()};
  const TaskId id = enqueue(database, "now() + interval '1 hour'");
  REQUIRE(worker_is_asleep(database, worker.id()));
  CHECK(reschedule(database, id) == "rescheduled");
  CHECK(has_succeeded(database, id));
}

TEST_CASE("a task that is rescheduled to a sooner time runs then, though its worker sleeps for longer") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}, no_polling()};
  const TaskId id = enqueue(database, "now() + interval '1 hour'");
  REQUIRE(worker_is_asleep(database, worker.id()));
  CHECK(reschedule(database, id, "now() + interval '200 milliseconds'") == "rescheduled");
  CHECK(has_succeeded(database, id));
}

TEST_CASE("a retry that is rescheduled to now is the next attempt, and spends no retry") {
  TestDatabase database;
  const TaskId id = enqueue_and_fail(database);
  RunningWorker worker{database, {does_nothing()}, no_polling()};
  REQUIRE(worker_is_asleep(database, worker.id()));
  const std::string run_at =
      database.value("select run_at::text as value from dogged.tasks where id = $1::bigint", db::Params{}.add(id));
  CHECK(reschedule(database, id) == "rescheduled");
  REQUIRE(has_succeeded(database, id));
  CHECK(database.value("select attempt || ' ' || retry_count as value from dogged.tasks") == "2 1");
  CHECK(database.value("select run_at::text as value from dogged.tasks") == run_at);
}

TEST_CASE("a task whose place a worker has passed over long ago is found when it is rescheduled to now") {
  TestDatabase database;
  const TaskId waiting = enqueue(database, "now() + interval '1 hour'");
  RunningWorker worker{database, {does_nothing()}, no_polling()};
  Client client = database.client();
  for (int batch = 0; batch < 40; ++batch) {  // its watermarks move on past the place of the first
    REQUIRE(has_succeeded(database, client.enqueue_many(work, std::vector<nlohmann::json>(100, no_args)).back()));
  }
  CHECK(reschedule(database, waiting) == "rescheduled");
  CHECK(has_succeeded(database, waiting));
  CHECK(database.count_tasks() == 4001);
}

TEST_CASE("a task that is rescheduled to now stands behind the tasks that are ready already") {
  TestDatabase database;
  const TaskId later = enqueue(database, "now() + interval '1 hour'");
  const TaskId ready = enqueue(database);
  REQUIRE(reschedule(database, later) == "rescheduled");
  REQUIRE(reschedule(database, ready) == "rescheduled");  // it keeps its place
  CHECK(database.value("select string_agg(id::text, ' ' order by coalesce(ready_position, id)) as value from "
                       "dogged.tasks_live") == std::to_string(ready) + " " + std::to_string(later));
}

TEST_CASE("a ready task that is rescheduled to later is not claimed before, and runs when that has come") {
  TestDatabase database;
  const std::int64_t worker_row = add_worker(database);
  const TaskId id = enqueue(database);
  REQUIRE(reschedule(database, id, "now() + interval '500 milliseconds'") == "rescheduled");
  CHECK(claim(database.connection(), worker_row).empty());
  CHECK(database.value("select (run_at - enqueued_at > interval '400 milliseconds' and next_retry_at is null)::text as "
                       "value from dogged.tasks_live") == "true");
  RunningWorker worker{database, {does_nothing()}, no_polling()};
  CHECK(has_succeeded(database, id));
  CHECK(database.value("select (started_at >= run_at)::text as value from dogged.tasks join dogged.task_attempts on "
                       "task_id = id") == "true");
}

TEST_CASE("a retry that is rescheduled to later waits until then") {
  TestDatabase database;
  const TaskId id = enqueue_and_fail(database);
  REQUIRE(reschedule(database, id, "now() + interval '2 days'") == "rescheduled");
  CHECK(database.value("select (deferred and next_retry_at > now() + interval '47 hours' and run_at < now())::text as "
                       "value from dogged.tasks_live") == "true");
}

TEST_CASE("a time up to five minutes past is taken as now") {
  TestDatabase database;
  const TaskId id = enqueue(database, "now() + interval '1 hour'");
  REQUIRE(reschedule(database, id, "now() - interval '4 minutes'") == "rescheduled");
  CHECK(database.value("select (not deferred and run_at between enqueued_at and now())::text as value from "
                       "dogged.tasks_live") == "true");
}

TEST_CASE("a task that runs, has ended or is not there is not rescheduled, and nothing is recorded") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const TaskId running = enqueue(database);
  REQUIRE(claim(database.connection(), worker) == std::vector<TaskId>{running});
  const TaskId ended = enqueue(database);
  database.run("select dogged.cancel($1::bigint)", db::Params{}.add(ended));
  const std::string before = row_of(database, running) + row_of(database, ended);
  CHECK(reschedule(database, running) == "running");
  CHECK(reschedule(database, ended) == "ended");
  CHECK(reschedule(database, 4711) == "not_found");
  CHECK(row_of(database, running) + row_of(database, ended) == before);
  CHECK(database.value("select count(*) as value from dogged.audit where action = 'reschedule'") == "0");
}

TEST_CASE("a reschedule waits for the claim that is under way, and then finds that it runs") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const TaskId id = enqueue(database);
  db::Connection claimer{database.settings()};
  std::future<std::string> result;
  claimer.transaction([&] {
    REQUIRE(claim(claimer, worker) == std::vector<TaskId>{id});
    result = std::async(std::launch::async, [&] {
      db::Connection connection{database.settings()};
      return reschedule(connection, id, "now()");
    });
    REQUIRE(eventually([&] {
      return database.value(
                 "select count(*) as value from pg_stat_activity where datname = current_database() and "
                 "application_name = $1 and wait_event_type = "
                 "'Lock'",
                 db::Params{}.add(database.application())) == "1";
    }));
  });
  CHECK(result.get() == "running");
}

TEST_CASE("a reschedule is recorded with its operator and what it replaced, and undone with its transaction") {
  TestDatabase database;
  const TaskId id = enqueue(database, "now() + interval '1 hour'");
  const std::string before = row_of(database, id);
  db::Connection other{database.settings()};
  try {
    other.transaction([&] {
      CHECK(reschedule(other, id, "now()") == "rescheduled");
      throw Rollback{};
    });
  } catch (const Rollback&) {
  }
  CHECK(row_of(database, id) == before);
  CHECK(database.value("select count(*) as value from dogged.audit") == "0");

  database.run("select set_config('dogged.actor', 'ann@desk', false)");
  REQUIRE(reschedule(database, id, "now() + interval '2 hours'") == "rescheduled");
  CHECK(database.value(
            "select actor || ' ' || action || ' ' || task_id || ' ' || (details ->> 'name') || ' ' || "
            "((details ->> 'run_at')::timestamptz - (details ->> 'was')::timestamptz > interval '50 minutes') as "
            "value from dogged.audit") == "ann@desk reschedule " + std::to_string(id) + " work true");
}

TEST_CASE("a cancellation is recorded once, as it was asked for") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const TaskId running = enqueue(database);
  REQUIRE(claim(database.connection(), worker) == std::vector<TaskId>{running});
  const TaskId pending = enqueue(database);
  for (int times = 0; times < 2; ++times) {
    database.run("select dogged.cancel(id) from unnest(array[$1::bigint, $2::bigint, 4711]) as given (id)",
                 db::Params{}.add(running).add(pending));
  }
  CHECK(database.value("select string_agg(task_id || ' ' || (details ->> 'status'), ', ' order by id) as value from "
                       "dogged.audit where action = 'cancel'") ==
        std::to_string(running) + " running, " + std::to_string(pending) + " pending");
}

TEST_CASE("a time that cannot be meant is refused with the limit, and nothing changes") {
  TestDatabase database;
  const TaskId id = enqueue(database, "now() + interval '1 hour'");
  const std::string before = row_of(database, id);
  const auto refusal_of = [&](const std::string& when) {
    return error_of<InvalidInput>([&] { reschedule(database, id, when); }).message();
  };
  CHECK(contains(refusal_of("null"), "run_at is null"));
  CHECK(contains(refusal_of("'infinity'"), "run_at is infinity"));
  CHECK(contains(refusal_of("now() - interval '6 minutes'"), "in the past"));
  CHECK(contains(refusal_of("now() + interval '11 years'"), "more than 10 years ahead"));
  CHECK(contains(error_of<InvalidInput>([&] { database.run("select dogged.reschedule(null, now())"); }).message(),
                 "the id of the task to reschedule is null"));
  CHECK(row_of(database, id) == before);
}
