// The promises of enqueue: one path for C++ and SQL, in the caller's transaction, in order, when it is due, unchanged.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dogged/detail/sql_call.hpp>
#include <dogged/retry_metrics.hpp>

#include "sql/client.hpp"
#include "sql/retention.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::does_nothing;
using test::eventually;
using test::no_args;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::work;

namespace {

constexpr Task<nlohmann::json, nlohmann::json> echo{"echo"};

detail::RegisteredTask echo_handler() {
  return registered(echo, [](Context&, const nlohmann::json& args) { return args; });
}

}  // namespace

TEST_CASE("a client without a URL uses the database that the environment names", "[own_process]") {
  TestDatabase database;
  ::setenv("DATABASE_URL", database.settings().url.c_str(), 1);  // each test has a process of its own
  Client client{"", {.schema = database.settings().schema}};
  const TaskId id = client.enqueue(work, no_args);
  CHECK(database.status_of(id) == "pending");
}

TEST_CASE("many tasks are enqueued at once, with ids in the order of their args") {
  TestDatabase database;
  std::vector<nlohmann::json> args;
  for (int i = 0; i < 1000; ++i) args.push_back({{"n", i}});
  const std::vector<TaskId> ids = database.client().enqueue_many(work, args);

  REQUIRE(ids.size() == 1000);
  CHECK(std::is_sorted(ids.begin(), ids.end()));
  CHECK(database.value("select count(*) as value from unnest($1::bigint[]) with ordinality as given (id, position) "
                       "join dogged.tasks t using (id) where (t.args->>'n')::int = position - 1",
                       db::Params{}.add(ids)) == "1000");
}

TEST_CASE("enqueueing no tasks gives no ids") {
  TestDatabase database;
  CHECK(database.client().enqueue_many(std::vector<NewTask>{}).empty());
}

TEST_CASE("all options of an enqueue stand in the task's row, from C++ and from SQL alike") {
  TestDatabase database;
  database.run("select dogged.create_queue('mail')");
  database.client().enqueue(work, {{"n", 1}},
                            {.queue = "mail", .delay = 1h, .priority = -5, .trace_context = "00-ab-cd-01"});
  database.run(
      "select dogged.enqueue('work', '{\"n\": 1}', queue => 'mail', run_at => now() + interval '1 hour', "
      "priority => -5, "
      "trace_context => '00-ab-cd-01')");
  CHECK(database.value("select count(*) as value from dogged.tasks where name = 'work' and args = '{\"n\": 1}' and "
                       "queue = 'mail' and "
                       "deferred and run_at - enqueued_at = interval '1 hour' and priority = -5 and trace_context = "
                       "'00-ab-cd-01' "
                       "and status = 'pending' and attempt = 0 and retry_count = 0 and next_retry_at is null") == "2");
}

TEST_CASE("tasks of one call that differ in one thing alone keep it each") {
  TestDatabase database;
  database.run("select dogged.create_queue('mail')");
  const auto in_an_hour = std::chrono::system_clock::now() + 1h;
  const std::vector<std::pair<std::string, std::function<void(NewTask&)>>> changes{
      {"name", [](NewTask& task) { task.name = "other"; }},
      {"queue", [](NewTask& task) { task.options.queue = "mail"; }},
      {"run_at", [&](NewTask& task) { task.options.run_at = in_an_hour; }},
      {"delay", [](NewTask& task) { task.options.delay = 1h; }},
      {"priority", [](NewTask& task) { task.options.priority = 1; }},
      {"trace_context", [](NewTask& task) { task.options.trace_context = "00-ab-cd-01"; }},
      {"expires_at", [&](NewTask& task) { task.options.expires_at = in_an_hour; }},
      {"expires_in", [](NewTask& task) { task.options.expires_in = 1h; }},
      {"tags", [](NewTask& task) { task.options.tags = {"vip"}; }},
      {"parent", [](NewTask& task) { task.options.parent = 4711; }},
      {"unique", [](NewTask& task) { task.options.unique.emplace(); }},
      {"unique_key", [](NewTask& task) { task.options.unique_key = "the only one"; }},
      {"key_queue", [](NewTask& task) { task.key_queue = "mail"; }},
      {"args_version", [](NewTask& task) { task.args_version = 2; }},
  };
  // Without run_at, which differs between tasks of equal options.
  const std::string standing_of =
      "select concat_ws(' ', name, queue, deferred, priority, trace_context, tags, parent_id, unique_key, "
      "args_version, "
      "expires_at is not null) as value from dogged.tasks_live where id = $1::bigint";
  for (const auto& [what, change] : changes) {
    CAPTURE(what);
    const NewTask usual{"work", "{}", {}};
    NewTask changed = usual;
    change(changed);
    std::vector<std::string> standings;
    for (const TaskId id : database.client().enqueue_many({usual, changed, usual})) {
      standings.push_back(database.value(standing_of, db::Params{}.add(id)));
    }
    CHECK(standings.at(0) == "work default f 0 f");
    CHECK(standings.at(1) != standings.at(0));
    CHECK(standings.at(2) == standings.at(0));
  }
}

