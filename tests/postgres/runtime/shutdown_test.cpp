// The promises of a worker that is told to stop: it loses nothing, spends nothing, and tells of everything that it
// leaves.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <iterator>
#include <thread>

#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/spdlog.h>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::eventually;
using test::Gate;
using test::no_args;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::wait_for_stop_token;
using test::work;

namespace {

runtime::WorkerSettings hasty() { return {.grace = 20ms, .stop_grace = 20ms}; }
runtime::WorkerSettings stops_by_token() { return {.grace = 20ms, .stop_grace = 20s}; }

/// A handler that fails when it is asked to stop.
detail::RegisteredTask throws_when_asked_to_stop(std::atomic<int>& started, const TaskOptions& options = {}) {
  return registered(
      work,
      [&started](Context& context, const nlohmann::json&) {
        ++started;
        if (wait_for_stop_token(context)) throw TaskError{"CUT_SHORT", "asked to stop"};
      },
      options);
}

std::ptrdiff_t count_threads() {
  return std::distance(std::filesystem::directory_iterator{"/proc/self/task"}, std::filesystem::directory_iterator{});
}

/// Another worker runs what the first one left, as its second attempt.
void check_runs_elsewhere(TestDatabase& database, TaskId id) {
  RunningWorker other{database, {registered(work, [](Context&, const nlohmann::json&) {})}};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 interrupted true, 2 succeeded false");
  CHECK(database.value("select retry_count as value from dogged.tasks") == "0");
}

void check_is_interrupted(TestDatabase& database, TaskId id) {
  CHECK(database.value("select count(*) as value from dogged.tasks t join dogged.task_attempts a on a.task_id = t.id "
                       "where "
                       "t.id = $1::bigint and t.status = 'pending' and not t.deferred and t.retry_count = 0 and "
                       "t.losses = 0 "
                       "and t.attempt = 1 and a.attempt = 1 and a.outcome = 'interrupted' and a.error_code is null and "
                       "a.will_retry and a.next_retry_at = a.finished_at and a.delay_ms = 0 and a.policy is null",
                       db::Params{}.add(id)) == "1");
}

}  // namespace

TEST_CASE("a worker that stops signs off") {
  TestDatabase database;
  RunningWorker worker{database, {registered(work, [](Context&, const nlohmann::json&) {})}};
  const runtime::ShutdownResult result = worker.stop();
  CHECK(result.given_back + result.interrupted + result.left_behind == 0);
  CHECK(database.value("select count(*) as value from dogged.workers where stopped_at >= started_at and not asleep") ==
        "1");
}

TEST_CASE("attempts that run when a worker is told to stop may finish, and are recorded") {
  TestDatabase database;
  Gate gate;
  std::atomic<int> asked_to_stop{0};
  RunningWorker worker{database, {registered(work, [&](Context& context, const nlohmann::json&) {
                         gate.wait();
                         if (context.stop_token().stop_requested()) ++asked_to_stop;
                       })}};
  const std::vector<TaskId> ids = database.client().enqueue_many(work, std::vector<nlohmann::json>(3, no_args));
  REQUIRE(eventually([&] { return gate.arrived() == 3; }));
  auto stopped = std::async(std::launch::async, [&] { return worker.stop(); });
  const TaskId late = database.client().enqueue(work, no_args);
  CHECK(stopped.wait_for(50ms) == std::future_status::timeout);
  gate.open();
  const runtime::ShutdownResult result = stopped.get();
  CHECK(result.interrupted + result.left_behind == 0);
  CHECK(asked_to_stop == 0);
  for (const TaskId id : ids) CHECK(database.history_of(id) == "1 succeeded false");
  CHECK(database.attempts_of(late).size() <= 1);  // it came before or after the stop: not half
}

