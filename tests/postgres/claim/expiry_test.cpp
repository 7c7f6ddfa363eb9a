// expires_at: no attempt begins after it, and a task that is still pending then ends as expired, wherever it waits.
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include <dogged/transaction.hpp>

#include "support/catch.hpp"
#include "support/place_in_call.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::add_worker;
using test::contains;
using test::error_of;
using test::eventually;
using test::Gate;
using test::no_args;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::work;
using test::worker_is_asleep;

namespace {

/// The worker's upkeep looks at once and then no more: the worker's claims find tasks that expire later.
runtime::WorkerSettings without_upkeep() { return {.heartbeat = 1h, .lease = 3h, .poll_interval = 1h}; }
/// The worker's upkeep looks all the time.
runtime::WorkerSettings with_upkeep() { return {.heartbeat = 50ms, .lease = 10s}; }

detail::RegisteredTask counts_in(std::atomic<int>& runs) {
  return registered(work, [&runs](Context&, const nlohmann::json&) { ++runs; });
}

bool has_status(TestDatabase& database, TaskId id, const std::string& status) {
  return eventually([&] { return database.status_of(id) == status; });
}

/// The time of the task is over, by the database's clock.
bool is_over(TestDatabase& database, TaskId id) {
  return eventually([&] {
    return database.value("select expires_at < clock_timestamp() as value from dogged.tasks where id = $1::bigint",
                          db::Params{}.add(id)) == "t";
  });
}

/// A task that expires soon, with an attempt that has begun before. On a busy machine the task may expire first. Then
/// another task gets four times as long.
TaskId begun_before_expiry(TestDatabase& database, const std::function<bool()>& has_begun) {
  Client client = database.client();
  TaskId id = 0;
  for (milliseconds expires_in = 300ms; !has_begun(); expires_in *= 4) {
    id = client.enqueue(work, no_args, {.expires_in = expires_in});
    REQUIRE(eventually([&] { return has_begun() || database.status_of(id) == "expired"; }));
  }
  return id;
}

/// Status, attempts begun, retries spent, error code.
std::string standing(TestDatabase& database, TaskId id) {
  return database.value(
      "select concat_ws(' ', status, attempt, retry_count, error_code) as value from dogged.tasks where id = "
      "$1::bigint",
      db::Params{}.add(id));
}

std::string refused_in_sql(TestDatabase& database, const std::string& call) {
  return error_of<InvalidInput>([&] { database.run("select dogged." + call); }).what();
}

}  // namespace

TEST_CASE("when a task expires stands in its row, from C++, from SQL and in a transaction alike") {
  TestDatabase database;
  Client client = database.client();
  const auto later = std::chrono::system_clock::now() + 2h;
  client.enqueue(work, no_args, {.expires_in = 1h});
  client.enqueue_many(work, {no_args, no_args}, {.expires_in = 1h});
  database.run("select dogged.enqueue('work', expires_at => now() + interval '1 hour')");
  database.run(
      "select dogged.enqueue_many('{work}', array['{}'::jsonb], expires_ats => array[now() + interval '1 hour'])");
  {
    pqxx::connection connection{database.settings().url};
    pqxx::work transaction{connection};
    enqueue_in(transaction, work, no_args, {.expires_in = 1h}, database.schema());
    transaction.commit();
  }
  CHECK(database.value(
            "select count(*) as value from dogged.tasks where expires_at - enqueued_at = interval '1 hour'") == "6");
  client.enqueue(work, no_args, {.expires_at = later});
  client.enqueue_many(work, {no_args, no_args}, {.expires_at = later});
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(later.time_since_epoch()).count();
  CHECK(database.value(
            "select count(*) as value from dogged.tasks where (extract(epoch from expires_at) * 1000000)::bigint "
            "= $1::bigint",
            db::Params{}.add(std::int64_t{us})) == "3");
  client.enqueue(work, no_args);
  CHECK(database.value("select count(*) as value from dogged.tasks where expires_at is null") == "1");
}

