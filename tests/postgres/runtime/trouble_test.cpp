// The promises of a worker while the database is in trouble: the worker goes on, and every task ends once, whatever
// broke meanwhile.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/heartbeats.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::eventually;
using test::Gate;
using test::no_args;
using test::registered;
using test::RunningWorker;
using test::terminate_connection;
using test::TestDatabase;
using test::wait_for_stop_token;
using test::work;
using test::worker_is_asleep;

namespace {

/// Makes every insert of an attempt for which `condition` holds fail with `sqlstate`, and counts how often.
void refuse_attempts(TestDatabase& database, const std::string& sqlstate, const std::string& condition) {
  database.script(
      "create sequence dogged.refused; create function dogged.refuse() returns trigger language plpgsql security "
      "definer "
      "as $$ begin if " +
      condition +
      " then perform nextval('dogged.refused'); raise exception 'could not extend "
      "file' using errcode = '" +
      sqlstate +
      "'; end if; return new; end $$; "
      "create trigger refuse before insert on dogged.task_attempts for each row execute function "
      "dogged.refuse()");
}

int count_refused(TestDatabase& database) {
  return std::stoi(
      database.value("select case when is_called then last_value else 0 end as value from dogged.refused"));
}

bool was_refused(TestDatabase& database, int times) {
  return eventually([&] { return count_refused(database) >= times; });
}

/// Every task ended once, with attempts 1 … n of which all but the last are retried.
void check_history(TestDatabase& database, int tasks) {
  CHECK(database.value("select count(*) as value from dogged.tasks where status in ('succeeded', 'failed')") ==
        std::to_string(tasks));
  CHECK(database.value("select count(*) as value from dogged.tasks t where (select array_agg(attempt order by attempt) "
                       "from "
                       "dogged.task_attempts a where a.task_id = t.id) is distinct from (select array_agg(n) from "
                       "generate_series(1, t.attempt) n)") == "0");
  CHECK(database.value("select count(*) as value from dogged.tasks t join dogged.task_attempts a on "
                       "a.task_id = t.id where "
                       "a.will_retry is distinct from (a.attempt < t.attempt)") == "0");
}

void check_survives_loss_of(const std::string& service) {
  constexpr int tasks = 1000;
  TestDatabase database;
  std::atomic<int> runs{0};
  RunningWorker worker{database,
                       {registered(work,
                                   [&](Context& context, const nlohmann::json& args) {
                                     ++runs;
                                     std::this_thread::sleep_for(1ms);
                                     if (context.retry_count() < args.at("failures"))
                                       throw TaskError{"BUSY", "not now"};
                                   },
                                   {.retry = Fixed{.interval = 5ms, .max_retries = 2}, .auto_retry_for = {"BUSY"}})},
                       {.queues = {{"default", 4}}}};
  std::vector<nlohmann::json> args;
  for (int i = 0; i < tasks; ++i) args.push_back({{"failures", i % 4}});  // every fourth spends its two retries
  database.client().enqueue_many(work, args);
  for (int times = 1; times <= 3; ++times) {
    REQUIRE(eventually([&] { return runs >= times * tasks / 4; }));  // while they flow
    REQUIRE(eventually([&] { return terminate_connection(database, service) == 1; }));
  }
  REQUIRE(eventually([&] {
    return database.value("select count(*) as value from dogged.tasks where status in ('pending', 'running')") == "0";
  }));
  check_history(database, tasks);
  CHECK(database.value("select count(*) as value from dogged.tasks where status = 'failed'") ==
        std::to_string(tasks / 4));
}

}  // namespace

TEST_CASE("every task ends once although the claimer's connection is cut again and again") {
  check_survives_loss_of("claimer");
}

TEST_CASE("every task ends once although the completer's connection is cut again and again") {
  check_survives_loss_of("completer");
}

TEST_CASE("every task ends once although the lease keeper's connection is cut again and again") {
  check_survives_loss_of("lease");
}

