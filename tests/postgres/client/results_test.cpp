// Results, waiting for them, and the client's calls that change a task.
#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "sql/client.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

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
using test::work;

namespace {

struct Sum {
  int total = 0;
};
void to_json(nlohmann::json& json, const Sum& sum) { json = {{"total", sum.total}}; }
void from_json(const nlohmann::json& json, Sum& sum) { json.at("total").get_to(sum.total); }

constexpr Task<std::vector<int>, Sum> add{"add"};

detail::RegisteredTask adder() {
  return registered(add, [](Context&, const std::vector<int>& numbers) {
    Sum sum;
    for (const int number : numbers) sum.total += number;
    return sum;
  });
}

detail::RegisteredTask gated(Gate& gate) {
  return registered(work, [&gate](Context&, const nlohmann::json&) { gate.wait(); });
}

bool has_status(TestDatabase& database, TaskId id, const std::string& status) {
  return eventually([&] { return database.status_of(id) == status; });
}

/// Ends the server's side of all connections of this schema's clients.
void end_client_backends(TestDatabase& database) {
  database.run(
      "select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() and "
      "application_name = 'dogged client' and "
      "query "
      "like '%' || $1 || '.%'",
      db::Params{}.add(database.schema()));
}

/// The payloads on `channel` up to a notification that the test sends itself with the payload `last`.
std::vector<std::string> heard_until(db::Connection& listener, db::Channel channel, const std::string& last) {
  std::vector<std::string> payloads;
  const bool came = eventually([&] {
    for (const db::Notification& one : listener.wait(100ms, -1)) {
      if (one.channel != channel) continue;
      if (one.payload == last) return true;
      payloads.push_back(one.payload);
    }
    return false;
  });
  REQUIRE(came);
  return payloads;
}

}  // namespace

TEST_CASE("a wait gives the result of a task, as JSON by its id and in its type by its key") {
  TestDatabase database;
  Client client = database.client();
  RunningWorker worker{database, {adder(), registered(work, [](Context&, const nlohmann::json&) {})}};
  const TaskId id = client.enqueue(add, {1, 2, 39});

  const TaskResult<Sum> sum = client.wait(add, id, 20s);
  REQUIRE(sum.has_succeeded());
  CHECK(sum.result.value().total == 42);
  const TaskOutcome outcome = client.wait(id, 0ms);
  CHECK(outcome.id == id);
  CHECK(outcome.name == "add");
  CHECK(outcome.status == TaskStatus::succeeded);
  CHECK(nlohmann::json::parse(outcome.result_json) == nlohmann::json{{"total", 42}});
  CHECK(outcome.attempts == 1);
  CHECK(outcome.error_code.empty());

  const TaskOutcome without = client.wait(work, client.enqueue(work, no_args), 20s);
  CHECK(without.has_succeeded());
  CHECK(without.result_json.empty());
}

TEST_CASE("a wait tells how a task failed, was cancelled or expired") {
  TestDatabase database;
  Client client = database.client();
  RunningWorker worker{
      database,
      {registered(work,
                  [](Context&, const nlohmann::json&) {
                    throw TaskError{"HTTP_404", "no such page"};
                  },
                  {.retry = Fixed{.interval = 1ms, .max_retries = 1}, .auto_retry_for = {"HTTP_404"}})},
      {.heartbeat = 50ms, .lease = 10s}};
  const TaskOutcome failed = client.wait(client.enqueue(work, no_args), 20s);
  CHECK(failed.status == TaskStatus::failed);
  CHECK(failed.error_code == "HTTP_404");
  CHECK(failed.error_message == "no such page");
  CHECK(failed.attempts == 2);

  const TaskId cancelled = client.enqueue(work, no_args, {.delay = 1h});
  CHECK(client.cancel(cancelled) == CancelResult::cancelled);
  CHECK(client.wait(cancelled, 20s).status == TaskStatus::cancelled);

  database.run("select dogged.create_queue('lonely')");
  const TaskId expired = client.enqueue(add, {}, {.queue = "lonely", .expires_in = 1ms});
  const TaskResult<Sum> outcome = client.wait(add, expired, 20s);
  CHECK(outcome.status == TaskStatus::expired);
  CHECK_FALSE(outcome.result.has_value());
}

