// The promises of a running worker: which tasks it takes, how many at once, and that only the holder of a task can end
// it.
#include <atomic>
#include <map>
#include <mutex>

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
using test::work;

namespace {

constexpr Task<nlohmann::json, nlohmann::json> echo{"echo"};

std::string row_of(TestDatabase& database, TaskId id) {
  return database.value("select t::text as value from dogged.tasks_live t where id = $1::bigint", db::Params{}.add(id));
}

/// `change` alters the row of a task while its handler runs, as another worker or a rescuer would. The handler's report
/// must not show.
void check_report_is_fenced(const std::string& change) {
  INFO(change);
  TestDatabase database;
  Gate gate;
  RunningWorker worker{database, {registered(work, [&](Context&, const nlohmann::json& args) {
                         if (args.contains("hold")) gate.wait();
                       })}};
  Client client = database.client();
  const TaskId id = client.enqueue(work, {{"hold", true}});
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  database.run("update dogged.tasks_live set " + change);
  const std::string changed = row_of(database, id);

  gate.open();
  for (int i = 0; i < 2; ++i) {  // reports are written in order: after these two, the first one is too
    const TaskId next = client.enqueue(work, no_args);
    REQUIRE(eventually([&] { return database.status_of(next) == "succeeded"; }));
  }
  CHECK(worker.stop().left_behind == 0);
  CHECK(row_of(database, id) == changed);
  CHECK(database.attempts_of(id).empty());
  CHECK(database.count_tasks() == 3);
}

}  // namespace

TEST_CASE("an enqueued task runs, and its result is kept") {
  TestDatabase database;
  RunningWorker worker{database, {registered(echo, [](Context&, const nlohmann::json& args) { return args; })}};
  const TaskId id = database.client().enqueue(echo, {{"said", "hello"}});
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 succeeded false");
  CHECK(database.value("select result->>'said' as value from dogged.tasks") == "hello");
}

TEST_CASE("a handler is told what it runs") {
  TestDatabase database;
  std::mutex mutex;
  std::vector<std::string> told;
  const auto tell = [&](Context& context, const nlohmann::json&) {
    const std::scoped_lock lock{mutex};
    told.push_back(std::to_string(context.task_id()) + " " + std::string{context.task_name()} + " " +
                   std::string{context.queue()} + " attempt " + std::to_string(context.attempt()) + " retry " +
                   std::to_string(context.retry_count()) + " " + std::string{context.trace_context()});
    const auto left = context.deadline() - Context::Clock::now();
    if (left <= 50s || left > 60s) told.emplace_back("its deadline is another one");
    if (context.stop_token().stop_requested()) told.emplace_back("it shall stop");
    if (context.attempt() == 1) throw TaskError{"AGAIN", "once more"};
  };
  RunningWorker worker{
      database,
      {registered(work, tell,
                  {.queue = "mail", .retry = Fixed{.intervals = {1ms}}, .auto_retry_for = {"AGAIN"}, .timeout = 60s})}};
  const TaskId id = database.client().enqueue(work, no_args, {.trace_context = "t"});
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(told == std::vector<std::string>{"1 work mail attempt 1 retry 0 t", "1 work mail attempt 2 retry 1 t"});
}

TEST_CASE("a worker runs every task that it knows, each with its own handler") {
  TestDatabase database;
  std::atomic<int> works{0};
  std::atomic<int> others{0};
  RunningWorker worker{database,
                       {registered(work, [&](Context&, const nlohmann::json&) { ++works; }),
                        registered(other_work, [&](Context&, const nlohmann::json&) { ++others; })}};
  Client client = database.client();
  client.enqueue_many(work, std::vector<nlohmann::json>(5, no_args));
  client.enqueue_many(other_work, std::vector<nlohmann::json>(7, no_args));
  CHECK(eventually([&] { return works == 5 && others == 7; }));
}

