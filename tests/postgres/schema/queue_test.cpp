// Operators' settings for a queue while workers run: pauses, limits of its depth, its concurrency, its retry budget.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include <dogged/retry_metrics.hpp>
#include <dogged/transaction.hpp>

#include "db/errors.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::does_nothing;
using test::error_of;
using test::eventually;
using test::Gate;
using test::no_args;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::worker_is_asleep;

namespace {

constexpr Task<nlohmann::json> mail{"mail.send"};
constexpr Task<nlohmann::json> other{"other"};

/// Serves two queues, so that a task of one shows how far the worker is with the other. Only a notification makes it
/// look.
std::vector<detail::RegisteredTask> two_queues() {
  return {does_nothing(mail, {.queue = "mail"}), does_nothing(other, {.queue = "other"})};
}

std::string set_queue(TestDatabase& database, const std::string& name, const std::string& settings) {
  return database.value("select dogged.set_queue($1, $2::jsonb) as value", db::Params{}.add(name).add(settings));
}

void make_queue(TestDatabase& database, const std::string& name) {
  database.run("select dogged.create_queue($1)", db::Params{}.add(name));
}

/// Enqueues a task to the queue other, and waits until the worker has run it.
bool runs_others(TestDatabase& database) {
  const TaskId id = database.client().enqueue(other, no_args, {.queue = "other"});
  return eventually([&] { return database.status_of(id) == "succeeded"; });
}

/// A task of the queue mail that stays pending, although the worker looks for tasks.
TaskId task_that_waits(TestDatabase& database) {
  TaskId id = 0;
  const bool waits = eventually([&] {  // a task that it claimed before it heard of the pause has run
    id = database.client().enqueue(mail, no_args, {.queue = "mail"});
    return runs_others(database) && database.status_of(id) == "pending";
  });
  return waits ? id : 0;
}

/// How often this process has put a retry of the queue off.
std::uint64_t throttled(const std::string& queue) {
  for (const auto& [name, count] : retry_metrics().snapshot().throttled) {
    if (name == queue) return count;
  }
  return 0;
}

}  // namespace

TEST_CASE("from a paused queue nothing is claimed, and when it is resumed everything is") {
  TestDatabase database;
  RunningWorker worker{database, two_queues(), {.poll_interval = 10min}};
  CHECK(database.value("select dogged.pause_queue('mail') as value") == "t");
  const TaskId id = task_that_waits(database);
  REQUIRE(id != 0);
  CHECK(database.attempts_of(id).empty());
  CHECK(database.value("select dogged.resume_queue('mail') as value") == "t");
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
}

TEST_CASE("a pause holds for a worker that starts later") {
  TestDatabase database;
  make_queue(database, "mail");
  database.run("select dogged.pause_queue('mail')");
  const TaskId id = database.client().enqueue(mail, no_args, {.queue = "mail"});
  RunningWorker worker{database, two_queues(), {.poll_interval = 10min}};
  CHECK(runs_others(database));
  CHECK(database.status_of(id) == "pending");
}

TEST_CASE("attempts that run when their queue is paused go on to their end") {
  TestDatabase database;
  Gate gate;
  RunningWorker worker{database,
                       {registered(mail, [&](Context&, const nlohmann::json&) { gate.wait(); }, {.queue = "mail"}),
                        does_nothing(other, {.queue = "other"})},
                       {.poll_interval = 10min}};
  const TaskId running = database.client().enqueue(mail, no_args);
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  database.run("select dogged.pause_queue('mail')");
  const TaskId id = database.client().enqueue(mail, no_args);
  REQUIRE(runs_others(database));
  gate.open();
  CHECK(eventually([&] { return database.history_of(running) == "1 succeeded false"; }));
  database.run("select dogged.resume_queue('mail')");
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
}

TEST_CASE("a pause with a time ends by itself then") {
  TestDatabase database;
  make_queue(database, "mail");
  database.run("select dogged.pause_queue('mail', clock_timestamp() + interval '300 ms')");
  const TaskId id = database.client().enqueue(mail, no_args, {.queue = "mail"});
  RunningWorker worker{database, two_queues(), {.poll_interval = 10min}};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.value("select t.claimed_at >= q.paused_until as value from dogged.tasks t, dogged.queues q "
                       "where t.id = $1::bigint and q.name = 'mail'",
                       db::Params{}.add(id)) == "t");
  CHECK(database.value("select dogged.resume_queue('mail') as value") == "f");
}