TEST_CASE("an option that is left out has its default, from C++ and from SQL alike") {
  TestDatabase database;
  database.client().enqueue(NewTask{"work", "{}", {}});
  database.run("select dogged.enqueue('work')");
  CHECK(database.value("select count(*) as value from dogged.tasks where args = '{}' and queue = 'default' "
                       "and not deferred "
                       "and run_at = enqueued_at and priority = 0 and trace_context is null") == "2");
}

TEST_CASE("SQL enqueues many by position, and null elements mean their defaults") {
  TestDatabase database;
  CHECK(database.value("select dogged.enqueue_many('{a,b}', '{1,2}', priorities => '{7,null}') as value") == "{1,2}");
  CHECK(database.value("select string_agg(name || args || priority, ' ' order by id) as value from dogged.tasks") ==
        "a17 b20");
}

TEST_CASE("in SQL each task has its own of what differs, whichever array it is") {
  TestDatabase database;
  database.run("select dogged.create_queue('mail')");
  const auto differ = [&](const std::string& array, const std::string& where) {
    const std::string id = database.value("select (dogged.enqueue_many('{a}', '{1,2}', " + array + "))[2] as value");
    CHECK(database.value("select string_agg((id >= " + id +
                         ")::text, ',' order by id) as value from dogged.tasks where (" + where + ") and id >= " + id +
                         " - 1") == "true");
  };
  differ("queues => '{null,mail}'", "queue = 'mail'");
  differ("run_ats => array[null, now() + interval '1 hour']", "deferred");
  differ("priorities => '{null,-5}'", "priority = -5");
  differ("trace_contexts => '{null,trace}'", "trace_context = 'trace'");
  differ("expires_ats => array[null, now() + interval '1 hour']", "expires_at is not null");
  differ("tags => array[null, '{eu}']", "tags = '{eu}'");
  differ("parent_ids => '{null,7}'", "parent_id = 7");
  differ("args_versions => '{null,2}'", "args_version = 2");
}

TEST_CASE("the client sends one value for what all tasks share, and all values where one differs") {
  const NewTask task{"a", "1", {.priority = 1}};
  const NewTask other{"a", "2", {.priority = 2}};
  constexpr std::size_t names = 2, args = 3, queues = 4, priorities = 7;
  const auto sent = [](const std::vector<NewTask>& tasks) { return detail::enqueue_call(tasks, "dogged").params; };
  const auto alike = sent({task, task, task});
  CHECK(alike[names] == R"({"a"})");
  CHECK(alike[args] == std::string{"1\x1e"} + "1\x1e" + "1");
  CHECK(alike[queues] == std::nullopt);
  CHECK(alike[priorities] == "{1}");
  const auto different = sent({task, other, task});
  CHECK(different[names] == R"({"a"})");
  CHECK(different[priorities] == "{1,2,1}");
}

TEST_CASE("of no tasks SQL gives no ids") {
  TestDatabase database;
  CHECK(database.value("select dogged.enqueue_many('{a}', '{}') as value") == "{}");
  CHECK(database.value("select dogged.enqueue_many('{}', '{}', queues => '{}') as value") == "{}");
}

TEST_CASE("in SQL an array with one element is for all tasks, whether the others differ or not") {
  TestDatabase database;
  database.run("select dogged.create_queue('mail')");
  const std::string common =
      "queues => '{mail}', run_ats => array[now() + interval '1 hour'], trace_contexts => '{trace}', "
      "expires_ats => array[now() + interval '2 hours'], tags => array['{eu,vip}']";
  CHECK(database.value("select dogged.enqueue_many('{a}', '{1,2}', priorities => '{-5}', " + common + ") as value") ==
        "{1,2}");
  CHECK(database.value("select dogged.enqueue_many('{b}', '{3,4}', priorities => '{-5,-6}', " + common +
                       ") as value") == "{3,4}");
  CHECK(database.value("select dogged.enqueue_many('{c,d}', '{5,6}', priorities => '{-5}', " + common + ") as value") ==
        "{5,6}");
  CHECK(database.value("select string_agg(name || args || priority, ' ' order by id) as value from dogged.tasks") ==
        "a1-5 a2-5 b3-5 b4-6 c5-5 d6-5");
  CHECK(database.value("select count(*) as value from dogged.tasks where queue = 'mail' and deferred and "
                       "run_at = enqueued_at + interval '1 hour' and trace_context = 'trace' and "
                       "expires_at = enqueued_at + interval '2 hours' and tags = '{eu,vip}'") == "6");
}