TEST_CASE("no task is begun while its end could not be recorded") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  database.script("revoke insert on dogged.task_attempts from dogged_test_worker");
  RunningWorker worker{database, {registered(work, [](Context&, const nlohmann::json&) {})}, {.poll_interval = 20ms}};
  const auto last_begin_of = [&](const std::string& service, const std::string& statement) {
    return database.value(
        "select coalesce(max(query_start)::text, '') as value from pg_stat_activity where datname = current_database() "
        "and application_name = $1 and "
        "state = 'idle' and starts_with(query, '/* dogged:' || $2 || ' */')",
        db::Params{}.add(database.application() + " " + service).add(statement));
  };
  const auto asks_again = [&](const std::string& service, const std::string& statement) {
    return eventually(
        [&, before = last_begin_of(service, statement)] { return last_begin_of(service, statement) > before; });
  };
  REQUIRE(asks_again("completer", "complete"));  // in vain
  // The claimer looks before the time of a claim and after it.
  for (int i = 0; i < 3; ++i) REQUIRE(asks_again("claimer", "look"));
  CHECK(database.status_of(id) == "pending");
  database.script("grant insert on dogged.task_attempts to dogged_test_worker");
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 succeeded false");
}

TEST_CASE("a worker whose service meets a mistake of dogged interrupts what runs, and ends with the mistake") {
  // A column that is missing, and the service whose statement alone names the column.
  const auto [service, change] = GENERATE(table<std::string, std::string>({
      {"lease", "alter table dogged.workers rename column clock_ahead_ms to gone"},
      {"upkeep", "alter table dogged.workers rename column rescued_at to gone"},
      {"claimer", "alter table dogged.claims rename column task_ids to gone"},
  }));
  CAPTURE(service);
  TestDatabase database;
  std::atomic<bool> begun{false};
  const auto handler = registered(work, [&](Context& context, const nlohmann::json&) {
    begun = true;
    if (wait_for_stop_token(context)) throw TaskError{"STOPPED", "it was asked to stop"};
  });
  const TaskId runs = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {handler}, {.queues = {{"default", 2}}, .heartbeat = 100ms}};
  REQUIRE(eventually([&] { return begun.load(); }));
  database.script(change);
  if (service == "claimer") (void)database.client().enqueue(work, no_args);
  try {
    (void)worker.wait();
    FAIL("the worker ended without an error");
  } catch (const Defect& error) {
    CHECK(contains(error.message(), service));
    CHECK(contains(error.message(), "does not exist"));
    CHECK(contains(error.hint(), "dogged migrate --status"));
  }
  CHECK(database.status_of(runs) == "pending");
  CHECK(database.history_of(runs) == "1 interrupted true");
}

TEST_CASE("a mistake of dogged in a handler's step interrupts the attempt, and ends the worker with the mistake") {
  TestDatabase database;
  test::Gate gate;
  const auto handler = registered(work, [&](Context& context, const nlohmann::json&) {
    gate.wait();
    try {
      context.step("charge", [] { return 1; });
    } catch (const std::exception&) {  // a handler may go on after it
    }
    if (context.stop_token().stop_requested()) throw TaskError{"STOPPED", "it was asked to stop"};
  });
  const TaskId runs = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {handler}};
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  database.script("alter table dogged.task_steps rename column result to gone");
  gate.open();
  const auto error = test::error_of<Defect>([&] { (void)worker.wait(); });
  CHECK(contains(error.message(), "its handlers met"));
  CHECK(contains(error.message(), "does not exist"));
  CHECK(database.status_of(runs) == "pending");
  CHECK(database.history_of(runs) == "1 interrupted true");
}

TEST_CASE("a worker whose completer meets a mistake of dogged leaves its tasks to the next worker") {
  TestDatabase database;
  std::atomic<int> begun{0};
  std::atomic<bool> may_end{false};
  const auto handler = registered(work, [&](Context& context, const nlohmann::json&) {
    ++begun;
    if (!may_end) (void)wait_for_stop_token(context);
  });
  const TaskId runs = database.client().enqueue(work, no_args);
  {
    RunningWorker worker{database, {handler}, {.queues = {{"default", 2}}, .heartbeat = 1s, .lease = 5s}};
    REQUIRE(eventually([&] { return begun == 1; }));
    database.script("alter table dogged.task_attempts rename column backoff_ms to gone");
    may_end = true;
    const TaskId ends = database.client().enqueue(work, no_args);
    const auto error = test::error_of<Defect>([&] { (void)worker.wait(); });
    CHECK(contains(error.message(), "completer"));
    CHECK(contains(error.message(), "does not exist"));
    CHECK(database.status_of(runs) == "running");
    CHECK(database.status_of(ends) == "running");
  }
  database.script("alter table dogged.task_attempts rename column gone to backoff_ms");
  RunningWorker next{database, {handler}};
  CHECK(eventually([&] { return database.history_of(runs) == "1 lost true, 2 succeeded false"; }));
}

