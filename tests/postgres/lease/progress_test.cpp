// How far tasks have come: Context::progress, as the database and waiting clients see it.
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "sql/lease.hpp"
#include "support/catch.hpp"
#include "support/heartbeats.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"
#include "support/worker_process.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::error_of;
using test::eventually;
using test::Gate;
using test::no_args;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::wait_for_stop_token;
using test::work;
using test::WorkerProcess;

namespace {

/// `1 0.4 12,000 of 30,000 rows`: attempt, fraction and message, as task_overview shows them.
std::string progress_of(TestDatabase& database, TaskId id) {
  return database.value(
      "select coalesce(concat_ws(' ', progress_attempt, progress, progress_message), '') as value "
      "from dogged.task_overview where id = $1::bigint",
      db::Params{}.add(id));
}

/// Whether a worker waits to write progress.
bool waits_for_lock(TestDatabase& database) {
  return database.value(
             "select count(*) as value from pg_stat_activity where datname = current_database() "
             "and wait_event_type = 'Lock' and query like '/* dogged:write_progress */%'") != "0";
}

detail::RegisteredTask with_handler(const std::function<void(Context&)>& handle, const TaskOptions& options = {}) {
  return registered(
      work, [handle](Context& context, const nlohmann::json&) { handle(context); }, options);
}

/// No heartbeat and no poll comes during a test, so the note of a handler wakes the lease keeper. A handler that waits
/// for its stop token is asked to stop when its test ends, and not after 20 s.
const runtime::WorkerSettings asks_at_once{.heartbeat = 5min, .lease = 20min, .grace = 1ms, .poll_interval = 5min};

}  // namespace

TEST_CASE("what a handler says of its progress is shown while it runs, and the latest wins") {
  TestDatabase database;
  Gate next;
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database,
                       {with_handler([&](Context& context) {
                         context.progress(0.25, "12,000 of 48,000 rows");
                         next.wait();
                         for (int i = 0; i < 10'000; ++i) context.progress("row " + std::to_string(i));
                         (void)wait_for_stop_token(context);
                       })},
                       asks_at_once};
  REQUIRE(eventually([&] { return progress_of(database, id) == "1 0.25 12,000 of 48,000 rows"; }));
  next.open();
  REQUIRE(eventually([&] { return progress_of(database, id) == "1 row 9999"; }));
  const auto task = database.client().find(id);
  REQUIRE(task);
  REQUIRE(task->progress);
  CHECK(task->progress->attempt == 1);
  CHECK_FALSE(task->progress->fraction);
  CHECK(task->progress->message == "row 9999");
  CHECK(task->progress->reported_at >= task->claimed_at);
}

TEST_CASE(
    "a handler that reports after a quiet time wakes the lease keeper, which writes the progress before its next "
    "heartbeat") {
  TestDatabase database;
  Gate next;
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database,
                       {with_handler([&](Context& context) {
                         next.wait();
                         context.progress(0.5, "half");
                         (void)wait_for_stop_token(context);
                       })},
                       asks_at_once};
  // After its last statement the keeper may look for progress once more, within a second. An idle keeper sleeps.
  REQUIRE(eventually([&] {
    return database.value(
               "select count(*) = 1 as value from pg_stat_activity where application_name = $1 and state = 'idle' and "
               "state_change < now() - interval '2 seconds'",
               db::Params{}.add(database.application() + " lease")) == "t";
  }));
  next.open();
  CHECK(eventually([&] { return progress_of(database, id) == "1 0.5 half"; }));
}

TEST_CASE("the last progress survives SIGKILL") {
  TestDatabase database;
  database.script("select dogged.create_queue('load')");
  const TaskId id = database.client().enqueue({.name = "until_stopped", .options = {.queue = "load"}});
  WorkerProcess worker{database};
  REQUIRE(eventually([&] { return progress_of(database, id) == "1 0.4 12,000 of 30,000 rows"; }));
  CHECK(worker.stop(SIGKILL) == -1);
  CHECK(progress_of(database, id) == "1 0.4 12,000 of 30,000 rows");
}

TEST_CASE("a worker that stops writes what its handlers have said last") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database,
                       {with_handler([&](Context& context) {
                         context.progress(0.1);
                         (void)wait_for_stop_token(context);
                         context.progress(0.9, "asked to stop");
                         throw TaskError{"STOPPED", ""};
                       })},
                       asks_at_once};
  REQUIRE(eventually([&] { return progress_of(database, id) == "1 0.1 "; }));
  (void)worker.stop();
  CHECK(progress_of(database, id) == "1 0.9 asked to stop");
}

TEST_CASE("a dead letter keeps the progress of its last attempt, and a task that succeeded shows none") {
  TestDatabase database;
  Client client = database.client();
  Gate written;
  const TaskId dead = client.enqueue(work, nlohmann::json{{"fails", true}});
  const TaskId done = client.enqueue(work, nlohmann::json{{"fails", false}});
  RunningWorker worker{database, {registered(work, [&](Context& context, const nlohmann::json& args) {
                         context.progress(0.98, "nearly done");
                         written.wait();
                         if (args.at("fails").get<bool>()) throw TaskError{"NO", ""};
                       })}};
  REQUIRE(eventually([&] { return progress_of(database, dead) != "" && progress_of(database, done) != ""; }));
  written.open();
  REQUIRE(eventually([&] { return database.status_of(dead) == "failed" && database.status_of(done) == "succeeded"; }));
  CHECK(progress_of(database, dead) == "1 0.98 nearly done");
  CHECK(progress_of(database, done).empty());
  CHECK_FALSE(client.find(done)->progress);
  CHECK(database.value("select dogged.forget_steps() as value") == "1");
  CHECK(progress_of(database, dead) == "1 0.98 nearly done");
}

