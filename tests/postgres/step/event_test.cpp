// Waits without a worker: Context::sleep and Context::wait_event, and dogged.emit, which ends the latter.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <dogged/transaction.hpp>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::error_of;
using test::eventually;
using test::no_args;
using test::no_polling;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::work;

namespace {

std::string standing(TestDatabase& database, TaskId id) {
  return database.value(
      "select concat_ws(' ', status, attempt, retry_count, losses, snoozes) as value from dogged.tasks where id = $1",
      db::Params{}.add(id));
}

/// A handler that waits for the event that its args name, and gives what came, or "nothing".
detail::RegisteredTask waits_for_event(milliseconds timeout) {
  static constexpr Task<nlohmann::json, nlohmann::json> waiting{"work"};
  return registered(waiting, [timeout](Context& context, const nlohmann::json& args) {
    return context.wait_event(args.at("event").get<std::string>(), timeout).value_or("nothing");
  });
}

nlohmann::json event(const std::string& name) { return {{"event", name}}; }

std::string result_of(TestDatabase& database, TaskId id) {
  return database.value("select result::text as value from dogged.tasks where id = $1", db::Params{}.add(id));
}

bool is_suspended(TestDatabase& database, TaskId id) {
  return database.status_of(id) == "pending" && database.history_of(id) == "1 snoozed true";
}

}  // namespace

TEST_CASE("a task that sleeps gives its worker back, and goes on there when the time is over") {
  TestDatabase database;
  std::atomic<int> begun{0};
  const auto handler = registered(work,
                                  [&](Context& context, const nlohmann::json&) {
                                    context.step("first", [&] { ++begun; });
                                    context.sleep(30ms);
                                    context.sleep(20ms, "second");
                                  },
                                  {.max_snoozes = 0});
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {handler}, no_polling()};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 snoozed true, 2 snoozed true, 3 succeeded false");
  CHECK(standing(database, id) == "succeeded 3 0 0");
  CHECK(begun == 1);
  CHECK(database.value("select bool_and(next.started_at >= a.next_retry_at) as value from dogged.task_attempts a "
                       "join dogged.task_attempts next on next.attempt = a.attempt + 1") == "t");
  CHECK(database.value("select string_agg(name, ' ' order by finished_at) as value from dogged.task_steps") ==
        "first sleep second");
  CHECK(database.value("select count(*) as value from dogged.task_waits") == "0");
}

TEST_CASE("a wait that is too short or too long fails the attempt, and says so") {
  const auto time = GENERATE(0ms, milliseconds{24h * 365} + 1ms);
  TestDatabase database;
  const auto handler = registered(work, [&](Context& context, const nlohmann::json&) { context.sleep(time, "nap"); });
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {handler}, no_polling()};
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  CHECK(database.value("select error_message as value from dogged.tasks") ==
        "the wait \"nap\" of " + std::to_string(time.count()) + " ms is not 1 ms to 365 days");
}

TEST_CASE("a task that has begun 10,000 attempts waits no more, so none sleeps for ever") {
  TestDatabase database;
  const auto handler = registered(work, [](Context& context, const nlohmann::json&) { context.sleep(1h); });
  const TaskId id = database.client().enqueue(work, no_args);
  database.run("update dogged.tasks_live set attempt = 9999");
  RunningWorker worker{database, {handler}};
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  CHECK(database.value("select error_code as value from dogged.tasks") == "INVALID_STEP");
}

TEST_CASE("a sleeping task that is rescheduled to run at once sleeps on until its time is over") {
  TestDatabase database;
  std::atomic<int> runs{0};
  const auto handler = registered(work, [&](Context& context, const nlohmann::json&) {
    ++runs;
    context.sleep(1h);
  });
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {handler}, no_polling()};
  REQUIRE(eventually([&] { return is_suspended(database, id); }));
  const std::string until = database.value("select until as value from dogged.task_waits");
  database.client().reschedule(id, 0ms);
  REQUIRE(eventually([&] { return database.history_of(id) == "1 snoozed true, 2 snoozed true"; }));
  CHECK(database.value("select until as value from dogged.task_waits") == until);
  CHECK(database.value("select next_retry_at as value from dogged.tasks_live") == until);
}