TEST_CASE("in SQL the only element of an array counts wherever the array begins, and however many dimensions it has") {
  TestDatabase database;
  database.run("select dogged.create_queue('mail')");
  for (const std::string names : {"'[0:0]={a}'", "'{{a}}'", "'{a,a}'"}) {
    database.run(
        "select dogged.enqueue_many(" + names +
        ", '[0:1]={1,2}', queues => '[0:0]={mail}', priorities => '{{-5}}', trace_contexts => '[7:7]={trace}', "
        "run_ats => array[array[now() + interval '1 hour']], tags => '[0:0]={\"{eu,vip}\"}')");
  }
  CHECK(database.value("select count(*) as value from dogged.tasks where name = 'a' and queue = 'mail' and "
                       "priority = -5 and trace_context = 'trace' and deferred and tags = '{eu,vip}'") == "6");
}

TEST_CASE("tasks that are alike but for their args have what they are enqueued with, in the order of their args") {
  TestDatabase database;
  database.run("select dogged.create_queue('mail')");
  const std::vector<nlohmann::json> args{{{"n", 1}}, {{"n", 2}}, {{"n", 3}}};
  const EnqueueOptions options{
      .queue = "mail", .delay = 1h, .priority = -5, .trace_context = "trace", .expires_in = 2h, .tags = {"eu", "vip"}};
  database.client().enqueue_many(work, args, options);
  CHECK(database.value("select string_agg(args->>'n', ',' order by id) as value from dogged.tasks") == "1,2,3");
  CHECK(database.value("select count(*) as value from dogged.tasks where name = 'work' and queue = 'mail' and deferred "
                       "and priority = -5 and trace_context = 'trace' and tags = '{eu,vip}' and "
                       "run_at = enqueued_at + interval '1 hour' and expires_at = enqueued_at + interval '2 hours'") ==
        "3");
}

TEST_CASE("alike tasks go to the queue of their definition where they name none") {
  TestDatabase database;
  RunningWorker worker{database, {echo_handler()}};
  database.run("select dogged.create_queue('mail')");
  database.run("update dogged.task_definitions set queue = 'mail'");
  database.run("select dogged.enqueue_many('{echo}', '{1,2}')");
  CHECK(database.value("select count(*) as value from dogged.tasks where queue = 'mail'") == "2");
}

TEST_CASE("a trigger on a user's table enqueues") {
  TestDatabase database;
  database.script(R"(
    create table dogged.orders (id integer);
    create function dogged.order_placed() returns trigger language plpgsql as $$
    begin
      perform dogged.enqueue('echo', jsonb_build_object('order', new.id));
      return null;
    end $$;
    create trigger order_placed after insert on dogged.orders for each row execute function dogged.order_placed())");
  RunningWorker worker{database, {echo_handler()}};
  database.run("insert into dogged.orders select generate_series(1, 10)");
  REQUIRE(eventually([&] {
    return database.value(
               "select count(distinct result->>'order') as value from dogged.tasks where status = "
               "'succeeded'") == "10";
  }));
}

TEST_CASE("a task whose transaction is rolled back was never there") {
  TestDatabase database;
  std::atomic<int> runs{0};
  RunningWorker worker{database, {registered(work, [&](Context&, const nlohmann::json&) { ++runs; })}};
  db::Connection producer{database.settings()};
  struct Rollback {};
  try {
    producer.transaction([&] {
      producer.run({"enqueue", "select dogged.enqueue('work')"});
      throw Rollback{};
    });
  } catch (const Rollback&) {
  }
  const TaskId after = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return database.status_of(after) == "succeeded"; }));
  CHECK(runs == 1);
  CHECK(database.count_tasks() == 1);
}

TEST_CASE("a task is seen and run once its transaction commits, and not before") {
  TestDatabase database;
  std::atomic<int> runs{0};
  RunningWorker worker{database, {registered(work, [&](Context&, const nlohmann::json&) { ++runs; })}};
  db::Connection producer{database.settings()};
  producer.transaction([&] {
    producer.run({"enqueue", "select dogged.enqueue('work')"});
    const TaskId other = database.client().enqueue(work, no_args);
    CHECK(eventually([&] { return database.status_of(other) == "succeeded"; }));
    CHECK(runs == 1);
  });
  CHECK(eventually([&] { return runs == 2; }));
}