TEST_CASE("a task that could never run is refused, and the error says why and what to do") {
  TestDatabase database;
  Client client = database.client();
  // The errors of a call for one task and of a call for several.
  const auto refused = [&](const EnqueueOptions& options) {
    const NewTask bad{"a.b", "{}", options};
    const std::string one = error_of<InvalidInput>([&] { client.enqueue(bad); }).what();
    const std::string many = error_of<InvalidInput>([&] { client.enqueue_many({NewTask{"good"}, bad}); }).what();
    CHECK(contains(one, "task \"a.b\": "));
    const std::string alike = error_of<InvalidInput>([&] { client.enqueue_many({bad, bad}); }).what();
    const auto without_times = [](const std::string& error) {
      return test::without_place(error.substr(0, error.find("at 2")));
    };
    CHECK(without_times(one) == without_times(many));
    CHECK(without_times(one) == without_times(alike));
    return one;
  };
  const auto now = std::chrono::system_clock::now();
  CHECK(contains(refused({.expires_at = now - 1s}), "is in the past"));
  CHECK(contains(refused({.run_at = now + 2h, .expires_at = now + 1h}), "is not after run_at"));
  CHECK(contains(refused({.delay = 1h, .expires_in = 1h}), "is not after run_at"));
  CHECK(contains(refused({.expires_at = now + 24h * 365 * 11}), "more than 10 years ahead"));
  CHECK(contains(refused({.expires_at = now + 1h, .expires_in = 1h}), "either expires_at or expires_in"));
  CHECK(contains(refused({.expires_in = 0ms}), "expires_in is 0 ms; it must be 1 ms to 10 years"));
  CHECK(contains(refused({.expires_in = 24h * 3651}), "it must be 1 ms to 10 years"));
  CHECK(contains(refused_in_sql(database, "enqueue('a.b', expires_at => 'infinity')"), "expires_at is infinity"));
  CHECK(contains(refused_in_sql(database, "enqueue('a.b', expires_at => '-infinity')"), "expires_at is -infinity"));
  CHECK(contains(refused_in_sql(database, "enqueue('a.b', expires_at => now())"), "hint: Give a later time"));
  CHECK(contains(
      refused_in_sql(database,
                     "enqueue_many('{a.b}', array['{}'::jsonb], expires_ats => array[null, null]::timestamptz[])"),
      "2 expires_ats and 1 args"));
  CHECK(database.count_tasks() == 0);
}

TEST_CASE("a task whose time is over when it is claimed expires, and spends no attempt") {
  TestDatabase database;
  std::atomic<int> runs{0};
  RunningWorker worker{database, {counts_in(runs)}, without_upkeep()};
  REQUIRE(worker_is_asleep(database, worker.id()));
  // The worker is woken by the commit; then it is over.
  database.script(
      "select dogged.enqueue('work', expires_at => now() + interval '1 hour') from generate_series(1, 3); "
      "update dogged.tasks_live set expires_at = clock_timestamp(); "
      "select dogged.enqueue('work')");
  CHECK(eventually([&] {
    return database.value(
               "select count(*) as value from dogged.tasks_done where status = 'expired' and attempt = 0 and "
               "worker_id is null and claimed_at is null and finished_at >= expires_at") == "3";
  }));
  CHECK(eventually([&] { return runs == 1; }));
  CHECK(eventually([&] { return database.value("select count(*) as value from dogged.task_attempts") == "1"; }));
  CHECK(database.value("select count(*) as value from dogged.tasks_live") == "0");
}

TEST_CASE("a task whose time is over while it waits for a thread expires, and spends no attempt") {
  TestDatabase database;
  Gate gate;
  std::atomic<int> late_runs{0};
  auto settings = without_upkeep();
  settings.queues = {{"default", 1}};
  RunningWorker worker{database,
                       {registered(work,
                                   [&](Context&, const nlohmann::json& args) {
                                     if (args.contains("hold")) gate.wait();
                                     if (args.contains("late")) ++late_runs;
                                   })},
                       settings};
  Client client = database.client();
  client.enqueue_many(work, std::vector<nlohmann::json>(50, no_args));  // quick ones, so that it takes several at once
  REQUIRE(eventually([&] { return database.value("select count(*) as value from dogged.task_attempts") == "50"; }));

  const TaskId late = client
                          .enqueue_many({NewTask{"work", R"({"hold": 1})", {}},
                                         NewTask{"work", R"({"late": 1})", {.expires_in = 300ms}}})
                          .back();
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  REQUIRE(is_over(database, late));
  gate.open();
  CHECK(has_status(database, late, "expired"));
  CHECK(late_runs == 0);
  CHECK(standing(database, late) == "expired 0 0");
  CHECK(database.history_of(late).empty());
}