TEST_CASE("a wait whose time is over first tells where the task stands") {
  TestDatabase database;
  Client client = database.client();
  const TaskId id = client.enqueue(work, no_args);
  CHECK(client.wait(id, 0ms).status == TaskStatus::pending);
  Gate gate;
  RunningWorker worker{database, {gated(gate)}};
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  const TaskOutcome running = client.wait(id, 50ms);
  CHECK(running.status == TaskStatus::running);
  CHECK_FALSE(running.has_ended());
  CHECK(running.attempts == 1);
  gate.open();
  CHECK(client.wait(id, 20s).has_succeeded());
}

TEST_CASE("a wait for what cannot be waited for is refused, and the error says why") {
  TestDatabase database;
  Client client = database.client();
  const auto refused = [](auto&& call) { return std::string{error_of<InvalidInput>(call).what()}; };
  CHECK(contains(refused([&] { (void)client.wait(4711, 1s); }), "there is no task 4711"));
  const TaskId id = client.enqueue(work, no_args);
  CHECK(contains(refused([&] { (void)client.wait(add, id, 0ms); }), "is work, not add"));
  CHECK(contains(refused([&] { (void)client.wait(id, -1ms); }), "is -1 ms, and must be 0 to 24 h"));
  CHECK(contains(refused([&] { (void)client.wait(id, 25h); }), "must be 0 to 24 h"));

  constexpr Task<std::vector<int>, std::string> other_type{"add"};
  RunningWorker worker{database, {adder()}};
  const TaskId sum = client.enqueue(add, {1});
  CHECK(contains(refused([&] { (void)client.wait(other_type, sum, 20s); }), "is not what its key says"));
  CHECK(client.wait(sum, 0ms).has_succeeded());
}

TEST_CASE("a wait holds up neither other calls of its client nor other waits") {
  TestDatabase database;
  Client client = database.client();
  Gate gate;
  RunningWorker worker{database, {gated(gate), adder()}};
  std::vector<std::future<TaskOutcome>> waits;
  for (int i = 0; i < 6; ++i) {
    const TaskId id = client.enqueue(work, no_args);
    waits.push_back(std::async(std::launch::async, [&client, id] { return client.wait(id, 20s); }));
  }
  for (int i = 0; i < 3; ++i) CHECK(client.wait(add, client.enqueue(add, {i, 1}), 20s).result.value().total == i + 1);
  gate.open();
  for (auto& wait : waits) CHECK(wait.get().has_succeeded());
}

TEST_CASE("a client that waits is notified when the task ends, and no client is if none waits") {
  TestDatabase database;
  db::Connection listener{database.settings()};
  listener.listen(db::Channel::ended);
  listener.listen(db::Channel::waiting);
  Gate gate, other_stopped;
  RunningWorker worker{
      database,
      {registered(work,
                  [&](Context& context, const nlohmann::json& args) {
                    if (args.contains("hold")) gate.wait();
                    if (args.contains("until_stopped")) {
                      const std::stop_callback open{context.stop_token(), [&] { other_stopped.open(); }};
                      other_stopped.wait();
                      throw std::runtime_error{"stopped"};
                    }
                  })},
      {.queues = {{"default", 2}}}};
  Client client = database.client();
  for (const TaskId id : client.enqueue_many(work, std::vector<nlohmann::json>(50, no_args))) {
    REQUIRE(has_status(database, id, "succeeded"));
  }
  database.run("select pg_notify('dogged.ended', 'the test')");
  CHECK(heard_until(listener, db::Channel::ended, "the test").empty());

  const TaskId awaited = client.enqueue(work, {{"hold", 1}});
  const TaskId other = client.enqueue(work, {{"until_stopped", 1}});
  auto wait = std::async(std::launch::async, [&] { return client.wait(awaited, 20s); });
  CHECK(heard_until(listener, db::Channel::waiting, std::to_string(awaited)).empty());
  // The worker hears of this after it has heard of the wait.
  REQUIRE(has_status(database, other, "running"));
  CHECK(client.cancel(other) == CancelResult::requested);
  other_stopped.wait();
  REQUIRE(has_status(database, other, "cancelled"));
  gate.open();
  CHECK(wait.get().has_succeeded());
  CHECK(heard_until(listener, db::Channel::ended, std::to_string(awaited)).empty());
}

TEST_CASE("a wait finds out by asking where no worker listens") {
  TestDatabase database;
  Client client = database.client();
  RunningWorker worker{database, {adder()}, {.poll_interval = 20ms, .poll_only = true}};
  CHECK(client.wait(add, client.enqueue(add, {40, 2}), 20s).result.value().total == 42);
}