TEST_CASE("enqueue works under every isolation level") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}};
  for (const std::string level : {"read committed", "repeatable read", "serializable"}) {
    INFO(level);
    db::Connection producer{database.settings()};
    TaskId id = 0;
    producer.transaction([&] {
      producer.run({"isolation", "set transaction isolation level " + level});
      id = test::Rows{producer.run({"enqueue", "select dogged.enqueue('work') as id"})}.one().number("id");
    });
    CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
  }
}

TEST_CASE("a task goes to the queue that its definition names, unless the caller names another") {
  TestDatabase database;
  { RunningWorker worker{database, {does_nothing({.queue = "reports"})}}; }  // declares, and is gone
  Client client = database.client();
  client.enqueue(work, no_args);
  client.enqueue(work, no_args, {.queue = "default"});
  client.enqueue(NewTask{"unheard.of", "{}", {}});
  CHECK(database.value("select string_agg(queue, ' ' order by id) as value from dogged.tasks") ==
        "reports default default");
}

TEST_CASE("lower priorities run first, and tasks of one priority in the order of their ids") {
  TestDatabase database;
  Client client = database.client();
  for (const int priority : {5, 0, -3, 5, 0, -3, 32767, -32768}) {
    client.enqueue(work, {{"priority", priority}}, {.priority = priority});
  }
  std::mutex mutex;
  std::vector<TaskId> ran;
  RunningWorker worker{database,
                       {registered(work,
                                   [&](Context& context, const nlohmann::json&) {
                                     const std::scoped_lock lock{mutex};
                                     ran.push_back(context.task_id());
                                   })},
                       {.queues = {{"default", 1}}}};
  REQUIRE(eventually([&] {
    const std::scoped_lock lock{mutex};
    return ran.size() == 8;
  }));
  CHECK(ran == std::vector<TaskId>{8, 3, 6, 2, 5, 1, 4, 7});
}

TEST_CASE("a task with a run_at or a delay does not start before it is due, and then does") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}, {.poll_interval = 10min}};
  Client client = database.client();
  const TaskId by_time = client.enqueue(work, no_args, {.run_at = std::chrono::system_clock::now() + 400ms});
  const TaskId by_delay = client.enqueue(work, no_args, {.delay = 300ms});
  const TaskId at_once = client.enqueue(work, no_args);
  for (const TaskId id : {by_time, by_delay, at_once}) {
    REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  }
  CHECK(database.value("select count(*) as value from dogged.task_attempts a join dogged.tasks t on t.id = a.task_id "
                       "where a.started_at >= t.run_at") == "3");
  CHECK(database.value("select (run_at - enqueued_at)::text as value from dogged.tasks where id = $1::bigint",
                       db::Params{}.add(by_delay)) == "00:00:00.3");
}

TEST_CASE("the times given are kept to the microsecond") {
  TestDatabase database;
  const auto run_at = std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now()) + 1h;
  database.client().enqueue(work, no_args, {.run_at = run_at});
  CHECK(database.value("select (extract(epoch from run_at) * 1000000)::bigint as value from dogged.tasks") ==
        std::to_string(run_at.time_since_epoch().count()));
}

TEST_CASE("a run_at a little in the past, as of a clock that is slow, runs at once") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}};
  const TaskId id = database.client().enqueue(work, no_args, {.run_at = std::chrono::system_clock::now() - 4min});
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
}

TEST_CASE("the trace context reaches the handler and every attempt") {
  TestDatabase database;
  const std::string trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  std::atomic<int> seen{0};
  RunningWorker worker{database,
                       {registered(work,
                                   [&](Context& context, const nlohmann::json&) {
                                     if (context.trace_context() == trace) ++seen;
                                     if (context.attempt() == 1) throw TaskError{"AGAIN", "once more"};
                                   },
                                   {.retry = Fixed{.intervals = {1ms}}, .auto_retry_for = {"AGAIN"}})}};
  const TaskId id = database.client().enqueue(work, no_args, {.trace_context = trace});
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(seen == 2);
  CHECK(database.value("select count(*) as value from dogged.task_attempts where trace_context = $1",
                       db::Params{}.add(trace)) == "2");
}

TEST_CASE("args come to the handler and results to the database as they were given") {
  TestDatabase database;
  RunningWorker worker{database, {echo_handler()}};
  const nlohmann::json args = {
      {"quotes", R"(' " \ \\ '' "" $$ {a,b} NULL null \u0041)"},
      {"unicode", "Grüße, 世界 🐕 \u0001\u001f\u007f\ufffd \u2028"},
      {"key with \"quotes\", {braces} and ünïcode", nlohmann::json::array({nullptr, true, false, "", 0, -1, "NULL"})},
      {"numbers", {9007199254740993, -9223372036854775807, 0.1, 1e-300, 1.5e300}},
      {"empty", {{"object", nlohmann::json::object()}, {"array", nlohmann::json::array()}}},
      {"lines", "a\nb\r\n\tc"},
  };
  const TaskId id = database.client().enqueue(echo, args);
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(nlohmann::json::parse(database.value("select args::text as value from dogged.tasks")) == args);
  CHECK(nlohmann::json::parse(database.value("select result::text as value from dogged.tasks")) == args);
}