TEST_CASE("tasks that wait expire in queues that no worker serves as well, for their first run or a retry") {
  TestDatabase database;
  database.run("select dogged.create_queue('lonely')");
  database.script(
      "select dogged.enqueue('nobody.knows', queue => 'lonely', expires_at => now() + interval '1 hour') from "
      "generate_series(1, 2500); "
      "select dogged.enqueue('nobody.knows', run_at => now() + interval '1 hour', expires_at => now() + interval '2 "
      "hours'); "
      "update dogged.tasks_live set expires_at = clock_timestamp(); "
      "update dogged.tasks_live set attempt = 2, retry_count = 1, error_code = 'HTTP_503', error_message = 'busy', "
      "deferred = "
      "true, next_retry_at = now() + interval '1 hour' where id = (select min(id) from dogged.tasks_live); "
      "select dogged.enqueue('nobody.knows', expires_at => now() + interval '1 hour'), dogged.enqueue('nobody.knows')");
  std::atomic<int> runs{0};
  RunningWorker worker{database, {counts_in(runs)}, with_upkeep()};
  CHECK(eventually([&] {
    return database.value("select count(*) as value from dogged.tasks_done where status = 'expired'") == "2501";
  }));
  CHECK(
      database.value("select count(*) as value from dogged.tasks_done where error_code = 'HTTP_503' and error_message "
                     "= 'busy' and attempt = 2 and retry_count = 1") == "1");
  CHECK(database.value("select count(*) as value from dogged.tasks_live") == "2");
  CHECK(runs == 0);
}

TEST_CASE("a task that expires later is found by a worker's upkeep when its time has come") {
  TestDatabase database;
  database.run("select dogged.create_queue('lonely')");
  std::atomic<int> runs{0};
  RunningWorker worker{database, {counts_in(runs)}, with_upkeep()};
  const TaskId id = database.client().enqueue(work, no_args, {.queue = "lonely", .expires_in = 1ms});
  CHECK(has_status(database, id, "expired"));
}

TEST_CASE("a task that expires later is found also where the two workers that began first do not look") {
  TestDatabase database;
  (void)add_worker(database);
  (void)add_worker(database);
  database.run("select dogged.create_queue('lonely')");
  std::atomic<int> runs{0};
  RunningWorker worker{database, {counts_in(runs)}, with_upkeep()};
  REQUIRE(worker_is_asleep(database, worker.id()));
  const TaskId id = database.client().enqueue(work, no_args, {.queue = "lonely", .expires_in = 1ms});
  CHECK(has_status(database, id, "expired"));
}

TEST_CASE("a retry that would fall after expires_at is not scheduled, and the attempt's failure is kept") {
  TestDatabase database;
  RunningWorker worker{
      database,
      {registered(work,
                  [](Context&, const nlohmann::json&) {
                    throw TaskError{"HTTP_503", "busy"};
                  },
                  {.retry = Fixed{.interval = 2h, .max_retries = 3}, .auto_retry_for = {"HTTP_503"}})}};
  Client client = database.client();
  const TaskId late = client.enqueue(work, no_args, {.expires_in = 1h});
  const TaskId in_time = client.enqueue(work, no_args, {.expires_in = 4h});
  REQUIRE(has_status(database, late, "expired"));
  CHECK(standing(database, late) == "expired 1 0 HTTP_503");
  CHECK(database.value("select concat_ws(' ', outcome, error_code, error_message, will_retry, next_retry_at, policy, "
                       "backoff_ms, delay_ms) as value from dogged.task_attempts where task_id = $1::bigint",
                       db::Params{}.add(late)) == "failed HTTP_503 busy f");
  REQUIRE(eventually([&] { return database.history_of(in_time) == "1 failed true"; }));
  CHECK(standing(database, in_time) == "pending 1 1 HTTP_503");
}

TEST_CASE("whether a retry falls after expires_at is said by the database's clock when the attempt's end is written") {
  TestDatabase database;
  Gate gate;
  RunningWorker worker{
      database,
      {registered(work,
                  [&](Context&, const nlohmann::json&) {
                    gate.wait();
                    throw TaskError{"HTTP_503", "busy"};
                  },
                  {.retry = Fixed{.interval = 1h, .max_retries = 3}, .auto_retry_for = {"HTTP_503"}})}};
  const TaskId id = database.client().enqueue(work, no_args, {.expires_in = 4h});
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  // The worker does not hear of it.
  database.run("update dogged.tasks_live set expires_at = now() + interval '30 minutes'");
  gate.open();
  CHECK(has_status(database, id, "expired"));
  CHECK(database.history_of(id) == "1 failed false");
}

