// The promises of the views of the SQL interface, on rows as workers leave them. tests/cli/cookbook_test asks the views
// the questions of docs/cookbook.md.
#include "claim/statements.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::add_worker;
using test::eventually;
using test::Gate;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;

namespace {

constexpr Task<nlohmann::json, nlohmann::json> answering{"work"};

TaskId enqueue(TestDatabase& database, const std::string& options = "") {
  return database.run("select dogged.enqueue('work'" + options + ") as id").one().number("id");
}

void declare(TestDatabase& database, const std::string& redact = "{}") {
  database.run(
      "insert into dogged.task_definitions (name, queue, retry_policy, auto_retry_for, retry_lost, dead_letter, "
      "max_losses, version, redact, circuit) values ('work', 'default', '{}', '{}', true, true, 3, '1', $1::text[], "
      "'api') on conflict (name) do update set redact = excluded.redact",
      db::Params{}.add(redact));
}

std::string state_of(TestDatabase& database, TaskId id) {
  return database.value("select state as value from dogged.task_overview where id = $1::bigint", db::Params{}.add(id));
}

/// The id of a worker that serves the queue, knows the task, and is alive.
std::int64_t add_able_worker(TestDatabase& database) {
  const std::int64_t worker = add_worker(database);
  database.run("update dogged.workers set task_names = '{work}' where id = $1::bigint", db::Params{}.add(worker));
  return worker;
}

void claim(TestDatabase& database, std::int64_t worker) {
  const sql::Claim claim = runtime::claim_of(worker, {{.queue = "default", .how_many = 1}}, {"work"}, 0, {1});
  REQUIRE(database.connection().run(claim).size() == 1);
}

}  // namespace

TEST_CASE("task_overview says what a pending task waits for, and since when") {
  TestDatabase database;
  const TaskId id = enqueue(database, ", run_at => now() + interval '1 hour'");
  const auto check = [&](const std::string& change, const std::string& state, const std::string& since,
                         const std::string& next) {
    if (!change.empty()) database.run(change);
    INFO(change);
    CHECK(state_of(database, id) == state);
    CHECK(database.value("select (since is not distinct from " + since + " and next_run_at is not distinct from " +
                         next +
                         ")::text as value from dogged.task_overview natural join (select id, next_retry_at from "
                         "dogged.tasks) as t") == "true");
  };
  check("", "waits for its time", "enqueued_at", "run_at");
  check("update dogged.tasks_live set deferred = false, run_at = enqueued_at",
        "is due, but no worker serves its queue and knows it", "run_at", "run_at");
  CHECK(add_worker(database) > 0);  // which does not know the task
  check("", "is due, but no worker serves its queue and knows it", "run_at", "run_at");
  add_able_worker(database);
  check("", "is due, and waits for its turn", "run_at", "run_at");
  check(
      "update dogged.tasks_live set deferred = true, attempt = 1, claimed_at = now(), next_retry_at = now() + interval "
      "'1 hour'",
      "waits for its retry", "claimed_at", "next_retry_at");
  check(
      "insert into dogged.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, started_at, "
      "finished_at, will_retry) select id, 1, name, queue, 'failed', 1, claimed_at, claimed_at, claimed_at + interval "
      "'1 "
      "second', true from dogged.tasks_live",
      "waits for its retry", "claimed_at + interval '1 second'", "next_retry_at");
  declare(database);
  check("insert into dogged.circuits (name, state) values ('api', 'open')", "waits for its circuit to close",
        "claimed_at + interval '1 second'", "next_retry_at");
}

TEST_CASE("task_overview says how a running task stands with its worker") {
  TestDatabase database;
  const std::int64_t worker = add_able_worker(database);
  const TaskId id = enqueue(database);
  claim(database, worker);
  CHECK(state_of(database, id) == "runs");
  database.run("update dogged.workers set lease_until = now() - interval '1 second'");
  CHECK(state_of(database, id) == "runs, but its worker does not renew its lease");
  database.run("update dogged.workers set lease_ended_at = now()");
  CHECK(state_of(database, id) == "lost its worker, and waits to be rescued");
  database.run("select dogged.cancel($1::bigint)", db::Params{}.add(id));
  CHECK(state_of(database, id) == "runs, and is asked to stop");
  CHECK(database.value(
            "select (since = claimed_at and next_run_at is null)::text as value from dogged.task_overview") == "true");
}