TEST_CASE("a worker that waits for its handlers to finish hears of their cancellation") {
  TestDatabase database;
  std::atomic<int> started{0};
  RunningWorker worker{database,
                       {throws_when_asked_to_stop(started)},
                       {.heartbeat = 5min, .lease = 20min, .grace = 10min, .poll_interval = 10min}};
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return started == 1; }));
  auto stopped = std::async(std::launch::async, [&] { return worker.stop(); });
  REQUIRE(eventually([&] {  // it claims no more
    return database.value(
               "select count(*) as value from pg_stat_activity where datname = current_database() and application_name "
               "= $1",
               db::Params{}.add(database.application() + " claimer")) == "0";
  }));
  database.run("select dogged.cancel($1::bigint)", db::Params{}.add(id));
  CHECK(stopped.get().interrupted == 0);
  CHECK(database.status_of(id) == "cancelled");
}

TEST_CASE("a worker that waits for its handlers is stopping, and serves its queues no more") {
  TestDatabase database;
  Gate gate;
  RunningWorker worker{database,
                       {registered(work, [&](Context&, const nlohmann::json&) { gate.wait(); })},
                       {.heartbeat = 5min, .lease = 20min, .grace = 10min, .poll_interval = 10min}};
  const auto state = [&] { return database.value("select state as value from dogged.worker_stats"); };
  database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  CHECK(state() == "live");
  auto stopped = std::async(std::launch::async, [&] { return worker.stop(); });
  CHECK(eventually([&] { return state() == "stopping"; }));
  const TaskId late = database.client().enqueue(work, no_args);
  CHECK(database.value("select state as value from dogged.task_overview where id = $1::bigint",
                       db::Params{}.add(late)) == "is due, but no worker serves its queue and knows it");
  gate.open();
  CHECK(stopped.get().interrupted == 0);
  CHECK(state() == "stopped");
}

TEST_CASE("tasks that were claimed and not started are given back at once, and no attempt is spent") {
  TestDatabase database;
  Gate gate;
  RunningWorker worker{database,
                       {registered(work,
                                   [&](Context&, const nlohmann::json& args) {
                                     if (args.contains("hold")) gate.wait();
                                   })},
                       {.queues = {{"default", 1}}}};
  Client client = database.client();
  client.enqueue_many(work, std::vector<nlohmann::json>(50, no_args));  // quick ones, so that it takes several at once
  REQUIRE(eventually([&] { return database.value("select count(*) as value from dogged.task_attempts") == "50"; }));
  const std::vector<TaskId> ids = client.enqueue_many(work, std::vector<nlohmann::json>(10, {{"hold", true}}));
  REQUIRE(eventually([&] {
    return gate.arrived() == 1 &&
           database.value("select count(*) as value from dogged.tasks where status = 'running'") == "10";
  }));

  auto stopped = std::async(std::launch::async, [&] { return worker.stop(); });
  CHECK(eventually([&] {
    return database.value(
               "select count(*) as value from dogged.tasks where status = 'pending' and attempt = 0 and "
               "worker_id is null and claimed_at is null and ready_position < 0") == "9";
  }));
  gate.open();
  CHECK(stopped.get().given_back == 9);
  CHECK(database.history_of(ids.front()) == "1 succeeded false");
  CHECK(database.value("select count(*) as value from dogged.task_attempts") == "51");

  RunningWorker other{database, {registered(work, [](Context&, const nlohmann::json&) {})}};
  for (const TaskId id : ids) {
    REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
    CHECK(database.history_of(id) == "1 succeeded false");
  }
}

TEST_CASE("past the grace period the stop token is set, and a handler that returns then has succeeded") {
  TestDatabase database;
  std::atomic<int> started{0};
  std::atomic<bool> asked{false};
  RunningWorker worker{database,
                       {registered(work,
                                   [&](Context& context, const nlohmann::json&) {
                                     ++started;
                                     asked = wait_for_stop_token(context);
                                   })},
                       stops_by_token()};
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return started == 1; }));
  CHECK(worker.stop().interrupted == 0);
  CHECK(asked);
  CHECK(database.history_of(id) == "1 succeeded false");
}