TEST_CASE("the view of what waits has each task that sleeps or waits for an event, until that is over") {
  TestDatabase database;
  Client client = database.client();
  const auto handler = registered(work, [](Context& context, const nlohmann::json& args) {
    if (args.contains("event")) {
      (void)context.wait_event(args.at("event").get<std::string>(), 2h);
    } else {
      context.sleep(1h, "nap");
    }
  });
  const TaskId sleeps = client.enqueue(work, no_args);
  const TaskId waits = client.enqueue(work, event("payment:42"));
  RunningWorker worker{database, {handler}, no_polling()};
  for (const TaskId id : {sleeps, waits}) REQUIRE(eventually([&] { return is_suspended(database, id); }));
  const auto waiting = [&] {
    return database.value(
        "select string_agg(concat_ws(' ', task_id, name, queue, waits_for, step, attempt, "
        "extract(epoch from until - since)::int), '; ' order by task_id) as value from dogged.waiting");
  };
  const auto states = [&] {
    return database.value("select string_agg(state, ', ' order by id) as value from dogged.task_overview");
  };
  CHECK(states() == "sleeps, waits for an event");
  const std::string sleeping = std::to_string(sleeps) + " work default sleep nap 1 3600";
  CHECK(waiting() == sleeping + "; " + std::to_string(waits) + " work default event payment:42 1 7200");
  client.emit("payment:42");
  CHECK(waiting() == sleeping);
  database.run("update dogged.task_waits set until = now()");
  CHECK(waiting() == "null");
}

TEST_CASE("an event resumes each task that waits for it, once, with its payload") {
  TestDatabase database;
  Client client = database.client();
  const TaskId first = client.enqueue(work, event("payment:42"));
  const TaskId second = client.enqueue(work, event("payment:42"));
  const TaskId other = client.enqueue(work, event("payment:43"));
  RunningWorker worker{database, {waits_for_event(1h)}, no_polling()};
  for (const TaskId id : {first, second, other}) REQUIRE(eventually([&] { return is_suspended(database, id); }));
  CHECK(client.emit("payment:42", {{"amount", 1200}}) == 2);
  for (const TaskId id : {first, second}) {
    REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
    CHECK(result_of(database, id) == R"({"amount": 1200})");
    CHECK(standing(database, id) == "succeeded 2 0 0");
  }
  CHECK(is_suspended(database, other));
  CHECK(client.emit("payment:42") == 0);
}

TEST_CASE("a payload of another type fails the attempt, and the message names the event") {
  TestDatabase database;
  Client client = database.client();
  const auto handler = registered(work, [](Context& context, const nlohmann::json&) {
    (void)context.wait_event<std::vector<int>>("payment:42", 1h);
  });
  const TaskId id = client.enqueue(work, no_args);
  RunningWorker worker{database, {handler}, no_polling()};
  REQUIRE(eventually([&] { return is_suspended(database, id); }));
  CHECK(client.emit("payment:42", {{"amount", 1200}}) == 1);
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  const std::string message = database.value("select error_message as value from dogged.tasks");
  CHECK(contains(message, "the payload of the event \"payment:42\" is of another type: "));
  CHECK(contains(message, "emit a payload that fits, and replay the task with its steps run again"));
  // The right event, and then the replay.
  CHECK(client.emit("payment:42", {1, 2}) == 0);
  client.replay(id, ReplaySteps::again);
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
}

TEST_CASE("what is left of ended tasks is forgotten without waiting for a transaction that has locked a part of it") {
  TestDatabase database;
  database.script(
      "insert into dogged.task_waits (task_id, name, attempt, for_event, began_at, until) "
      "select n, 'payment:' || n, 1, true, now(), now() from generate_series(1001, 1002) n");
  db::Connection emitter{database.settings()};
  emitter.transaction([&] {
    emitter.run({"lock", "select from dogged.task_waits where task_id = 1001 for update"});
    database.run("set statement_timeout = '5s'");
    CHECK(database.value("select dogged.forget_steps() as value") == "1");
  });
  CHECK(database.value("select dogged.forget_steps() as value") == "1");
}

TEST_CASE("an event that came before the wait is found, the latest of its name, without giving the worker back") {
  TestDatabase database;
  Client client = database.client();
  CHECK(client.emit("payment:42", 1) == 0);
  CHECK(client.emit("payment:42", 2) == 0);
  const TaskId id = client.enqueue(work, event("payment:42"));
  RunningWorker worker{database, {waits_for_event(1h)}, no_polling()};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 succeeded false");
  CHECK(result_of(database, id) == "2");
}

TEST_CASE("a wait whose time is over resumes with nothing, and a later attempt gets nothing too") {
  TestDatabase database;
  const auto handler = registered(work,
                                  [](Context& context, const nlohmann::json&) {
                                    if (context.wait_event("never", 10ms)) throw TaskError{"CAME", "it must not"};
                                    if (context.attempt() == 2) throw TaskError{"AGAIN", "once more"};
                                  },
                                  {.retry = Fixed{.interval = 1ms, .max_retries = 3}, .auto_retry_for = {"AGAIN"}});
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {handler}, no_polling()};
  REQUIRE(eventually([&] { return database.history_of(id) == "1 snoozed true, 2 failed true, 3 succeeded false"; }));
}