TEST_CASE("an attempt that runs is not cut short when the task's time is over") {
  TestDatabase database;
  Gate gate;
  std::atomic<bool> asked_to_stop{false};
  RunningWorker worker{database,
                       {registered(work,
                                   [&](Context& context, const nlohmann::json&) {
                                     gate.wait();
                                     asked_to_stop = context.stop_token().stop_requested();
                                   })},
                       with_upkeep()};
  const TaskId id = begun_before_expiry(database, [&] { return gate.arrived() == 1; });
  REQUIRE(is_over(database, id));
  gate.open();
  CHECK(has_status(database, id, "succeeded"));
  CHECK_FALSE(asked_to_stop);
}

TEST_CASE("an attempt that is lost or interrupted when the task's time is over leaves it expired") {
  TestDatabase database;
  SECTION("lost") {
    const TaskId id = database.client().enqueue(work, no_args, {.expires_in = 1ms});
    REQUIRE(is_over(database, id));
    database.claim_all_for(add_worker(database, "0"));
    std::atomic<int> runs{0};
    RunningWorker worker{database, {counts_in(runs)}, with_upkeep()};
    CHECK(has_status(database, id, "expired"));
    CHECK(database.history_of(id) == "1 lost false");
    CHECK(runs == 0);
  }
  SECTION("interrupted") {
    std::atomic<bool> has_started{false};
    auto settings = with_upkeep();
    settings.grace = 0ms;
    settings.stop_grace = 20s;
    RunningWorker worker{database,
                         {registered(work,
                                     [&](Context& context, const nlohmann::json&) {
                                       Gate stopped;
                                       const std::stop_callback open{context.stop_token(), [&] { stopped.open(); }};
                                       has_started = true;
                                       stopped.wait();
                                       throw std::runtime_error{"stopped"};
                                     })},
                         settings};
    const TaskId id = begun_before_expiry(database, [&] { return has_started.load(); });
    REQUIRE(is_over(database, id));
    worker.stop();
    CHECK(standing(database, id) == "expired 1 0");
    CHECK(database.history_of(id) == "1 interrupted false");
  }
}

TEST_CASE("a task that was given back runs if its time is not over") {
  TestDatabase database;
  Client client = database.client();
  TaskId id = 0;
  {
    Gate gate;
    RunningWorker worker{database,
                         {registered(work,
                                     [&](Context&, const nlohmann::json& args) {
                                       if (args.contains("hold")) gate.wait();
                                     })},
                         {.queues = {{"default", 1}}}};
    const auto quick_ones = client.enqueue_many(work, std::vector<nlohmann::json>(50, no_args));
    for (const TaskId quick : quick_ones) REQUIRE(has_status(database, quick, "succeeded"));
    id = client.enqueue_many({NewTask{"work", R"({"hold": 1})", {}}, NewTask{"work", "{}", {.expires_in = 1h}}}).back();
    REQUIRE(eventually([&] { return gate.arrived() == 1 && database.status_of(id) == "running"; }));
    auto stopped = std::async(std::launch::async, [&] { return worker.stop(); });
    CHECK(has_status(database, id, "pending"));
    gate.open();
    CHECK(stopped.get().given_back == 1);
  }
  std::atomic<int> runs{0};
  RunningWorker other{database, {counts_in(runs)}, with_upkeep()};
  CHECK(has_status(database, id, "succeeded"));
  CHECK(database.history_of(id) == "1 succeeded false");
  CHECK(database.value(
            "select expires_at - enqueued_at = interval '1 hour' as value from dogged.tasks where id = $1::bigint",
            db::Params{}.add(id)) == "t");
}

TEST_CASE("a task may not be given a time without end by hand, which claims could not count down") {
  TestDatabase database;
  database.run("select dogged.enqueue('work')");
  CHECK_THROWS_AS(database.run("update dogged.tasks_live set expires_at = 'infinity'"), InvalidInput);
  database.run("update dogged.tasks_live set expires_at = now() + interval '200000 years'");
  std::atomic<int> runs{0};
  RunningWorker worker{database, {counts_in(runs)}};
  CHECK(eventually([&] { return runs == 1; }));
}