TEST_CASE("a worker that only polls hears of a pause and of its end, however long its poll interval is") {
  TestDatabase database;
  make_queue(database, "mail");
  make_queue(database, "other");
  database.run("select dogged.pause_queue('other')");
  const TaskId first = database.client().enqueue(mail, no_args, {.queue = "mail"});
  const TaskId held = database.client().enqueue(other, no_args, {.queue = "other"});
  RunningWorker worker{database, two_queues(), {.poll_interval = 10min, .poll_only = true}};
  REQUIRE(eventually([&] { return database.status_of(first) == "succeeded"; }));
  CHECK(database.status_of(held) == "pending");

  // Both changes are read at once: where the worker has heard of one, it knows the other.
  database.script(
      "select dogged.pause_queue('mail'); select dogged.resume_queue('other'); "
      "select dogged.enqueue('mail.send', queue => 'mail')");
  REQUIRE(eventually([&] { return database.status_of(held) == "succeeded"; }));
  const std::string waiting = "select id as value from dogged.tasks where name = 'mail.send' and status = 'pending'";
  const std::string id = database.value(waiting);
  const std::string resumed_at = database.value("select clock_timestamp() as value");
  database.run("select dogged.resume_queue('mail')");
  CHECK(eventually([&] { return database.status_of(std::stoll(id)) == "succeeded"; }));
  CHECK(database.value("select claimed_at > $1::timestamptz as value from dogged.tasks where id = $2::bigint",
                       db::Params{}.add(resumed_at).add(id)) == "t");
}

TEST_CASE("a plain UPDATE is heard as well") {
  TestDatabase database;
  RunningWorker worker{database, two_queues(), {.poll_interval = 10min}};
  database.run("update dogged.queues set paused_at = now() where name = 'mail'");
  const TaskId id = task_that_waits(database);
  REQUIRE(id != 0);
  database.run("update dogged.queues set paused_at = null where name = 'mail'");
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
}

TEST_CASE("a sleeping worker finds that a queue goes on when the poll interval is over, if it was not told") {
  TestDatabase database;
  RunningWorker worker{database, two_queues(), {.poll_interval = 20ms}};
  database.run("select dogged.pause_queue('mail')");
  const TaskId id = task_that_waits(database);
  REQUIRE(id != 0);
  REQUIRE(worker_is_asleep(database, worker.id()));
  db::Connection user{database.settings()};
  user.transaction([&] {
    user.run({"tell nobody", "set local session_replication_role = replica"});
    user.run({"resume", "update dogged.queues set paused_at = null, paused_until = null where name = 'mail'"});
  });
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
}

TEST_CASE("a worker whose queues are all paused asks for no notification when something is enqueued") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing(mail, {.queue = "mail"})}, {.poll_interval = 10min}};
  REQUIRE(test::worker_is_asleep(database, worker.id()));
  database.run("select dogged.pause_queue('mail')");
  CHECK(eventually([&] { return database.value("select asleep as value from dogged.workers") == "f"; }));
  const TaskId id = database.client().enqueue(mail, no_args);
  database.run("select dogged.resume_queue('mail')");
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(test::worker_is_asleep(database, worker.id()));
}

TEST_CASE("pausing a queue that is not there names the nearest ones") {
  TestDatabase database;
  make_queue(database, "webhooks");
  const auto error = error_of<InvalidInput>([&] { database.run("select dogged.pause_queue('webhoks')"); });
  CHECK(error.message() == "the queue \"webhoks\" does not exist");
  CHECK(contains(error.hint(), "Nearest to it: webhooks"));
  const auto resumed = error_of<InvalidInput>([&] { database.run("select dogged.resume_queue('x''; drop table')"); });
  CHECK(contains(resumed.message(), "the queue name \"x'; drop table\" is not 1 to 128 of"));
  CHECK_THROWS_AS(database.run("select dogged.pause_queue(null)"), InvalidInput);
}