TEST_CASE("args that are no object are args as well") {
  TestDatabase database;
  RunningWorker worker{database, {echo_handler()}};
  Client client = database.client();
  for (const nlohmann::json& args : {nlohmann::json(nullptr), nlohmann::json(7), nlohmann::json("text"),
                                     nlohmann::json::array({1, 2}), nlohmann::json(true)}) {
    INFO(args.dump());
    const TaskId id = client.enqueue(echo, args);
    REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
    CHECK(
        database.value("select result::text as value from dogged.tasks where id = $1::bigint", db::Params{}.add(id)) ==
        database.value("select $1::jsonb::text as value", db::Params{}.add(args.dump())));
  }
}

TEST_CASE("one client may be used by several threads") {
  TestDatabase database;
  Client client = database.client();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 25; ++n) client.enqueue(work, no_args);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(database.count_tasks() == 100);
}

namespace {

/// A client whose log can be read.
struct LoggedClient {
  explicit LoggedClient(TestDatabase& database, RetryPolicy retry = ClientOptions{}.retry,
                        spdlog::level::level_enum level = spdlog::level::info, const std::string& url_end = "")
      : is_declared{declared(database)},
        client{database.settings().url + url_end,
               {.schema = database.schema(), .retry = retry, .log = make_log(level)}} {}

  [[nodiscard]] std::vector<std::string> log() const { return lines->last_formatted(); }
  [[nodiscard]] std::shared_ptr<spdlog::logger> make_log(spdlog::level::level_enum level) const {
    auto log = std::make_shared<spdlog::logger>("client", lines);
    log->set_level(level);
    return log;
  }

  /// So that no line warns of an undeclared task.
  static bool declared(TestDatabase& database) {
    test::declare(database, {does_nothing()});
    return true;
  }

  bool is_declared;
  std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> lines = [] {
    auto sink = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(100);
    sink->set_pattern("%l %v");
    return sink;
  }();
  Client client;
};

/// The client's application name belongs to it alone, so its backend is the last one that enqueued in this database.
/// Returns when `how_many` backends have ended.
void end_client_backends(TestDatabase& database, int how_many) {
  REQUIRE(database.value("select count(pg_terminate_backend(pid, 10000)) as value from pg_stat_activity where datname "
                         "= current_database() and "
                         "application_name = 'dogged client' and starts_with(query, '/* dogged:enqueue')") ==
          std::to_string(how_many));
}

}  // namespace

TEST_CASE("enqueue is not misled by what its caller's session finds first") {
  TestDatabase database;
  database.script(
      "create temp table text (a int); create temp table int8 (a int); "
      "create function dogged.never(pg_catalog.text, pg_catalog.text) returns boolean language sql return false; "
      "create operator dogged.= (leftarg = pg_catalog.text, rightarg = pg_catalog.text, function = dogged.never); "
      "select set_config('search_path', rtrim('dogged.', '.') || ', pg_catalog', false)");
  CHECK(database.value("select dogged.enqueue('a.b', '{}') as value") == "1");
  CHECK(database.value("select dogged.enqueue_many('{a.b}', array['{}'::jsonb]) as value") == "{2}");
  CHECK(database.value("select dogged.enqueue_many('{a.b,c.d}', '{1,2}') as value") == "{3,4}");
}

TEST_CASE("a client whose connection was closed meanwhile connects again before it sends, and logs each change once") {
  TestDatabase database;
  LoggedClient logged{database};
  for (int i = 0; i < 2; ++i) {
    logged.client.enqueue(work, no_args);
    end_client_backends(database, 1);
    logged.client.enqueue(work, no_args);
  }
  CHECK(database.count_tasks() == 4);
  const std::string lost =
      "warning dogged client: the server has closed the connection; the next call connects again\n";
  const std::string back = "info dogged client: connected again\n";
  CHECK(logged.log() == std::vector<std::string>{lost, back, lost, back});
}