TEST_CASE("a task that was enqueued while no worker listened is picked up once one does, and one after that at once") {
  TestDatabase database;
  RunningWorker worker{database, {registered(work, [](Context&, const nlohmann::json&) {})}, {.poll_interval = 10min}};
  Client client = database.client();
  const auto sleeps = [&] {  // it has fallen asleep, and looked once more
    return database.value(
               "select count(*) as value from pg_stat_activity a, dogged.workers w where a.application_name = $1 and "
               "a.state = 'idle' and starts_with(a.query, '/* dogged:look */') and w.asleep",
               db::Params{}.add(database.application() + " claimer")) == "1";
  };
  for (int i = 0; i < 3; ++i) {
    REQUIRE(eventually(sleeps));
    database.run("update dogged.workers set asleep = false");  // as it is until the next claimer has fallen asleep
    REQUIRE(terminate_connection(database, "claimer") == 1);
    TaskId id = client.enqueue(work, no_args);
    REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
    REQUIRE(eventually(sleeps));
    id = client.enqueue(work, no_args);
    REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  }
}

TEST_CASE("a task whose claim was committed but never answered is given back and run, as its first attempt") {
  TestDatabase database;
  RunningWorker worker{database, {registered(work, [](Context&, const nlohmann::json&) {})}, {.poll_interval = 10min}};
  Client client = database.client();
  REQUIRE(worker_is_asleep(database, worker.id()));
  const TaskId unanswered = client.enqueue(work, no_args, {.delay = 1h});
  database.claim_all_for(worker.id());
  REQUIRE(worker_is_asleep(database, worker.id()));
  REQUIRE(terminate_connection(database, "claimer") == 1);
  const TaskId next = client.enqueue(work, no_args);
  for (const TaskId id : {unanswered, next}) {
    REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
    CHECK(database.history_of(id) == "1 succeeded false");
  }
}

TEST_CASE(
    "a task that another session keeps locked does not hold up those that are given back with it, nor the worker") {
  TestDatabase database;
  RunningWorker worker{database,
                       {registered(work, [](Context&, const nlohmann::json&) {})},
                       {.heartbeat = 50ms, .lease = 1s, .poll_interval = 20ms}};
  database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return database.value("select status::text as value from dogged.tasks") == "succeeded"; }));
  // A later sum would delete the entry that claim_all_for adds: a claimer sums up only while it knows all its claims.
  REQUIRE(eventually([&] { return database.value("select min(id) > 1 as value from dogged.claims") == "t"; }));
  std::int64_t locked = 0, other = 0;
  db::Connection user{database.settings()};
  database.connection().transaction([&] {  // as a claim leaves it whose answer was lost
    locked = database.run("select dogged.enqueue('work') as id").one().number("id");
    other = database.run("select dogged.enqueue('work') as id").one().number("id");
    database.claim_all_for(worker.id());
  });
  user.transaction([&] {
    user.run({"lock", "select from dogged.tasks_live where id = $1::bigint for update"}, db::Params{}.add(locked));
    REQUIRE(terminate_connection(database, "claimer") == 1);
    CHECK(eventually([&] { return database.status_of(other) == "succeeded"; }));
    const TaskId next = database.client().enqueue(work, no_args);
    CHECK(eventually([&] { return database.status_of(next) == "succeeded"; }));
    CHECK(database.status_of(locked) == "running");
  });
  CHECK(eventually([&] { return database.status_of(locked) == "succeeded"; }));
  CHECK(database.history_of(locked) == "1 succeeded false");
  CHECK(database.value("select count(*) as value from dogged.workers") == "1");
}