TEST_CASE("a pause that would end in the past, or never, is refused") {
  TestDatabase database;
  const auto past =
      error_of<InvalidInput>([&] { database.run("select dogged.pause_queue('default', now() - interval '1 s')"); });
  CHECK(contains(past.message(), "is in the past"));
  CHECK_THROWS_AS(database.run("select dogged.pause_queue('default', 'infinity')"), InvalidInput);
  CHECK(database.value("select paused_at is null as value from dogged.queues") == "t");
}

TEST_CASE("a new setting of a queue is recorded with the value that it replaced, and one that changes nothing is not") {
  TestDatabase database;
  database.run("select dogged.pause_queue('default')");
  CHECK(database.value("select dogged.pause_queue('default') as value") == "f");
  database.run("select dogged.resume_queue('default')");
  CHECK(database.value("select dogged.resume_queue('default') as value") == "f");
  CHECK(set_queue(database, "default", R"({"max_depth": 7})") == "t");
  CHECK(set_queue(database, "default", R"({"max_depth": 8})") == "t");
  CHECK(set_queue(database, "default", R"({"max_depth": 8})") == "f");
  CHECK(database.value("select string_agg(action, ' ' order by id) as value from dogged.audit") ==
        "pause_queue resume_queue set_queue set_queue");
  CHECK(database.value("select details::text as value from dogged.audit order by id desc limit 1") ==
        R"({"queue": "default", "before": {"max_depth": 7}, "settings": {"max_depth": 8}})");
}

TEST_CASE("settings that a queue cannot have are refused, and say what it can") {
  TestDatabase database;
  const auto message = [&](const std::string& settings) {
    return error_of<InvalidInput>([&] { set_queue(database, "default", settings); }).message();
  };
  CHECK(message(R"({"concurrency": 0})") ==
        "the queue \"default\": concurrency is 0; it must be a whole number from 1 to 1000, or null");
  CHECK(contains(message(R"({"concurrency": 1.5})"), "a whole number from 1 to 1000"));
  CHECK(contains(message(R"({"max_depth": "many"})"), "max_depth is \"many\"; it must be a whole number"));
  CHECK(contains(message(R"({"retry_budget": 1.01})"), "a number from 0.001 to 1, or null"));
  CHECK(contains(message(R"({"min_retries_per_second": 0})"), "a number from 0.1 to 1000000"));
  CHECK(message(R"({"maxdepth": 1})") == "the queue \"default\": \"maxdepth\" is not a setting");
  CHECK(contains(message("7"), "not a JSON object"));
}

TEST_CASE("the smallest and the largest retry budget that can be set are budgets for a worker") {
  TestDatabase database;
  for (const char* settings : {R"({"retry_budget": 0.001, "min_retries_per_second": 0.1})",
                               R"({"retry_budget": 1, "min_retries_per_second": 1000000})"}) {
    REQUIRE(set_queue(database, "default", settings) == "t");
    RunningWorker worker{database, {does_nothing(mail, {.queue = "default"})}, {.poll_interval = 10min}};
    const TaskId id = database.client().enqueue(mail, no_args);
    CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
  }
}

TEST_CASE("a transaction that has changed a queue and goes on holds up neither producers nor workers") {
  TestDatabase database;
  RunningWorker worker{database, two_queues(), {.poll_interval = 10min}};
  set_queue(database, "mail", R"({"max_depth": 1000})");
  db::Connection operator_session{database.settings()};
  operator_session.transaction([&] {
    operator_session.run_script("test", "update dogged.queues set concurrency = 3, max_depth = 50");
    const TaskId id = database.client().enqueue(mail, no_args);
    CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
    RunningWorker starts{database, two_queues(), {.poll_interval = 10min}};
    CHECK(runs_others(database));
  });
}