TEST_CASE("no event is lost, in whatever order it and the wait come") {
  TestDatabase database;
  Client client = database.client();
  constexpr int count = 200;
  std::vector<TaskId> ids;
  RunningWorker worker{database, {waits_for_event(1h)}, {.queues = {{"default", 8}}}};
  for (int i = 0; i < count; ++i) ids.push_back(client.enqueue(work, event("race:" + std::to_string(i))));
  std::vector<std::thread> emitters;
  for (int part = 0; part < 4; ++part) {
    emitters.emplace_back([&, part] {
      Client emitter = database.client();
      for (int i = part; i < count; i += 4) (void)emitter.emit("race:" + std::to_string(i), i);
    });
  }
  for (std::thread& emitter : emitters) emitter.join();
  CHECK(eventually([&] {
    return database.value(
               "select count(*) as value from dogged.tasks where status = 'succeeded' "
               "and result = to_jsonb(substr(args ->> 'event', 6)::int)") == std::to_string(count);
  }));
}

TEST_CASE("a wait that begins while an emit is not committed yet finds its event") {
  TestDatabase database;
  const std::int64_t held_by = test::add_worker(database);
  const TaskId held = database.client().enqueue(work, no_args);
  database.claim_all_for(held_by);
  const auto state_of_wait = [&] {
    return database.value(
        "select concat_ws(' ', state, payload) as value "
        "from dogged.wait_durably($1::bigint, 1, $2::bigint, 'payment:42', true, 3600000, 0)",
        db::Params{}.add(held).add(held_by));
  };
  pqxx::connection other{database.settings().url};
  pqxx::work emit{other};
  emit.exec("select " + database.schema() + ".emit('payment:42', '1')");
  CHECK(state_of_wait() == "busy");
  const TaskId id = database.client().enqueue(work, event("payment:42"));
  RunningWorker worker{database, {waits_for_event(1h)}, no_polling()};
  REQUIRE(eventually([&] { return database.status_of(id) == "running"; }));
  CHECK(database.value("select count(*) as value from dogged.task_waits") == "0");
  emit.commit();
  CHECK(state_of_wait() == "over 1");
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(result_of(database, id) == "1");
}

TEST_CASE("an emit waits for a wait that is not committed yet, and resumes its task") {
  TestDatabase database;
  const std::int64_t worker = test::add_worker(database);
  const TaskId id = database.client().enqueue(work, no_args);
  database.claim_all_for(worker);
  pqxx::connection other{database.settings().url};
  pqxx::work wait{other};
  wait.exec("select state from " + database.schema() + ".wait_durably(" + std::to_string(id) + ", 1, " +
            std::to_string(worker) + ", 'payment:42', true, 3600000, 0)");
  std::int64_t resumed = -1;
  std::thread emitter{[&] { resumed = database.client().emit("payment:42"); }};
  CHECK(eventually([&] {
    return database.value(
               "select count(*) as value from pg_locks where locktype = 'advisory' and not granted and database = "
               "(select oid from pg_database where datname = current_database())") == "1";
  }));
  wait.commit();
  emitter.join();
  CHECK(resumed == 1);
  CHECK(database.value("select deferred::text as value from dogged.tasks_live") == "false");
}

TEST_CASE("a task that is cancelled while it waits ends, and its event resumes nothing") {
  TestDatabase database;
  Client client = database.client();
  const TaskId id = client.enqueue(work, event("payment:42"));
  RunningWorker worker{database, {waits_for_event(1h)}, no_polling()};
  REQUIRE(eventually([&] { return is_suspended(database, id); }));
  CHECK(client.cancel(id) == CancelResult::cancelled);
  CHECK(client.emit("payment:42") == 0);
  CHECK(database.value("select dogged.forget_steps() as value") == "1");
}

TEST_CASE("a bad event is refused, and the message says which and why") {
  TestDatabase database;
  const auto refused = [&](const std::string& call) {
    return error_of<InvalidInput>([&] { database.run("select dogged." + call); }).message();
  };
  CHECK(contains(refused("emit(repeat('x', 129))"), "is not 1 to 128 of"));
  CHECK(contains(refused("emit('a b')"), "the event name 'a b' is not 1 to 128 of"));
  CHECK(contains(refused("emit(null)"), "the event name null is not 1 to 128 of"));
  CHECK(contains(refused("emit('a', null)"), "the payload of the event \"a\" is null"));
  CHECK(contains(refused("emit('a', to_jsonb(repeat('x', 1048577)))"),
                 "the payload of the event \"a\" has 1048579 bytes as JSON; the limit is 1048576"));
  CHECK(contains(error_of<InvalidInput>([&] { (void)database.client().emit("a b"); }).message(),
                 "the event name \"a b\" is not 1 to 128 of"));
  CHECK(database.value("select count(*) as value from dogged.events") == "0");
}

TEST_CASE("an event cannot be emitted with a snapshot that may be older than a wait") {
  TestDatabase database;
  const auto error = error_of<Error>(
      [&] { database.script("set transaction isolation level repeatable read; select dogged.emit('a')"); });
  CHECK(contains(error.message(), "the event \"a\" cannot be emitted in a transaction with the isolation"));
}
