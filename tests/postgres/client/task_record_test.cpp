// Client::find and Client::attempts: a task as the database has it.
#include <chrono>
#include <string>

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
using test::work;

namespace {

/// A client of the role, on the schema of the database.
Client client_as(const TestDatabase& database, const std::string& role) {
  const db::Settings settings = database.settings_of(role);
  return Client{settings.url, {.schema = settings.schema, .retry = NoRetry{}}};
}

constexpr TaskOptions twice{.retry = Fixed{.interval = 1ms, .max_retries = 1, .jitter = Jitter::none()},
                            .auto_retry_for = {"BUSY"},
                            .redact = {"/token"}};

}  // namespace

TEST_CASE("find gives a task with each of its attempts, as the views show them") {
  TestDatabase database;
  RunningWorker worker{database,
                       {registered(
                           work,
                           [](Context& context, const nlohmann::json&) {
                             if (context.attempt() > 1) return;
                             throw TaskError{"BUSY", "not now"}.details({{"n", 1}}).retry_after(2ms);
                           },
                           twice)}};
  const TaskId id =
      database.client().enqueue(work, {{"token", "secret"}, {"n", 1}}, {.trace_context = "t", .tags = {"a", "b"}});
  Client viewer = client_as(database, "viewer");
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));

  const auto task = viewer.find(id);
  REQUIRE(task);
  CHECK(task->id == id);
  CHECK(task->name == "work");
  CHECK(task->status == TaskStatus::succeeded);
  CHECK(task->state == "succeeded");
  CHECK(nlohmann::json::parse(task->args_json) == nlohmann::json{{"token", "[redacted]"}, {"n", 1}});
  CHECK(task->attempts == 2);
  CHECK(task->retry_count == 1);
  CHECK(task->max_retries == 1);
  CHECK(task->trace_context == "t");
  CHECK(task->tags == std::vector<std::string>{"a", "b"});
  CHECK(task->finished_at == task->since);
  CHECK(task->next_run_at == std::nullopt);

  REQUIRE(task->timeline.size() == 2);
  const AttemptRecord& first = task->timeline[0];
  CHECK(first.outcome == AttemptOutcome::failed);
  CHECK(first.error_code == "BUSY");
  CHECK(first.error_message == "not now");
  CHECK(nlohmann::json::parse(first.error_details_json) == nlohmann::json{{"n", 1}});
  CHECK(first.will_retry);
  CHECK(first.policy == "fixed interval=1ms max_retries=1 jitter=none");
  CHECK(first.retry_after == 2ms);
  CHECK(first.delay == 2ms);
  CHECK(first.next_retry_at == *first.finished_at + 2ms);
  const AttemptRecord& second = task->timeline[1];
  CHECK(second.attempt == 2);
  CHECK(second.outcome == AttemptOutcome::succeeded);
  CHECK(second.due_at == first.next_retry_at);
  CHECK(second.started_at >= second.due_at);
  CHECK_FALSE(second.will_retry);
  CHECK(second.policy.empty());
  CHECK(viewer.attempts(id).size() == 2);
}

TEST_CASE("the attempt that runs is the last of a task's attempts, without an outcome") {
  TestDatabase database;
  Gate gate;
  RunningWorker worker{database, {registered(work, [&](Context&, const nlohmann::json&) { gate.wait(); })}};
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return database.status_of(id) == "running"; }));
  const auto attempts = client_as(database, "operator").attempts(id);
  REQUIRE(attempts.size() == 1);
  CHECK(attempts[0].outcome == std::nullopt);
  CHECK(attempts[0].finished_at == std::nullopt);
  CHECK_FALSE(attempts[0].worker.empty());
  gate.open();
}

TEST_CASE("a task that is not there has no record, and one that waits has no attempts") {
  TestDatabase database;
  Client viewer = client_as(database, "viewer");
  CHECK(viewer.find(4711) == std::nullopt);
  CHECK(viewer.attempts(4711).empty());
  const TaskId id = database.client().enqueue(work, no_args, {.delay = 1h});
  const auto task = viewer.find(id);
  REQUIRE(task);
  CHECK(task->status == TaskStatus::pending);
  CHECK(task->next_run_at == task->run_at);
  CHECK(task->timeline.empty());
  CHECK(task->worker.empty());
  CHECK(task->max_retries == std::nullopt);
}

TEST_CASE("a task keeps the max_retries that was applied, whatever its definition says later") {
  TestDatabase database;
  const auto failed_under = [&](const RetryPolicy& policy) {
    RunningWorker worker{database,
                         {registered(work,
                                     [](Context&, const nlohmann::json&) {
                                       throw TaskError{"BUSY", "not now"};
                                     },
                                     {.retry = policy, .auto_retry_for = {"BUSY"}})}};
    const TaskId id = database.client().enqueue(work, no_args);
    REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
    return id;
  };
  const auto shown = [&](TaskId id) {
    return database.value("select max_retries as value from dogged.task_overview where id = " + std::to_string(id));
  };
  const TaskId of_list = failed_under(Fixed{.intervals = {1ms, 1ms, 1ms}});
  const TaskId of_one = failed_under(Linear{.initial = 1ms, .increment = 0ms, .max_retries = 2});
  const TaskId of_none = failed_under(NoRetry{});
  CHECK(shown(of_list) == "3");
  CHECK(shown(of_one) == "2");
  CHECK(shown(of_none) == "0");
  CHECK(database.value("select policy as value from dogged.task_attempts where task_id = " + std::to_string(of_one) +
                       " and not will_retry") == "linear initial=1ms increment=0ms max_retries=2 jitter=25%");
}

TEST_CASE("a producer's login may not read tasks, and is told so") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  Client producer = client_as(database, "producer");
  try {
    static_cast<void>(producer.find(id));
    FAIL("a producer has read a task");
  } catch (const DatabaseError& error) {
    CHECK(error.sqlstate() == "42501");
  }
  CHECK_THROWS_AS(producer.attempts(id), DatabaseError);
  CHECK(producer.enqueue(work, no_args) == id + 1);  // the connection is as good as before
}