TEST_CASE("tasks that the worker does not know are left pending, and do not hold up those behind them") {
  TestDatabase database;
  Client client = database.client();
  std::vector<TaskId> unknown;
  for (int i = 0; i < 50; ++i) unknown.push_back(client.enqueue(NewTask{"of.another.program", "{}", {.priority = -1}}));
  const TaskId known = client.enqueue(work, no_args);
  RunningWorker worker{database, {registered(work, [](Context&, const nlohmann::json&) {})}};
  REQUIRE(eventually([&] { return database.status_of(known) == "succeeded"; }));
  CHECK(database.value("select count(*) as value from dogged.tasks where name = 'of.another.program' and status = "
                       "'pending' and attempt = 0") == "50");

  RunningWorker one_that_knows{
      database, {registered(Task<nlohmann::json>{"of.another.program"}, [](Context&, const nlohmann::json&) {})}};
  CHECK(eventually(
      [&] { return database.value("select count(*) as value from dogged.tasks where status = 'succeeded'") == "51"; }));
}

TEST_CASE("a worker serves only the queues that it was told to") {
  TestDatabase database;
  database.run("select dogged.create_queue('unserved')");
  Client client = database.client();
  const TaskId unserved = client.enqueue(work, no_args, {.queue = "unserved"});
  const TaskId served = client.enqueue(work, no_args, {.queue = "default"});
  RunningWorker worker{
      database, {registered(work, [](Context&, const nlohmann::json&) {})}, {.queues = {{"default", 1}}}};
  REQUIRE(eventually([&] { return database.status_of(served) == "succeeded"; }));
  CHECK(database.status_of(unserved) == "pending");
}

TEST_CASE("each queue runs as many handlers at once as its concurrency, and never more") {
  TestDatabase database;
  struct Counter {
    std::atomic<int> running{0};
    std::atomic<int> most{0};
  };
  std::map<std::string, Counter, std::less<>> counters;
  counters["few"];
  counters["many"];
  Gate gate;
  RunningWorker worker{database,
                       {registered(work,
                                   [&](Context& context, const nlohmann::json&) {
                                     Counter& counter = counters.find(context.queue())->second;
                                     const int now = ++counter.running;
                                     int most = counter.most;
                                     while (now > most && !counter.most.compare_exchange_weak(most, now)) {
                                     }
                                     gate.wait();
                                     --counter.running;
                                   })},
                       {.queues = {{"few", 2}, {"many", 5}}, .create_queues = true}};
  Client client = database.client();
  for (const std::string queue : {"few", "many"}) {
    client.enqueue_many(work, std::vector<nlohmann::json>(100, no_args), {.queue = queue});
  }
  REQUIRE(eventually([&] { return gate.arrived() == 7; }));
  CHECK(counters["few"].most == 2);
  CHECK(counters["many"].most == 5);
  CHECK(database.value("select count(*) as value from dogged.tasks where status = 'running'") == "7");
  gate.open();
  REQUIRE(eventually([&] {
    return database.value("select count(*) as value from dogged.tasks where status = 'succeeded'") == "200";
  }));
  CHECK(counters["few"].most == 2);
  CHECK(counters["many"].most == 5);
}

TEST_CASE("two workers share a queue, and no task runs twice") {
  TestDatabase database;
  std::atomic<int> runs{0};
  const auto count = [&](Context&, const nlohmann::json&) { ++runs; };
  database.client().enqueue_many(work, std::vector<nlohmann::json>(2000, no_args));
  RunningWorker first{database, {registered(work, count)}};
  RunningWorker second{database, {registered(work, count)}};
  REQUIRE(eventually([&] {
    return database.value("select count(*) as value from dogged.tasks where status = 'succeeded'") == "2000";
  }));
  CHECK(runs == 2000);
  CHECK(database.value("select count(*) as value from dogged.task_attempts where attempt = 1") == "2000");
}

TEST_CASE("a task that was taken over by another worker is not ended by the first one") {
  check_report_is_fenced("worker_id = worker_id + 1");
}

TEST_CASE("a task that is in a later attempt is not ended by an earlier one") {
  check_report_is_fenced("attempt = attempt + 1");
}

TEST_CASE("a task that was given back is not ended by whom it was taken from") {
  check_report_is_fenced("status = 'pending', deferred = true, run_at = now() + interval '1 hour'");
}