namespace {

/// When the statement of a client that waits for a lock began; empty: none does.
std::string waiting_since(db::Connection& observer) {
  static constexpr db::Statement statement{"waiting_since",
                                           "select coalesce(max(query_start)::text, '') as value from pg_stat_activity "
                                           "where datname = current_database() and wait_event_type = 'Lock' and "
                                           "application_name = 'dogged client' and "
                                           "starts_with(query, '/* dogged:enqueue')"};
  return test::Rows{observer.run(statement)}.one().text("value");
}

/// Calls enqueue on a thread of its own, while the table is locked, and ends its backend under it.
template <class Call>
void with_backend_ended_under(TestDatabase& database, Call call) {
  std::thread caller;
  database.connection().transaction([&] {
    database.run("lock table dogged.tasks_live");
    caller = std::thread{call};
    db::Connection observer{database.settings()};  // a transaction keeps its first view of pg_stat_activity
    CHECK(eventually([&] { return !waiting_since(observer).empty(); }));
    end_client_backends(database, 1);
  });
  caller.join();
}

}  // namespace

// docs/decisions/0002: a worker that falls asleep after the look waits for the end of such a transaction.
TEST_CASE("an enqueue of one task has its transaction id before it looks for sleeping workers") {
  TestDatabase database;
  Client client = database.client();
  static constexpr db::Statement has_id{"has_id",
                                        "select count(backend_xid)::text as value from pg_stat_activity where datname "
                                        "= current_database() and application_name = 'dogged client'"};
  std::thread caller;
  database.connection().transaction([&] {
    database.run("lock table dogged.workers");
    caller = std::thread{[&] { client.enqueue(work, no_args); }};
    db::Connection observer{database.settings()};
    CHECK(eventually([&] { return !waiting_since(observer).empty(); }));
    CHECK(test::Rows{observer.run(has_id)}.one().text("value") == "1");
  });
  caller.join();
}

TEST_CASE("a call whose connection breaks under its statement is made again, and enqueues once") {
  TestDatabase database;
  LoggedClient logged{database};
  with_backend_ended_under(database, [&] { CHECK(logged.client.enqueue(work, no_args) > 0); });
  CHECK(database.count_tasks() == 1);
  CHECK(logged.log().size() == 2);
}

TEST_CASE("a client that does not retry tells that its connection broke, and the next call connects") {
  TestDatabase database;
  LoggedClient logged{database, NoRetry{}};
  logged.client.enqueue(work, no_args);
  with_backend_ended_under(database, [&] { CHECK_THROWS_AS(logged.client.enqueue(work, no_args), ConnectionError); });
  CHECK(database.count_tasks() == 1);
  logged.client.enqueue(work, no_args);
  CHECK(database.count_tasks() == 2);
  CHECK(logged.log().size() == 2);
  CHECK(database.value("select count(*) as value from dogged.producer_calls") == "0");
}

TEST_CASE("a call that met a lock time limit is made again, and enqueues once") {
  TestDatabase database;
  Client client{database.settings().url + "&options=-c%20lock_timeout%3D20ms",
                {.schema = database.schema(), .retry = fixed(200ms).with_max_retries(20)}};
  std::thread caller;
  std::atomic<bool> is_done{false};
  database.connection().transaction([&] {
    database.run("lock table dogged.tasks_live");
    caller = std::thread{[&] {
      CHECK_NOTHROW(client.enqueue(work, no_args));
      is_done = true;
    }};
    db::Connection observer{database.settings()};
    std::string first;
    CHECK(eventually([&] { return !(first = waiting_since(observer)).empty(); }));
    CHECK(eventually([&] { return waiting_since(observer) > first; }));
    CHECK_FALSE(is_done);
  });
  caller.join();
  CHECK(database.count_tasks() == 1);
}

namespace {

/// Lets the next `times` inserts of a task fail with `sqlstate`.
void refuse_tasks(TestDatabase& database, int times, const std::string& sqlstate) {
  database.script(
      "create sequence if not exists dogged.inserts; "
      "create or replace function dogged.refuse() returns trigger language plpgsql as $$ begin "
      "if nextval('dogged.inserts') <= " +
      std::to_string(times) + " then raise exception 'refused' using errcode = '" + sqlstate +
      "'; end if; return new; end $$; "
      "create or replace trigger refuse before insert on dogged.tasks_live for each row execute function "
      "dogged.refuse()");
  database.run("select setval('dogged.inserts', 1, false)");
}

/// The sum of the series of these operations in one family that `is_wanted`.
template <class Series, class IsWanted>
std::uint64_t counted(std::vector<Series> RetryMetricsSnapshot::*family, IsWanted is_wanted,
                      const std::set<std::string>& operations = {"client.enqueue"}) {
  std::uint64_t sum = 0;
  const RetryMetricsSnapshot snapshot = retry_metrics().snapshot();
  for (const Series& series : snapshot.*family) {
    const bool is_ours = series.source.kind == RetrySource::Kind::operation && operations.contains(series.source.name);
    if (is_ours && is_wanted(series)) sum += series.count;
  }
  return sum;
}

std::uint64_t errors_counted(const std::string& error) {
  return counted(&RetryMetricsSnapshot::errors, [&](const auto& series) { return series.error_type == error; });
}

std::uint64_t successes_counted(const std::string& policy) {
  return counted(&RetryMetricsSnapshot::successes, [&](const auto& series) { return series.policy_type == policy; });
}

std::uint64_t retries_counted(const std::string& policy, const std::string& number) {
  return counted(&RetryMetricsSnapshot::retries,
                 [&](const auto& series) { return series.policy_type == policy && series.attempt == number; });
}

}  // namespace