TEST_CASE("task_overview has a row for every task, and says how those that ended did") {
  TestDatabase database;
  RunningWorker worker{database, {registered(answering, [](Context&, const nlohmann::json& args) -> nlohmann::json {
                         if (args.contains("code")) throw TaskError{args["code"].get<std::string>(), "no"};
                         return "done";
                       })}};
  const TaskId succeeded = enqueue(database);
  const TaskId failed = enqueue(database, ", '{\"code\": \"HTTP_404\"}'");
  const TaskId cancelled = enqueue(database, ", run_at => now() + interval '1 hour'");
  database.run("select dogged.cancel($1::bigint)", db::Params{}.add(cancelled));
  REQUIRE(eventually(
      [&] { return database.status_of(succeeded) == "succeeded" && database.status_of(failed) == "failed"; }));
  CHECK(state_of(database, succeeded) == "succeeded");
  CHECK(state_of(database, failed) == "failed: a dead letter");
  CHECK(state_of(database, cancelled) == "cancelled");
  CHECK(database.value("select last_error_code || ' ' || last_error_message || ' ' || attempts as value from "
                       "dogged.task_overview where id = $1::bigint and since = finished_at",
                       db::Params{}.add(failed)) == "HTTP_404 no 1");
  CHECK(database.value("select count(*) as value from dogged.task_overview") == "3");
}

TEST_CASE("views show args and results without what their definition hides") {
  TestDatabase database;
  RunningWorker worker{database, {registered(answering, [](Context&, const nlohmann::json& args) -> nlohmann::json {
                         if (args.contains("fail")) throw TaskError{"HTTP_404", "no"};
                         return {{"token", "secret"}, {"n", 1}};
                       })}};
  const TaskId succeeded = enqueue(database, ", '{\"token\": \"secret\", \"n\": 1}'");
  const TaskId failed = enqueue(database, ", '{\"token\": \"secret\", \"fail\": true}'");
  REQUIRE(eventually(
      [&] { return database.status_of(succeeded) == "succeeded" && database.status_of(failed) == "failed"; }));
  declare(database, "{/token}");
  CHECK(database.value(
            "select args::text || ' ' || result::text as value from dogged.task_overview where id = $1::bigint",
            db::Params{}.add(succeeded)) == R"({"n": 1, "token": "[redacted]"} {"n": 1, "token": "[redacted]"})");
  CHECK(database.value("select args::text as value from dogged.dead_letters") ==
        R"({"fail": true, "token": "[redacted]"})");
  for (const std::string view : {"task_overview", "dead_letters", "task_timeline"}) {
    CHECK(database.value("select count(*) as value from dogged." + view + " as v where v::text like '%secret%'") ==
          "0");
  }
}

TEST_CASE("dead_letters shows the details of the last error, and how and where the last attempt ended") {
  TestDatabase database;
  RunningWorker worker{
      database,
      {registered(answering,
                  [](Context& context, const nlohmann::json&) -> nlohmann::json {
                    throw TaskError{"HTTP_503", "busy"}.details({{"attempt", context.attempt()}});
                  },
                  {.retry = Fixed{.interval = 1ms, .max_retries = 1}, .auto_retry_for = {"HTTP_503"}})},
      {.name = "worker-7"}};
  const TaskId id = enqueue(database, ", priority => 3");
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  CHECK(database.value("select concat_ws(' ', error_code, error_message, error_details, outcome, worker, attempts, "
                       "retry_count, priority, queue) as value from dogged.dead_letters") ==
        "HTTP_503 busy {\"attempt\": 2} failed worker-7 2 1 3 default");
}