TEST_CASE("a task that is another worker's by now is not given back, and that is counted") {
  TestDatabase database;
  Gate gate;
  RunningWorker worker{database,
                       {registered(work,
                                   [&](Context&, const nlohmann::json& args) {
                                     if (args.contains("hold")) gate.wait();
                                   })},
                       {.queues = {{"default", 1}}, .heartbeat = 20ms}};
  Client client = database.client();
  const TaskId quick = client.enqueue(work, no_args);  // so that tasks are claimed ahead
  REQUIRE(eventually([&] { return database.status_of(quick) == "succeeded"; }));
  const std::vector<TaskId> ids = client.enqueue_many(work, std::vector<nlohmann::json>{{{"hold", true}}, no_args});
  REQUIRE(eventually([&] {
    return !database
                .run(
                    "update dogged.tasks_live set worker_id = worker_id + 1 where id = $1::bigint and status = "
                    "'running' "
                    "returning id",
                    db::Params{}.add(ids.back()))
                .empty();
  }));
  CHECK(eventually([&] { return database.value("select max(fenced) as value from dogged.workers") == "1"; }));
  CHECK(database.status_of(ids.back()) == "running");
  gate.open();
}

TEST_CASE("tasks that run are not given back when the claimer's connection is lost") {
  TestDatabase database;
  Gate gate;
  std::atomic<int> runs{0};
  RunningWorker worker{database, {registered(work, [&](Context&, const nlohmann::json& args) {
                         if (!args.contains("hold")) return;
                         ++runs;
                         gate.wait();
                       })}};
  Client client = database.client();
  const TaskId held = client.enqueue(work, {{"hold", true}});
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  REQUIRE(terminate_connection(database, "claimer") == 1);
  const TaskId next = client.enqueue(work, no_args);
  REQUIRE(eventually([&] { return database.status_of(next) == "succeeded"; }));
  gate.open();
  REQUIRE(eventually([&] { return database.status_of(held) == "succeeded"; }));
  CHECK(runs == 1);
  CHECK(database.history_of(held) == "1 succeeded false");
}

TEST_CASE("while the server's disk is full a worker keeps its reports, and writes them once there is room") {
  TestDatabase database;
  refuse_attempts(database, "53100", "true");
  std::atomic<int> runs{0};
  RunningWorker worker{database, {registered(work, [&](Context&, const nlohmann::json&) { ++runs; })}};
  database.client().enqueue_many(work, std::vector<nlohmann::json>(50, no_args));
  REQUIRE(was_refused(database, 2));
  CHECK(database.value("select count(*) as value from dogged.task_attempts") == "0");

  database.run("drop trigger refuse on dogged.task_attempts");
  REQUIRE(eventually(
      [&] { return database.value("select count(*) as value from dogged.tasks where status = 'succeeded'") == "50"; }));
  CHECK(runs == 50);
  check_history(database, 50);
}

TEST_CASE("a full disk's error names the remedy to the producer, and nothing is enqueued") {
  TestDatabase database;
  Client client{database.settings().url, {.schema = database.schema(), .retry_for = 100ms}};
  database.script(
      "create function dogged.full() returns trigger language plpgsql as $$ begin raise exception 'could not "
      "extend file' "
      "using errcode = '53100'; end $$; create trigger disk_is_full before insert on dogged.tasks_live "
      "execute function "
      "dogged.full()");
  const auto error = test::error_of<DatabaseError>([&] { client.enqueue(work, no_args); });
  INFO(error.what());
  CHECK(error.sqlstate() == "53100");
  CHECK(contains(error.message(), "could not extend file"));
  CHECK(contains(error.hint(), "disk is full"));
  CHECK(database.count_tasks() == 0);
}

TEST_CASE(
    "a report that PostgreSQL refuses does not hold up those of its batch, and is written without its "
    "extras") {
  TestDatabase database;
  refuse_attempts(database, "22P02", "new.error_message = 'poison'");
  RunningWorker worker{database, {registered(work, [](Context&, const nlohmann::json& args) {
                         if (args.contains("poison")) throw TaskError{"ODD", "poison"}.details({{"x", 1}});
                       })}};
  std::vector<nlohmann::json> args(40, no_args);
  args[17] = {{"poison", true}};
  const std::vector<TaskId> ids = database.client().enqueue_many(work, args);
  REQUIRE(eventually([&] {
    return database.value("select count(*) as value from dogged.tasks where status in ('succeeded', 'failed')") == "40";
  }));
  check_history(database, 40);
  const test::Rows rows = database.attempts_of(ids[17]);
  CHECK(rows.one().text("error_code") == "ODD");
  CHECK(rows.one().is_null("error_details"));
  CHECK(contains(rows.one().text("error_message"), "could not extend file"));
}