TEST_CASE("a wait outlives its connection") {
  TestDatabase database;
  Client client = database.client();
  Gate gate;
  RunningWorker worker{database, {gated(gate)}};
  db::Connection listener{database.settings()};
  listener.listen(db::Channel::waiting);
  const TaskId id = client.enqueue(work, no_args);
  auto wait = std::async(std::launch::async, [&] { return client.wait(id, 20s); });
  CHECK(heard_until(listener, db::Channel::waiting, std::to_string(id)).empty());
  end_client_backends(database);
  gate.open();
  CHECK(wait.get().has_succeeded());
  CHECK(client.wait(client.enqueue(work, no_args), 20s).has_succeeded());  // and so does the client
}

TEST_CASE("a result that is too long ends its task, and says by how much and what the limit is") {
  TestDatabase database;
  database.run("update dogged.settings set max_result_bytes = 1000");
  constexpr Task<int, std::string> repeat{"repeat"};
  RunningWorker worker{database, {registered(repeat, [](Context&, const int& times) {
                         return std::string(static_cast<std::size_t>(times), 'x');
                       })}};
  Client client = database.client();
  CHECK(client.wait(repeat, client.enqueue(repeat, 998), 20s).result.value().size() == 998);  // and two quotes
  const TaskOutcome too_long = client.wait(client.enqueue(repeat, 999), 20s);
  CHECK(too_long.status == TaskStatus::failed);
  CHECK(too_long.error_code == "INVALID_RESULT");
  CHECK(too_long.error_message ==
        "the result has 1001 bytes as JSON; the limit is 1000 (max_result_bytes in the table settings)");
  CHECK(too_long.result_json.empty());
}

TEST_CASE("a result is measured as the text that its readers are handed, however short its numbers were") {
  TestDatabase database;
  database.run("update dogged.settings set max_result_bytes = 1000");
  constexpr Task<int, std::vector<double>> large{"large"};
  RunningWorker worker{database, {registered(large, [](Context&, const int& how_many) {
                         return std::vector<double>(static_cast<std::size_t>(how_many), 1e308);
                       })}};
  Client client = database.client();
  CHECK(client.wait(large, client.enqueue(large, 3), 20s).has_succeeded());
  CHECK(database.value("select octet_length(result::text) <= 1000 as value from dogged.tasks") == "t");
  CHECK(client.wait(client.enqueue(large, 4), 20s).error_code == "INVALID_RESULT");
}

TEST_CASE("a client cancels what is pending, asks what runs to stop, and says where there was nothing to do") {
  TestDatabase database;
  Client client = database.client();
  const TaskId pending = client.enqueue(work, no_args, {.delay = 1h});
  CHECK(client.cancel(pending) == CancelResult::cancelled);
  CHECK(database.status_of(pending) == "cancelled");
  CHECK(client.cancel(pending) == CancelResult::ended);
  CHECK(client.cancel(4711) == CancelResult::not_found);

  Gate stopped;
  RunningWorker worker{database, {registered(work, [&](Context& context, const nlohmann::json&) {
                         const std::stop_callback open{context.stop_token(), [&] { stopped.open(); }};
                         stopped.wait();
                         throw std::runtime_error{"stopped"};
                       })}};
  const TaskId running = client.enqueue(work, no_args);
  REQUIRE(has_status(database, running, "running"));
  CHECK(client.cancel(running) == CancelResult::requested);
  CHECK(client.wait(running, 20s).status == TaskStatus::cancelled);
}

TEST_CASE("a client replays a dead letter once, and says where there was none") {
  TestDatabase database;
  Client client = database.client();
  const TaskId id = client.enqueue(work, no_args, {.expires_in = 1h});
  CHECK(client.replay(id) == ReplayResult::not_failed);
  CHECK(client.replay(4711) == ReplayResult::not_found);
  std::atomic<bool> fails{true};
  RunningWorker worker{database, {registered(work, [&](Context&, const nlohmann::json&) {
                         if (fails) throw TaskError{"HTTP_404", "no such page"};
                       })}};
  REQUIRE(client.wait(id, 20s).status == TaskStatus::failed);
  fails = false;
  CHECK(client.replay(id) == ReplayResult::replayed);
  const TaskOutcome outcome = client.wait(id, 20s);
  CHECK(outcome.has_succeeded());
  CHECK(outcome.attempts == 2);
  CHECK(client.replay(id) == ReplayResult::not_failed);
}