TEST_CASE("task_timeline shows the attempts that ended, with what they waited, and the one under way") {
  TestDatabase database;
  Gate gate;
  RunningWorker worker{
      database,
      {registered(answering,
                  [&](Context& context, const nlohmann::json&) -> nlohmann::json {
                    if (context.attempt() == 1) throw TaskError{"HTTP_503", "busy"};
                    gate.wait();
                    return nullptr;
                  },
                  {.retry = Fixed{.interval = 1ms, .max_retries = 1}, .auto_retry_for = {"HTTP_503"}})},
      {.name = "worker-7"}};
  const TaskId id = enqueue(database);
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  const auto timeline = [&] {
    return database.value(
        "select string_agg(concat_ws(' ', attempt, coalesce(outcome::text, 'runs'), worker, waited >= interval '0', "
        "ran >= interval '0'), ', ' order by attempt) as value from dogged.task_timeline where task_id = $1::bigint",
        db::Params{}.add(id));
  };
  CHECK(timeline() == "1 failed worker-7 t t, 2 runs worker-7 t t");
  gate.open();
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(timeline() == "1 failed worker-7 t t, 2 succeeded worker-7 t t");
  CHECK(database.value(
            "select bool_and(due_at = case v.attempt when 1 then t.run_at else before.next_retry_at end and "
            "v.waited = greatest(v.started_at - v.due_at, interval '0'))::text as value from dogged.task_timeline v "
            "join dogged.tasks t on t.id = task_id left join lateral (select a.next_retry_at from "
            "dogged.task_attempts a where a.task_id = v.task_id and a.attempt = v.attempt - 1) before on true") ==
        "true");
}

TEST_CASE("task_timeline counts what an attempt waited from what its task was replayed or rescheduled to") {
  TestDatabase database;
  RunningWorker worker{database,
                       {registered(answering,
                                   [](Context&, const nlohmann::json&) -> nlohmann::json {
                                     throw TaskError{"HTTP_503", "busy"};
                                   },
                                   {.retry = Fixed{.interval = 1h, .max_retries = 1, .jitter = Jitter::none()},
                                    .auto_retry_for = {"HTTP_503"}})}};
  const TaskId id = enqueue(database);
  const auto has_run = [&](int attempt) {
    return eventually([&] {
      return database.value("select count(*) as value from dogged.task_attempts where task_id = $1::bigint",
                            db::Params{}.add(id)) == std::to_string(attempt);
    });
  };
  const auto is_due_as_audited = [&](int attempt, const std::string& action, const std::string& detail) {
    return database.value(
        "select (v.due_at = (c.details->>$3)::timestamptz and v.waited = greatest(v.started_at - v.due_at, interval "
        "'0'))::text as value from dogged.task_timeline v join dogged.audit c on c.task_id = v.task_id and c.action = "
        "$4 where v.task_id = $1::bigint and v.attempt = $2::int",
        db::Params{}.add(id).add(attempt).add(detail).add(action));
  };
  REQUIRE(has_run(1));
  database.run("select dogged.reschedule($1::bigint, now())", db::Params{}.add(id));
  REQUIRE(has_run(2));
  CHECK(is_due_as_audited(2, "reschedule", "run_at") == "true");
  REQUIRE(database.status_of(id) == "failed");
  database.run("select dogged.replay($1::bigint, now() + interval '100 ms')", db::Params{}.add(id));
  REQUIRE(has_run(3));
  CHECK(is_due_as_audited(3, "replay", "due_at") == "true");
  // No other attempt is taken for a moved one either.
  CHECK(database.value("select (v.due_at = t.run_at)::text as value from dogged.task_timeline v join dogged.tasks t on "
                       "t.id = v.task_id where v.attempt = 1") == "true");
}

TEST_CASE("worker_stats tells live workers from those that are stopping, lapsed, lost and stopped") {
  TestDatabase database;
  for (int i = 0; i < 7; ++i) add_able_worker(database);
  enqueue(database);
  claim(database, database.run("select min(id) as id from dogged.workers").one().number("id"));
  database.run(
      "update dogged.workers w "
      "   set lease_until = case when number in (2, 3, 4, 6) then now() - interval '1 minute' else lease_until end, "
      "       lease_ended_at = case when number in (3, 7) then now() end, stopped_at = case when number = 4 then now() "
      "end, "
      "       stop_began_at = case when number >= 4 then now() end "
      "  from (select id, row_number() over (order by id) as number from dogged.workers) n where n.id = w.id");
  CHECK(database.value(
            "select string_agg(concat_ws(' ', state, running, lease_left > interval '0'), ', ' order by id) as "
            "value from dogged.worker_stats") ==
        "live 1 t, lapsed 0 f, lost 0, stopped 0, stopping 0 t, lapsed 0 f, lost 0");
  database.run("update dogged.workers set stopped_at = now() - interval '2 days' where stopped_at is not null");
  CHECK(database.value("select count(*) as value from dogged.worker_stats") == "6");
}
