// Timeouts and cancellation: how a handler is asked to stop, and what its attempt has come to.
#include <atomic>
#include <chrono>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::eventually;
using test::Gate;
using test::no_args;
using test::other_work;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::wait_for_stop_token;
using test::work;

namespace {

std::string cancel(TestDatabase& database, TaskId id) {
  return database.value("select dogged.cancel($1::bigint) as value", db::Params{}.add(id));
}

/// A handler that runs until it is asked to stop, and then throws or returns.
struct Stoppable {
  bool throws = true;
  std::atomic<int> begun{0};
  std::atomic<StopReason> reason{StopReason::none};
  std::atomic<bool> stopped_early{false};

  detail::RegisteredTask task(const TaskOptions& options = {}) {
    return registered(
        work,
        [this](Context& context, const nlohmann::json&) {
          ++begun;
          wait_for_stop_token(context);
          stopped_early = Context::Clock::now() < context.deadline();
          reason = context.stop_reason();
          if (throws) throw TaskError{"STOPPED", "asked to stop"};
        },
        options);
  }
};

}  // namespace

TEST_CASE("the stop token is set at the deadline, and a handler that throws then has timed out") {
  TestDatabase database;
  Stoppable stoppable;
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {stoppable.task({.timeout = 100ms})}};
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  CHECK(stoppable.reason == StopReason::timeout);
  CHECK_FALSE(stoppable.stopped_early);
  CHECK(database.history_of(id) == "1 timed_out false");
  CHECK(database.value("select error_code || ': ' || error_message as value from dogged.task_attempts") ==
        "TIMEOUT: asked to stop");
  CHECK(database.value("select finished_at - started_at >= interval '100 ms' as value from dogged.task_attempts") ==
        "t");
}

TEST_CASE("a timeout is retried where auto_retry_for lists TIMEOUT") {
  TestDatabase database;
  Stoppable stoppable;
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{
      database, {stoppable.task({.retry = Fixed{.intervals = {1ms}}, .auto_retry_for = {"TIMEOUT"}, .timeout = 20ms})}};
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  CHECK(database.history_of(id) == "1 timed_out true, 2 timed_out false");
}

TEST_CASE("a handler that returns after its deadline has succeeded") {
  TestDatabase database;
  Stoppable stoppable{.throws = false};
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {stoppable.task({.timeout = 20ms})}};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 succeeded false");
}

TEST_CASE("a handler that ends in time knows nothing of its timeout") {
  TestDatabase database;
  std::atomic<bool> stopped{false};
  const auto handler = registered(
      work, [&](Context& context, const nlohmann::json&) { stopped = context.stop_token().stop_requested(); },
      {.timeout = 10s});
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {handler}};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK_FALSE(stopped);
}

TEST_CASE("a handler that ignores its stop token is given up: its attempt ends, its thread is replaced and counted",
          "[own_process]") {
  TestDatabase database;
  Gate gate;
  const auto ignores = registered(work, [&](Context&, const nlohmann::json&) { gate.wait(); }, {.timeout = 20ms});
  const auto other = registered(other_work, [](Context&, const nlohmann::json&) {});
  Client client = database.client();
  const TaskId stuck = client.enqueue(work, no_args);
  RunningWorker worker{
      database, {ignores, other}, {.queues = {{"default", 1}}, .heartbeat = 20ms, .lease = 5s, .stop_grace = 20ms}};
  REQUIRE(eventually([&] { return database.status_of(stuck) == "failed"; }));
  CHECK(database.history_of(stuck) == "1 timed_out false");
  const TaskId next = client.enqueue(other_work, no_args);
  CHECK(eventually([&] { return database.status_of(next) == "succeeded"; }));  // its only thread was replaced
  CHECK(eventually([&] { return database.value("select abandoned_threads as value from dogged.workers") == "1"; }));

  gate.open();  // its late end changes nothing
  CHECK(eventually([&] { return database.value("select abandoned_threads as value from dogged.workers") == "0"; }));
  CHECK(database.history_of(stuck) == "1 timed_out false");
}