TEST_CASE("a worker runs as many tasks at once as is set for their queue, and follows changes") {
  TestDatabase database;
  make_queue(database, "other");
  Gate gate;
  std::atomic<int> now{0}, most{0};
  const auto count_at_once = [&](Context&, const nlohmann::json& args) {
    if (args.contains("waits")) return gate.wait();
    const int at_once = ++now;
    most = std::max(most.load(), at_once);
    std::this_thread::sleep_for(2ms);
    --now;
  };
  RunningWorker worker{database,
                       {registered(mail, count_at_once, {.queue = "mail"}), does_nothing(other, {.queue = "other"})},
                       {.queues = {{"mail", 1}, {"other", 1}}, .poll_interval = 10min}};
  Client client = database.client();
  client.enqueue_many(mail, std::vector<nlohmann::json>(4, {{"waits", true}}));
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));

  set_queue(database, "mail", R"({"concurrency": 3})");
  CHECK(eventually([&] { return gate.arrived() == 3; }));

  // The worker's next step in the other queue shows that the worker has heard of both changes.
  database.run("select dogged.pause_queue('other')");
  const TaskId mark = client.enqueue(other, no_args);
  client.enqueue_many(mail, std::vector<nlohmann::json>(50, no_args));
  database.script("select dogged.set_queue('mail', '{\"concurrency\": 1}'); select dogged.resume_queue('other');");
  REQUIRE(eventually([&] { return database.status_of(mark) == "succeeded"; }));
  gate.open();
  CHECK(eventually(
      [&] { return database.value("select count(*) as value from dogged.tasks where status = 'succeeded'") == "55"; }));
  CHECK(most == 1);
}

TEST_CASE("a queue that is full takes no more until a task has ended") {
  TestDatabase database;
  set_queue(database, "default", R"({"max_depth": 3})");
  Client client = database.client();
  for (int i = 0; i < 3; ++i) client.enqueue(mail, no_args, {.delay = i == 0 ? 1h : 0s});
  const auto error = error_of<QueueFull>([&] { client.enqueue(mail, no_args); });
  CHECK(error.message() == "the queue \"default\" is full: it holds 3 tasks, its limit is 3");
  CHECK(error.sqlstate() == "53Q01");
  CHECK(contains(error.hint(), "wait_for_room"));
  {
    RunningWorker worker{database, {does_nothing(mail, {.queue = "default"})}};
    CHECK(eventually([&] { return database.value("select count(*) as value from dogged.tasks_live") == "1"; }));
  }
  client.enqueue_many(mail, std::vector<nlohmann::json>(2, no_args));
  CHECK_THROWS_AS(client.enqueue(mail, no_args), QueueFull);
}

TEST_CASE("a limit of the server's own is no full queue, whatever its message says") {
  TestDatabase database;
  database.script(
      "create function dogged.limit() returns trigger language plpgsql as $$ begin raise exception "
      "'the queue \"default\" is full' using errcode = 'configuration_limit_exceeded'; end $$; "
      "create trigger limited before insert on dogged.tasks_live for each row execute function dogged.limit()");
  try {
    database.client().enqueue(mail, no_args);
    FAIL("nothing was refused");
  } catch (const QueueFull&) {
    FAIL("the refusal is taken for a full queue");
  } catch (const DatabaseError& error) {
    CHECK(error.sqlstate() == "53400");
  }
}

TEST_CASE("a call that names an unknown queue is told apart from other wrong values by its SQLSTATE") {
  TestDatabase database;
  Client client = database.client();
  CHECK_THROWS_AS(client.enqueue(mail, no_args, {.queue = "nope"}), db::UnknownQueue);
  const auto is_unknown_in = [&](const std::string& call) {
    try {
      database.run(call);
    } catch (const db::UnknownQueue&) {
      return true;
    } catch (const InvalidInput&) {
    }
    return false;
  };
  CHECK(is_unknown_in("select dogged.enqueue('mail', queue => 'nope')"));
  CHECK(is_unknown_in("select dogged.set_queue('nope', '{}')"));
  CHECK(is_unknown_in("select dogged.move_tasks('{1}', 'nope')"));
  CHECK_FALSE(is_unknown_in("select dogged.set_queue('no queue', '{}')"));
}