TEST_CASE("a task whose row is changed while its end is being written ends once, with the change") {
  TestDatabase database;
  Gate gate;
  RunningWorker worker{database,
                       {registered(work,
                                   [&](Context& context, const nlohmann::json& args) {
                                     gate.wait();
                                     if (args.contains("fail") && context.attempt() == 1)
                                       throw TaskError{"BUSY", "not now"};
                                   },
                                   {.retry = Fixed{.intervals = {1ms}}, .auto_retry_for = {"BUSY"}})}};
  Client client = database.client();
  const TaskId ends = client.enqueue(work, no_args);
  const TaskId is_retried = client.enqueue(work, {{"fail", true}});
  REQUIRE(eventually([&] { return gate.arrived() == 2; }));
  db::Connection user{database.settings()};
  user.transaction([&] {
    user.run({"change", "update dogged.tasks_live set priority = 7"});
    gate.open();
    REQUIRE(eventually([&] {
      return database.value(
                 "select count(*) as value from pg_stat_activity where datname = current_database() and "
                 "application_name = $1 and "
                 "query like '/* dogged:who_holds */%'",
                 db::Params{}.add(database.application() + " completer")) == "1";
    }));
  });
  REQUIRE(eventually([&] { return database.value("select count(*) as value from dogged.tasks_live") == "0"; }));
  CHECK(database.value("select count(*) as value from dogged.tasks where status = 'succeeded' and priority = 7") ==
        "2");
  CHECK(database.history_of(ends) == "1 succeeded false");
  CHECK(database.history_of(is_retried) == "1 failed true, 2 succeeded false");
}

TEST_CASE("a retry of a task that was taken over is not scheduled by the first worker") {
  TestDatabase database;
  Gate gate;
  RunningWorker worker{database,
                       {registered(work,
                                   [&](Context&, const nlohmann::json& args) {
                                     if (!args.contains("fail")) return;
                                     gate.wait();
                                     throw TaskError{"BUSY", "not now"};
                                   },
                                   {.retry = Fixed{.intervals = {1ms}}, .auto_retry_for = {"BUSY"}})}};
  const TaskId id = database.client().enqueue(work, {{"fail", true}});
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  database.run("update dogged.tasks_live set worker_id = worker_id + 1");
  const std::string changed = row_of(database, id);
  gate.open();
  CHECK(worker.stop().left_behind == 0);
  CHECK(row_of(database, id) == changed);
  CHECK(database.attempts_of(id).empty());
}

TEST_CASE("a worker publishes what it is and what its tasks declare") {
  TestDatabase database;
  RunningWorker worker{database,
                       {registered(work, [](Context&, const nlohmann::json&) {},
                                   {.queue = "mail",
                                    .retry = Exponential{.base = 30s, .max_retries = 5, .max_delay = 1h},
                                    .auto_retry_for = {"HTTP_429", "HTTP_503"},
                                    .timeout = 10s,
                                    .retry_lost = false,
                                    .max_losses = 7,
                                    .max_snoozes = 9,
                                    .dead_letter = false})},
                       {.name = "mailer", .default_concurrency = 4}};
  CHECK(database.value("select count(*) as value from dogged.workers where id = $1::bigint and name = 'mailer' and "
                       "queues = "
                       "'{\"mail\": 4}' and task_names = '{work}' and stopped_at is null and pid > 0 and host <> ''",
                       db::Params{}.add(worker.id())) == "1");
  CHECK(database.value(
            "select count(*) as value from dogged.task_definitions where name = 'work' and queue = 'mail' and "
            "auto_retry_for = '{HTTP_429,HTTP_503}' and timeout_ms = 10000 and not retry_lost and max_losses = "
            "7 and max_snoozes = 9 and not dead_letter") == "1");
  CHECK(database.value("select count(*) as value from dogged.task_definitions where retry_policy @> '{\"policy\": "
                       "\"exponential\", \"base_ms\": 30000, \"max_retries\": 5, \"max_delay_ms\": 3600000}'") == "1");
  CHECK(database.value("select count(*) as value from dogged.queues where name = 'mail'") == "1");
}