TEST_CASE("each retry of a client's call, giving up and each error that is not retried is counted, and is one line") {
  TestDatabase database;
  const RetryPolicy policy = linear(1ms, 1ms).with_max_retries(2).with_jitter(Jitter::none());
  LoggedClient logged{database, policy, spdlog::level::debug};
  const auto serialization_failures = errors_counted("PG_40001"), denials = errors_counted("PG_42501");
  const auto first = retries_counted("linear", "1"), second = retries_counted("linear", "2");
  const auto successes = successes_counted("linear");
  logged.client.enqueue(work, no_args);  // at once: nothing to tell
  refuse_tasks(database, 1, "40001");
  logged.client.enqueue(work, no_args);
  refuse_tasks(database, 9, "40001");
  CHECK_THROWS_AS(logged.client.enqueue(work, no_args), DatabaseError);
  refuse_tasks(database, 9, "42501");
  CHECK_THROWS_AS(logged.client.enqueue(work, no_args), DatabaseError);
  CHECK(database.count_tasks() == 2);

  const std::string retry = "debug event=retry call=enqueue error=PG_40001 ";
  const std::string refused = " message=\"enqueue: refused (SQLSTATE 40001)\"\n";
  std::vector<std::string> lines = logged.log();
  CHECK(lines.back().starts_with(
      "debug event=not_retried call=enqueue error=PG_42501 retries=0 message=\"enqueue: refused (SQLSTATE 42501)"));
  lines.pop_back();
  CHECK(lines == std::vector<std::string>{
                     retry + "retry=1 max_retries=2 delay_ms=1" + refused,
                     retry + "retry=1 max_retries=2 delay_ms=1" + refused,
                     retry + "retry=2 max_retries=2 delay_ms=2" + refused,
                     "warning event=gave_up call=enqueue error=PG_40001 retries=2" + refused,
                 });
  CHECK(errors_counted("PG_40001") - serialization_failures == 4);
  CHECK(errors_counted("PG_42501") - denials == 1);
  CHECK(retries_counted("linear", "1") - first == 2);
  CHECK(retries_counted("linear", "2") - second == 1);
  CHECK(successes_counted("linear") - successes == 1);
}

TEST_CASE("a client's log names the call that failed, and says of a client that does not retry that it did not") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  const RetryPolicy policy = GENERATE(RetryPolicy{NoRetry{}}, RetryPolicy{fixed(1ms).with_max_retries(1)});
  LoggedClient logged{database, policy, spdlog::level::info, "&options=-c%20lock_timeout%3D20ms"};
  const auto all_timeouts = [] {
    return counted(&RetryMetricsSnapshot::errors, [](const auto& series) { return series.error_type == "PG_55P03"; },
                   {"client.enqueue", "client.cancel", "client.replay", "client.reschedule", "client.wait"});
  };
  const auto timeouts = all_timeouts();
  database.connection().transaction([&] {
    database.run("lock table dogged.tasks_live in access exclusive mode");
    CHECK_THROWS_AS(logged.client.enqueue(work, no_args), DatabaseError);
    CHECK_THROWS_AS(logged.client.cancel(id), DatabaseError);
    CHECK_THROWS_AS(logged.client.replay(id), DatabaseError);
    CHECK_THROWS_AS(logged.client.reschedule(id, 1h), DatabaseError);
    CHECK_THROWS_AS(logged.client.wait(id, 1h), DatabaseError);
  });
  const bool retries = max_retries(policy) > 0;
  CHECK(all_timeouts() - timeouts == (retries ? 10 : 5));
  const auto line = [](const std::string& call, const std::string& statement) {
    return "warning event=gave_up call=" + call + " error=PG_55P03 retries=1 message=\"" + statement +
           ": canceling statement due to lock timeout (SQLSTATE 55P03)\"\n";
  };
  const std::vector<std::string> lines{line("enqueue", "enqueue"), line("cancel", "cancel_once"),
                                       line("replay", "replay_once"), line("reschedule", "reschedule_once"),
                                       line("wait", "task_outcome")};
  CHECK(logged.log() == (retries ? lines : std::vector<std::string>{}));
}