TEST_CASE("of many tasks that do not all fit into their queue none is enqueued") {
  TestDatabase database;
  make_queue(database, "mail");
  set_queue(database, "mail", R"({"max_depth": 3})");
  Client client = database.client();
  client.enqueue(mail, no_args, {.queue = "mail"});
  const std::vector<NewTask> tasks{{.name = "a", .options = {.queue = "default"}},
                                   {.name = "a", .options = {.queue = "mail"}},
                                   {.name = "a", .options = {.queue = "mail"}},
                                   {.name = "a", .options = {.queue = "mail"}}};
  const auto error = error_of<QueueFull>([&] { client.enqueue_many(tasks); });
  CHECK(error.message() == "the queue \"mail\" is full: it holds 1 task, its limit is 3, and 3 more do not fit in");
  const auto alike = error_of<QueueFull>([&] { client.enqueue_many({tasks.begin() + 1, tasks.end()}); });
  CHECK(alike.message() == error.message());
  const auto with_one_queue = error_of<DatabaseError>(
      [&] { database.run("select dogged.enqueue_many('{a,b,c}', '{1,2,3}', queues => '{mail}')"); });
  CHECK(contains(with_one_queue.message(), "it holds 1 task, its limit is 3, and 3 more do not fit in"));
  CHECK(database.count_tasks() == 1);
  client.enqueue_many({tasks.begin(), tasks.end() - 1});
  CHECK(database.count_tasks() == 4);
}

TEST_CASE("a queue takes exactly as many tasks as its limit, however they come and go") {
  TestDatabase database;
  set_queue(database, "default", R"({"max_depth": 40})");
  Client client = database.client();
  const auto fill = [&] {
    int taken = 0;
    try {
      while (taken < 100) {
        if (taken % 3 == 0) {
          client.enqueue_many(mail, std::vector<nlohmann::json>(2, no_args));
          taken += 2;
        } else {
          client.enqueue(mail, no_args);
          ++taken;
        }
      }
    } catch (const QueueFull&) {
      while (taken < 100) {  // one may still fit where two did not
        try {
          client.enqueue(mail, no_args);
          ++taken;
        } catch (const QueueFull&) {
          return taken;
        }
      }
    }
    return taken;
  };
  CHECK(fill() == 40);
  database.run("delete from dogged.tasks_live where id % 4 = 0");
  const auto held = database.count_tasks();
  CHECK(fill() == 40 - held);
  set_queue(database, "default", R"({"max_depth": 60})");
  CHECK(fill() == 20);
  set_queue(database, "default", R"({"max_depth": null})");
  CHECK(fill() >= 100);
}

TEST_CASE("a call for many tasks does not pass its queue's limit by what another producer has counted without them") {
  TestDatabase database;
  set_queue(database, "default", R"({"max_depth": 100})");
  Client client = database.client();
  client.enqueue_many(mail, std::vector<nlohmann::json>(60, no_args));
  std::future<void> many;
  db::Connection first{database.settings()};
  first.transaction([&] {
    first.run_script("test", "lock table dogged.tasks_live in share row exclusive mode");  // an insert waits for this
    many = std::async(std::launch::async, [&] { client.enqueue_many(mail, std::vector<nlohmann::json>(50, no_args)); });
    CHECK(eventually([&] {
      return database.value(
                 "select count(*) as value from pg_stat_activity where datname = current_database() and "
                 "wait_event_type = 'Lock' and "
                 "application_name = 'dogged client' and starts_with(query, '/* dogged:enqueue_many */')") == "1";
    }));
    // Counts, since 60 and the 50 ids that were given out and one more would be too many.
    CHECK(database.value("select dogged.has_room('default', 100, 1) as value") == "t");
  });
  CHECK_THROWS_AS(many.get(), QueueFull);
  CHECK(database.count_tasks() == 60);
}

TEST_CASE("producers of a queue with a limit do not wait for each other") {
  TestDatabase database;
  set_queue(database, "default", R"({"max_depth": 100})");
  db::Connection first{database.settings()};
  first.transaction([&] {
    first.run_script("test", "select dogged.enqueue('a')");
    database.client().enqueue(mail, no_args);
    CHECK(database.count_tasks() == 1);
  });
  CHECK(database.count_tasks() == 2);
}

TEST_CASE("enqueue waits for room in a full queue if it is told to") {
  TestDatabase database;
  set_queue(database, "default", R"({"max_depth": 1})");
  const TaskId first = database.client().enqueue(mail, no_args);
  TaskId second = 0;
  {
    std::thread producer{[&] { second = database.client().enqueue(mail, no_args, {.wait_for_room = 30s}); }};
    RunningWorker worker{database, {does_nothing(mail, {.queue = "default"})}};
    producer.join();
    CHECK(eventually([&] { return database.status_of(second) == "succeeded"; }));
  }
  CHECK(database.status_of(first) == "succeeded");
}