TEST_CASE("a client reschedules what is pending, within the time that the task has") {
  TestDatabase database;
  Client client = database.client();
  const TaskId id = client.enqueue(work, no_args, {.delay = 1h, .expires_in = 4h});
  const auto due_in = [&] {
    return database.value(
        "select round(extract(epoch from run_at - enqueued_at) / 3600) as value from dogged.tasks_live");
  };
  CHECK(client.reschedule(id, 2h) == RescheduleResult::rescheduled);
  CHECK(due_in() == "2");
  CHECK(client.reschedule(id, std::chrono::system_clock::now() + 3h) == RescheduleResult::rescheduled);
  CHECK(due_in() == "3");
  const auto refused = [&](milliseconds delay) {
    return std::string{error_of<InvalidInput>([&] { client.reschedule(id, delay); }).what()};
  };
  CHECK(contains(refused(5h), "is not before its expires_at"));
  CHECK(contains(refused(-1ms), "delay is -1 ms; it must be 0 to 10 years"));
  CHECK(contains(refused(24h * 3651), "it must be 0 to 10 years"));
  CHECK(due_in() == "3");
  CHECK(client.reschedule(4711, 1h) == RescheduleResult::not_found);

  Gate gate;
  RunningWorker worker{database, {gated(gate)}};
  CHECK(client.reschedule(id, 0ms) == RescheduleResult::rescheduled);
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  CHECK(client.reschedule(id, 1h) == RescheduleResult::running);
  gate.open();
  REQUIRE(client.wait(id, 20s).has_succeeded());
  CHECK(client.reschedule(id, 1h) == RescheduleResult::ended);
}

TEST_CASE("an answer that was lost is given again, and an older try that arrives late changes nothing") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args, {.delay = 1h});
  const std::string producer = "00000000-0000-4000-8000-000000000001";
  const auto cancel = [&](std::int64_t call) {
    return db::one(database.connection().run(sql::CancelOnce{.task_id = id, .producer = producer, .call = call}))
        .answer;
  };
  const auto made = [&](std::int64_t call) {
    return database.connection().run(sql::AnswerMade{.producer = producer, .call = call});
  };
  CHECK(made(1).empty());
  CHECK(cancel(1) == "cancelled");
  CHECK(db::one(made(1)).answer == "cancelled");
  CHECK_THROWS_AS(cancel(1), InvalidInput);
  CHECK(cancel(2) == "ended");
  CHECK(db::one(made(2)).answer == "ended");
}

TEST_CASE("an older try to replay or reschedule that arrives late changes nothing") {
  TestDatabase database;
  Client client = database.client();
  const TaskId waiting = client.enqueue(work, no_args, {.delay = 1h});
  const std::string producer = "00000000-0000-4000-8000-000000000001";
  const auto reschedule = [&](std::int64_t call, std::int64_t delay_ms) {
    const sql::RescheduleOnce once{
        .task_id = waiting, .run_at_us = {}, .delay_ms = delay_ms, .producer = producer, .call = call};
    return db::one(database.connection().run(once)).answer;
  };
  const auto run_at = [&] {
    return database.value("select run_at as value from dogged.tasks where id = $1::bigint", db::Params{}.add(waiting));
  };
  CHECK(reschedule(1, 7'200'000) == "rescheduled");
  CHECK(reschedule(2, 10'800'000) == "rescheduled");
  const std::string at = run_at();
  CHECK_THROWS_AS(reschedule(1, 7'200'000), InvalidInput);
  CHECK(run_at() == at);

  const TaskId failed = client.enqueue(work, no_args, {.delay = 1h});
  const auto replay = [&](std::int64_t call) {
    return db::one(database.connection().run(
                       sql::ReplayOnce{.task_id = failed, .steps = "keep", .producer = producer, .call = call}))
        .answer;
  };
  const auto fail = [&] {
    database.run("update dogged.tasks set status = 'failed', finished_at = now() where id = $1::bigint",
                 db::Params{}.add(failed));
  };
  fail();
  CHECK(replay(3) == "replayed");
  fail();  // again, before the late try arrives
  CHECK_THROWS_AS(replay(3), InvalidInput);
  CHECK(database.status_of(failed) == "failed");
  CHECK(database.value("select string_agg(action, ' ' order by id) as value from dogged.audit") ==
        "reschedule reschedule replay");
}