TEST_CASE("a call whose statement takes longer to write than retry_for is made all the same") {
  TestDatabase database;
  Client client{database.settings().url, {.schema = database.schema(), .retry_for = 20ms}};
  const NewTask large{"a.b", '"' + std::string(1'000'000, 'x') + '"'};
  CHECK(client.enqueue_many(std::vector<NewTask>(50, large)).size() == 50);
}

TEST_CASE("an older try of a call that arrives late enqueues nothing") {
  TestDatabase database;
  const std::string producer = "00000000-0000-4000-8000-000000000001";
  const auto call = [&](std::int64_t number) {
    sql::Enqueue enqueue{};
    enqueue.name = "a.b";
    enqueue.args = "{}";
    enqueue.producer = producer;
    enqueue.call = number;
    return db::one(database.connection().run(std::move(enqueue))).first;
  };
  CHECK(call(1) == 1);
  CHECK(call(2) == 2);
  CHECK_THROWS_AS(call(2), InvalidInput);
  CHECK_THROWS_AS(call(1), InvalidInput);
  CHECK(database.count_tasks() == 2);
  const auto made = database.connection().run(sql::CallMade{.producer = producer, .call = 2});
  CHECK(db::one(made).first == 2);
  CHECK(database.connection().run(sql::CallMade{.producer = producer, .call = 3}).empty());
}

TEST_CASE("a call's ids are told as they are, whether or not others were given ids in between") {
  TestDatabase database;
  database.run("alter sequence dogged.tasks_id_seq increment 2");  // as if another session took each second one
  Client client = database.client();
  CHECK(client.enqueue(work, no_args) == 1);
  const std::vector<nlohmann::json> three(3, no_args);
  CHECK(client.enqueue_many(work, three) == std::vector<TaskId>{3, 5, 7});
  const std::string producer = database.value("select producer as value from dogged.producer_calls");
  const auto made = database.connection().run(sql::CallMade{.producer = producer, .call = 2});
  CHECK(made.size() == 3);
  database.run("alter sequence dogged.tasks_id_seq increment 1");
  CHECK(client.enqueue_many(work, three) == std::vector<TaskId>{8, 9, 10});
  CHECK(database.value("select task_ids as value from dogged.producer_calls") == "{[8,11)}");
}

TEST_CASE("a client refuses a retry_for of nothing or of days, and a policy that is none") {
  TestDatabase database;
  const auto client = [&](RetryPolicy retry, milliseconds retry_for) {
    return Client{database.settings().url, {.schema = database.schema(), .retry = retry, .retry_for = retry_for}};
  };
  CHECK_THROWS_AS(client(NoRetry{}, 0ms), InvalidInput);
  CHECK_THROWS_AS(client(NoRetry{}, 25h), InvalidInput);
  CHECK_THROWS_AS(client(fixed(0ms), 1s), InvalidPolicy);
}

namespace {

/// The error that a child of fork gets from the client of its parent.
std::string said_to_child(Client& client) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string said = "nothing";
    try {
      client.enqueue(work, no_args);
    } catch (const InvalidInput& error) {
      said = error.what();
    } catch (...) {
      said = "another error";
    }
    const bool is_written = ::write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
    ::_exit(is_written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string said(1000, '\0');
  const ssize_t size = ::read(ends[0], said.data(), said.size());
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  said.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return said;
}

}  // namespace

TEST_CASE("a client refuses to work in a child of fork, and goes on in the process that made it", "[own_process]") {
  TestDatabase database;
  Client client = database.client();
  const std::string said = said_to_child(client);
  CHECK(test::contains(said, "this client was made in process " + std::to_string(::getpid())));
  CHECK(test::contains(said, "hint: make a client of its own in each process, after the fork"));
  client.enqueue(work, no_args);
  CHECK(database.count_tasks() == 1);
}

TEST_CASE("clients that have called nothing for two days are forgotten, and no others") {
  TestDatabase database;
  Client client = database.client();
  client.enqueue(work, no_args);
  database.run(
      "insert into dogged.producer_calls (producer, call, task_ids, called_at) "
      "select gen_random_uuid(), 1, '{}', now() - age from unnest(array[interval '49 hours', '3 days', '47 hours']) "
      "age");
  REQUIRE(database.value("select count(*) as value from dogged.producer_calls") == "4");
  CHECK(db::one(database.connection().run(sql::TidyLeftRows{})).calls == 2);
  CHECK(database.value("select max(now() - called_at) < interval '2 days' as value from dogged.producer_calls") == "t");
  CHECK(db::one(database.connection().run(sql::TidyLeftRows{})).calls == 0);
}