TEST_CASE("enqueue gives up when a full queue had no room for as long as it may wait") {
  TestDatabase database;
  set_queue(database, "default", R"({"max_depth": 1})");
  Client client = database.client();
  client.enqueue(mail, no_args);
  const auto error = error_of<QueueFull>([&] { client.enqueue(mail, no_args, {.wait_for_room = 30ms}); });
  CHECK(contains(error.message(), "its limit is 1; it had no room within 30 ms"));
  CHECK(database.count_tasks() == 1);
  CHECK_THROWS_AS(client.enqueue(mail, no_args, {.wait_for_room = -1ms}), InvalidInput);
  CHECK_THROWS_AS(client.enqueue(mail, no_args, {.wait_for_room = 25h}), InvalidInput);
}

TEST_CASE("in a transaction of its caller a full queue is an error that says so, and nothing waits for room") {
  TestDatabase database;
  set_queue(database, "default", R"({"max_depth": 1})");
  pqxx::connection connection{database.settings().url};
  pqxx::work transaction{connection};
  CHECK_THROWS_AS(enqueue_in(transaction, mail, no_args, {.wait_for_room = 1s}, database.schema()), InvalidInput);
  enqueue_in(transaction, mail, no_args, {}, database.schema());
  CHECK_THROWS_AS(enqueue_in(transaction, mail, no_args, {}, database.schema()), QueueFull);
}

TEST_CASE("a role that may enqueue needs no more rights for a queue with a limit") {
  TestDatabase database;
  set_queue(database, "default", R"({"max_depth": 1})");
  const db::Settings settings = database.settings_of("producer");
  Client producer{settings.url, {.schema = settings.schema}};
  CHECK_NOTHROW(producer.enqueue({.name = "a"}));
  CHECK_THROWS_AS(producer.enqueue({.name = "a"}), QueueFull);
}

TEST_CASE("retries beyond their queue's budget wait, while first runs keep on, and none is lost") {
  TestDatabase database;
  set_queue(database, "default", R"({"retry_budget": 0.1, "min_retries_per_second": 1})");
  constexpr int tasks = 300;
  const std::uint64_t throttled_before = throttled("default");
  std::atomic<int> first_runs{0}, retries{0};
  const auto fail = [&](Context& context, const nlohmann::json&) {
    ++(context.attempt() == 1 ? first_runs : retries);
    throw TaskError{"BUSY", "not now"};
  };
  const auto begun_at = std::chrono::steady_clock::now();
  RunningWorker worker{database,
                       {registered(mail, fail,
                                   {.retry = Fixed{.interval = 1ms, .max_retries = 1, .jitter = Jitter::none()},
                                    .auto_retry_for = {"BUSY"}})},
                       {.queues = {{"default", 4}}}};
  Client client = database.client();
  for (int i = 0; i < tasks / 10; ++i) client.enqueue_many(mail, std::vector<nlohmann::json>(10, no_args));
  REQUIRE(eventually([&] { return first_runs == tasks; }));
  REQUIRE(eventually([&] {  // and the others have their turns one after another
    return database.value(
               "select count(*) >= 200 as value from dogged.tasks_live where deferred and "
               "next_retry_at > now() + interval '1 s'") == "t";
  }));
  const double windows = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_at) / 10s;
  CHECK(retries <= 0.1 * (first_runs + retries) + 10 * (1 + windows));
  CHECK(eventually([&] { return retries >= 10; }));
  CHECK(eventually([&] { return throttled("default") >= throttled_before + 200; }));  // counted once it is on record
  // Each waiting task has had its first attempt, and its deferral has cost it none.
  CHECK(database.value("select count(*) as value from dogged.tasks_live where status = 'pending' and "
                       "(attempt <> 1 or retry_count <> 1)") == "0");
  set_queue(database, "default", R"({"retry_budget": null})");
  CHECK(eventually([&] {  // their time has come
    database.run("update dogged.tasks_live set next_retry_at = now() where deferred and next_retry_at > now()");
    database.run("select pg_notify('dogged.wake', '')");
    return database.value("select count(*) as value from dogged.tasks where status = 'failed' and attempt = 2") ==
           std::to_string(tasks);
  }));
  CHECK(retries == tasks);
}