TEST_CASE("a worker that carries more abandoned threads than it may shuts down in order, to start anew",
          "[own_process]") {
  TestDatabase database;
  static Gate& gate = *new Gate;  // an abandoned thread may look at the gate when the test has ended
  const auto ignores = registered(work, [&](Context&, const nlohmann::json&) { gate.wait(); }, {.timeout = 20ms});
  Client client = database.client();
  client.enqueue_many(work, std::vector<nlohmann::json>(3, no_args));
  RunningWorker worker{database, {ignores}, {.stop_grace = 20ms, .max_abandoned_threads = 2}};
  const runtime::ShutdownResult result = worker.wait();
  CHECK(result.has_too_many);
  CHECK(result.abandoned_threads > 0);
  CHECK(database.value("select stopped_at is not null as value from dogged.workers") == "t");
  CHECK(database.value("select count(*) as value from dogged.task_attempts where outcome = 'timed_out'") == "3");
  gate.open();
}

TEST_CASE("a running handler learns of its cancellation at once, and one that throws then is cancelled") {
  TestDatabase database;
  Stoppable stoppable;
  const TaskId id = database.client().enqueue(work, no_args);
  // Neither its heartbeat nor a poll can be what tells it.
  RunningWorker worker{database,
                       {stoppable.task({.retry = Fixed{.intervals = {1ms}}, .auto_retry_for = {"*"}})},
                       {.heartbeat = 5min, .lease = 20min, .poll_interval = 10min}};
  REQUIRE(eventually([&] { return stoppable.begun == 1; }));
  CHECK(cancel(database, id) == "requested");
  REQUIRE(eventually([&] { return database.status_of(id) == "cancelled"; }));
  CHECK(stoppable.reason == StopReason::cancelled);
  CHECK(database.history_of(id) == "1 cancelled false");
  CHECK(database.value("select error_code || ': ' || error_message as value from dogged.task_attempts") ==
        "CANCELLED: asked to stop");
  CHECK(cancel(database, id) == "ended");
}

TEST_CASE("without LISTEN a running handler learns of its cancellation by polling") {
  TestDatabase database;
  Stoppable stoppable;
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{
      database, {stoppable.task()}, {.heartbeat = 5min, .lease = 20min, .poll_interval = 20ms, .poll_only = true}};
  REQUIRE(eventually([&] { return stoppable.begun == 1; }));
  CHECK(cancel(database, id) == "requested");
  CHECK(eventually([&] { return database.status_of(id) == "cancelled"; }));
}

TEST_CASE("a handler that succeeds although it was to be cancelled has succeeded") {
  TestDatabase database;
  Stoppable stoppable{.throws = false};
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {stoppable.task()}};
  REQUIRE(eventually([&] { return stoppable.begun == 1; }));
  CHECK(cancel(database, id) == "requested");
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
}

TEST_CASE("a failure that would be retried ends as cancelled, although its worker had not heard of the cancellation") {
  TestDatabase database;
  Gate gate;
  const auto fails = registered(work,
                                [&](Context&, const nlohmann::json&) {
                                  gate.wait();
                                  throw TaskError{"BUSY", "try again"};
                                },
                                {.retry = Fixed{.intervals = {1ms}}, .auto_retry_for = {"BUSY"}});
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{
      database, {fails}, {.heartbeat = 5min, .lease = 20min, .poll_interval = 10min, .poll_only = true}};
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  CHECK(cancel(database, id) == "requested");
  gate.open();
  REQUIRE(eventually([&] { return database.status_of(id) == "cancelled"; }));
  CHECK(database.history_of(id) == "1 cancelled false");
  CHECK(database.value("select retry_count as value from dogged.tasks") == "0");
}

TEST_CASE("a cancelled task that its worker gives back unstarted never runs") {
  TestDatabase database;
  Gate gate;
  std::atomic<int> runs{0};
  const auto handler = registered(work, [&](Context&, const nlohmann::json&) {
    if (++runs > 20) gate.wait();  // quick at first, so that tasks are claimed ahead
  });
  Client client = database.client();
  client.enqueue_many(work, std::vector<nlohmann::json>(400, no_args));
  auto worker = std::make_unique<RunningWorker>(
      database, std::vector{handler},
      runtime::WorkerSettings{.queues = {{"default", 1}}, .heartbeat = 5min, .lease = 20min, .poll_only = true});
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  database.run("select dogged.cancel(id) from dogged.tasks_live where status = 'running'");
  gate.open();
  worker.reset();
  RunningWorker another{database, {registered(work, [](Context&, const nlohmann::json&) {})}};
  REQUIRE(eventually([&] { return database.value("select count(*) as value from dogged.tasks_live") == "0"; }));
  CHECK(
      database.value("select count(*) as value from dogged.tasks t where t.cancel_requested_at is not null and exists "
                     "(select from dogged.task_attempts a where a.task_id = t.id and a.worker_id = $1::bigint)",
                     db::Params{}.add(another.id())) == "0");
}