TEST_CASE("an attempt that another one has followed changes the progress no more") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  const auto write = [&](int attempt, const std::string& message) {
    database.connection().run(sql::WriteProgress{
        .ids = {id}, .attempts = {attempt}, .millionths = {500'000}, .messages = {message}, .ages_us = {0}});
  };
  database.script("update dogged.tasks_live set status = 'running', attempt = 2, worker_id = 1, claimed_at = now()");
  write(1, "too late");
  CHECK(progress_of(database, id).empty());
  write(2, "in time");
  database.script("update dogged.tasks_live set attempt = 3");
  write(2, "too late");
  CHECK(progress_of(database, id) == "2 0.5 in time");
}

TEST_CASE("a message of any text is written, cut to 1,000 bytes") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database,
                       {with_handler([&](Context& context) {
                         context.progress(1, std::string{"a\0b\xff", 4} + std::string(5000, 'x'));
                         (void)wait_for_stop_token(context);
                       })},
                       asks_at_once};
  REQUIRE(eventually([&] { return progress_of(database, id) != ""; }));
  const std::string said = progress_of(database, id);
  CHECK(contains(said,
                 "1 1 a\xEF\xBF\xBD"
                 "b\xEF\xBF\xBDxxx"));
  CHECK(contains(said, "[cut: 5004 bytes in all]"));
}

TEST_CASE("a bad fraction fails the attempt, and the message says what to give") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {with_handler([](Context& context) { context.progress(40); })}};
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  CHECK(contains(database.value("select error_message as value from dogged.tasks"), "the progress 40 is not 0 to 1"));
}

TEST_CASE("a waiting client is told of progress as it comes, and before the end of the task") {
  TestDatabase database;
  Gate half;
  Gate end;
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {with_handler([&](Context& context) {
                         context.progress(0.25, "a quarter");
                         half.wait();
                         context.progress(0.5, "half");
                         end.wait();
                         throw TaskError{"NO", ""};
                       })}};
  std::vector<std::string> told;
  const TaskOutcome outcome = database.client().wait(id, 20s, [&](const TaskProgress& progress) {
    told.push_back(progress.message);
    (progress.message == "half" ? end : half).open();
  });
  CHECK(outcome.status == TaskStatus::failed);
  CHECK(told == std::vector<std::string>{"a quarter", "half"});
}

TEST_CASE("an exception of the callback ends the wait with it") {
  TestDatabase database;
  Client client = database.client();
  const TaskId id = client.enqueue(work, no_args);
  RunningWorker worker{database,
                       {with_handler([](Context& context) {
                         context.progress("begun");
                         (void)wait_for_stop_token(context);
                       })},
                       asks_at_once};
  const auto error = error_of<std::runtime_error>(
      [&] { (void)client.wait(id, 20s, [](const TaskProgress&) { throw std::runtime_error{"enough"}; }); });
  CHECK(std::string{error.what()} == "enough");
  CHECK(client.wait(id, 0s).status == TaskStatus::running);
}

TEST_CASE("a write of progress that is refused is tried once a second, and cancellations are heard meanwhile") {
  TestDatabase database;
  database.script(
      "create sequence dogged.refused; create function dogged.refuse() returns trigger language plpgsql as $$ begin "
      "perform nextval('dogged.refused'); raise insufficient_privilege; end $$; grant usage on sequence dogged.refused "
      "to "
      "public; create trigger refuse before insert on dogged.task_progress for each row execute function "
      "dogged.refuse()");
  Client client = database.client();
  const TaskId id = client.enqueue(work, no_args);
  RunningWorker worker{database,
                       {with_handler([](Context& context) {
                         context.progress(0.5, "half");
                         if (wait_for_stop_token(context)) throw TaskError{"STOPPED", ""};
                       })},
                       {.heartbeat = 200ms, .lease = 10s}};
  const auto refused = [&] { return std::stoi(database.value("select last_value as value from dogged.refused")); };
  REQUIRE(eventually([&] { return database.value("select is_called as value from dogged.refused") == "t"; }));
  const int before = refused();
  REQUIRE(test::beats(database, worker.id(), 10));
  CHECK(refused() - before <= 4);  // beats come five times a second
  CHECK(client.cancel(id) == CancelResult::requested);
  CHECK(eventually([&] { return database.status_of(id) == "cancelled"; }));
}

TEST_CASE("a lock on the progress holds up no heartbeat") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  Gate locked;
  RunningWorker worker{database,
                       {with_handler([&](Context& context) {
                         locked.wait();
                         context.progress(0.5, "half");
                         (void)wait_for_stop_token(context);
                       })},
                       {.heartbeat = 200ms, .lease = 10s, .grace = 1ms}};
  const auto last_beat = [&] {
    return database.value("select heartbeat_at as value from dogged.workers where id = $1::bigint",
                          db::Params{}.add(worker.id()));
  };
  db::Connection user{database.settings()};
  user.transaction([&] {
    user.run({"lock", "lock table dogged.task_progress in access exclusive mode"}, {});
    locked.open();
    REQUIRE(eventually([&] { return waits_for_lock(database); }));
    for (int beat = 0; beat < 2; ++beat) {
      REQUIRE(eventually([&, before = last_beat()] { return last_beat() != before; }));
    }
  });
  CHECK(database.value("select count(*) as value from dogged.workers where lease_ended_at is not null") == "0");
  CHECK(eventually([&] { return progress_of(database, id) == "1 0.5 half"; }));
  CHECK(database.value("select attempt as value from dogged.tasks_live") == "1");
}