TEST_CASE(
    "a handler that throws after the stop token was set is interrupted: no retry spent, pending again at "
    "once") {
  TestDatabase database;
  std::atomic<int> started{0};
  RunningWorker worker{
      database,
      {throws_when_asked_to_stop(started, {.retry = Fixed{.intervals = {1h}}, .auto_retry_for = {"*"}})},
      stops_by_token()};
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return started == 1; }));
  (void)worker.stop();
  check_is_interrupted(database, id);
  CHECK(database.value("select error_message as value from dogged.task_attempts") == "asked to stop");
  check_runs_elsewhere(database, id);
}

TEST_CASE(
    "a handler that ignores the stop token is recorded as interrupted, and what it does later does not "
    "count") {
  TestDatabase database;
  std::thread{[] {}}.join();  // with the first thread a sanitizer starts one of its own
  const auto threads_before = count_threads();
  Gate gate;
  RunningWorker worker{database, {registered(work, [&](Context&, const nlohmann::json&) { gate.wait(); })}, hasty()};
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  CHECK(worker.stop().interrupted == 1);
  check_is_interrupted(database, id);
  check_runs_elsewhere(database, id);

  gate.open();  // its thread uses the worker until it ends
  CHECK(eventually([&] { return count_threads() <= threads_before; }));
  CHECK(database.history_of(id) == "1 interrupted true, 2 succeeded false");
}

TEST_CASE("an interrupted task wakes a worker that sleeps") {
  TestDatabase database;
  Gate begun;
  begun.open();
  const auto handler = registered(work, [&](Context& context, const nlohmann::json&) {
    begun.wait();
    if (context.attempt() > 1) return;
    wait_for_stop_token(context);
    throw std::runtime_error{"told to stop"};
  });
  RunningWorker first{database, {handler}, stops_by_token()};
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return begun.arrived() == 1; }));
  RunningWorker sleeper{database, {handler}, {.poll_interval = 10min}};
  REQUIRE(worker_is_asleep(database, sleeper.id()));
  first.stop();
  CHECK(eventually([&] { return database.history_of(id) == "1 interrupted true, 2 succeeded false"; }));
}

TEST_CASE("a failure within the grace period is a failure, not an interruption") {
  TestDatabase database;
  Gate gate;
  RunningWorker worker{database, {registered(work, [&](Context&, const nlohmann::json&) {
                         gate.wait();
                         throw TaskError{"BROKEN", "really"};
                       })}};
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  auto stopped = std::async(std::launch::async, [&] { return worker.stop(); });
  gate.open();
  CHECK(stopped.get().interrupted == 0);
  CHECK(database.history_of(id) == "1 failed false");
}

TEST_CASE("a table that another session keeps locked does not hold up a shutdown") {
  TestDatabase database;
  const auto sink = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(100);
  runtime::WakeFd stop;
  runtime::Worker worker{{.database = database.settings_of("worker"), .name = "stopped", .poll_interval = 10min},
                         runtime::make_definitions({registered(work, [](Context&, const nlohmann::json&) {}, {})}),
                         std::make_shared<spdlog::logger>("log", sink),
                         stop};
  std::thread thread{[&] { worker.run(); }};
  const bool sleeps = worker_is_asleep(database, worker.id().value());
  db::Connection user{database.settings()};
  bool waits = false;
  user.transaction([&] {
    user.run({"lock", "lock table dogged.tasks_live in access exclusive mode"});
    db::Connection other{database.settings()};
    other.run({"notify", "select pg_notify('dogged.wake', '')"});
    waits = eventually([&] {
      return database.value(
                 "select count(*) > 0 as value from pg_stat_activity where datname = current_database() and "
                 "wait_event_type = 'Lock' and "
                 "application_name = $1",
                 db::Params{}.add(database.application() + " claimer")) == "t";
    });
    stop.wake();
    thread.join();  // while the table is locked
  });
  REQUIRE(sleeps);
  REQUIRE(waits);
  CHECK(database.value("select stopped_at is not null as value from dogged.workers") == "t");
  // The worker broke off the statement that gives tasks back. The worker did not wait for the server's timeout.
  std::string log;
  for (const std::string& line : sink->last_formatted()) log += line;
  INFO(log);
  CHECK(test::contains(log, "claimer: no answer for"));
  CHECK_FALSE(test::contains(log, "statement timeout"));
}