TEST_CASE("a report that PostgreSQL refuses even without its extras is kept, and written once that is over") {
  TestDatabase database;
  refuse_attempts(database, "23514", "true");
  RunningWorker worker{
      database, {registered(work, [](Context&, const nlohmann::json&) {})}, {.heartbeat = 20ms, .lease = 10s}};
  database.client().enqueue_many(work, std::vector<nlohmann::json>(5, no_args));
  REQUIRE(was_refused(database, 4));
  const int refused = count_refused(database);
  REQUIRE(test::beats(database, worker.id(), 10));
  CHECK(count_refused(database) < refused + 10);  // it waits longer and longer instead of hammering
  database.run("drop trigger refuse on dogged.task_attempts");
  REQUIRE(eventually(
      [&] { return database.value("select count(*) as value from dogged.tasks where status = 'succeeded'") == "5"; }));
  check_history(database, 5);
}

TEST_CASE("a claim that the database refuses, for whatever reason, is tried again until it works") {
  TestDatabase database;
  database.script(
      "create sequence dogged.refused; create function dogged.refuse() returns trigger language plpgsql security "
      "definer "
      "as $$ begin "
      "perform nextval('dogged.refused'); raise exception 'too much' using errcode = '54000'; end $$; "
      "create trigger refuse before update on dogged.tasks_live for each row execute function dogged.refuse()");
  RunningWorker worker{database, {registered(work, [](Context&, const nlohmann::json&) {}, {})}};
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(was_refused(database, 2));
  database.script("drop trigger refuse on dogged.tasks_live");
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
  check_history(database, 1);
}

TEST_CASE("a worker goes on when a table was changed after its statements were prepared") {
  TestDatabase database;
  const auto does_nothing = registered(work, [](Context&, const nlohmann::json&) {});
  Client client = database.client();
  RunningWorker worker{database, {does_nothing}};
  const TaskId before = client.enqueue(work, no_args);
  REQUIRE(eventually([&] { return database.status_of(before) == "succeeded"; }));
  database.script(  // views stand in the way of another type
      "do $$ declare view text; begin "
      "for view in select c.relname from pg_class c where c.relkind = 'v' and c.relnamespace = "
      "(select relnamespace from pg_class where oid = 'dogged.tasks'::regclass) loop "
      "execute format('drop view if exists dogged.%I cascade', view); end loop; end $$; "
      "alter table dogged.tasks alter column losses type bigint");
  const TaskId after = client.enqueue(work, no_args);
  CHECK(eventually([&] { return database.status_of(after) == "succeeded"; }));
}

TEST_CASE("a worker reads no table from one end to the other, also when it began with empty ones") {
  const bool poll_only = GENERATE(false, true);
  TestDatabase database;
  const auto does_nothing = registered(work, [](Context&, const nlohmann::json&) {});
  const auto count_scans = [&] {
    database.run("select pg_stat_force_next_flush()");  // what making the schema has scanned is not told before
    return database.value(
        "select seq_scan as value from pg_stat_user_tables where relid = 'dogged.tasks_live'::regclass");
  };
  Client client = database.client();
  database.script("analyze dogged.tasks_live");
  const std::string before = count_scans();
  {
    RunningWorker worker{database, {does_nothing}, {.poll_interval = 20ms, .poll_only = poll_only}};
    const std::vector<TaskId> ids = client.enqueue_many(work, std::vector<nlohmann::json>(2000, no_args));
    REQUIRE(eventually([&] { return database.status_of(ids.back()) == "succeeded"; }));
  }
  // When its sessions have ended, their scans are counted.
  REQUIRE(eventually([&] {
    return database.value(
               "select count(*) as value from pg_stat_activity where datname = current_database() and application_name "
               "like $1 || ' %'",
               db::Params{}.add(database.application())) == "0";
  }));
  CHECK(count_scans() == before);
}

TEST_CASE("a finished task wakes a claimer that waits for room, however long the poll interval is") {
  constexpr int tasks = 300;  // more than a worker of one thread claims ahead
  TestDatabase database;
  database.client().enqueue_many(work, std::vector<nlohmann::json>(tasks, no_args));
  RunningWorker worker{database,
                       {registered(work, [](Context&, const nlohmann::json&) { std::this_thread::sleep_for(5ms); })},
                       {.queues = {{"default", 1}}, .poll_interval = 10min}};
  CHECK(eventually([&] {
    return database.value("select count(*) as value from dogged.tasks where status = 'succeeded'") ==
           std::to_string(tasks);
  }));
}
