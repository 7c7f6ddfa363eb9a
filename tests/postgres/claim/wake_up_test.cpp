// The events that wake a worker. The poll interval is ten minutes, so the awaited tasks run after a wake-up or not at
// all.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sql/claim.hpp"
#include "support/catch.hpp"
#include "support/heartbeats.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using namespace std::string_literals;
using test::beats;
using test::does_nothing;
using test::eventually;
using test::Gate;
using test::no_args;
using test::no_polling;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::work;
using test::worker_is_asleep;

namespace {

/// Counts notifications of a schema, on a connection of its own.
class Listening {
 public:
  explicit Listening(TestDatabase& database) : connection_(database.settings()) {
    connection_.listen(db::Channel::wake);
  }

  /// The notifications since the last call. Notifications come in the order of commits, so that all earlier ones stand
  /// before the one that this sends.
  std::vector<std::string> payloads() {
    connection_.run({"mark", "select pg_notify('dogged.wake', 'mark')"});
    std::vector<std::string> payloads;
    while (true) {
      for (const db::Notification& notification : connection_.wait(20s, never_.fd())) {
        if (notification.payload == "mark") return payloads;
        payloads.push_back(notification.payload);
      }
    }
  }

 private:
  db::Connection connection_;
  runtime::WakeFd never_;
};

using Payloads = std::vector<std::string>;

}  // namespace

TEST_CASE("a sleeping worker picks up a task at once") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}, no_polling()};
  Client client = database.client();
  for (int i = 0; i < 20; ++i) {
    REQUIRE(worker_is_asleep(database, worker.id()));
    const TaskId id = client.enqueue(work, no_args);
    REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  }
}

TEST_CASE("a worker that has slept for long claims what it is woken for before it looks after anything else") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}, no_polling()};
  REQUIRE(worker_is_asleep(database, worker.id()));
  // The worker asks again for the settings of queues a second after the last time.
  const std::string since = database.value("select clock_timestamp()::text as value");
  REQUIRE(eventually([&] {
    return database.value("select clock_timestamp() > $1::timestamptz + interval '1.1 s' as value",
                          db::Params{}.add(since)) == "t";
  }));
  db::Connection other{database.settings()};
  other.transaction([&] {
    other.run_script("test", "lock table dogged.queues in access exclusive mode");
    const TaskId id = database
                          .run(
                              "insert into dogged.tasks_live (queue, name, args) values ('default', 'work', '{}') "
                              "returning id")
                          .one()
                          .number("id");
    database.run("select pg_notify('dogged.wake', 'default')");
    CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
  });
}

TEST_CASE("a sleeping worker picks up tasks that are enqueued together, whether they are alike or not") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing({.queue = "mail"})}, no_polling()};
  const std::string with_one_queue = "'{work,nobody.knows.it}', '{1,2}', queues => '{mail}'";
  for (const std::string& tasks :
       {std::string{"'{work}', '{1,2}'"}, std::string{"'{work}', '{1,2}', priorities => '{0,1}'"},
        std::string{"'{work,nobody.knows.it}', '{1,2}'"}, with_one_queue}) {
    INFO(tasks);
    REQUIRE(worker_is_asleep(database, worker.id()));
    const TaskId id = database.run("select (dogged.enqueue_many(" + tasks + "))[1] as id").one().number("id");
    REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  }
}

TEST_CASE("a sleeping worker picks up a task that falls due") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}, no_polling()};
  REQUIRE(worker_is_asleep(database, worker.id()));
  const TaskId id = database.client().enqueue(work, no_args, {.delay = 200ms});
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
}

TEST_CASE("a worker that starts picks up a task that falls due later") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args, {.delay = 500ms});
  RunningWorker worker{database, {does_nothing()}, no_polling()};
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
}

TEST_CASE("a sleeping worker picks up a task that falls due before the one that it waits for") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}, no_polling()};
  Client client = database.client();
  client.enqueue(work, no_args, {.delay = 1h});
  REQUIRE(worker_is_asleep(database, worker.id()));
  const TaskId sooner = client.enqueue(work, no_args, {.delay = 200ms});
  CHECK(eventually([&] { return database.status_of(sooner) == "succeeded"; }));
}

TEST_CASE("a sleeping worker picks up its retries when they are due") {
  TestDatabase database;
  RunningWorker worker{database,
                       {registered(work,
                                   [](Context& context, const nlohmann::json&) {
                                     if (context.attempt() < 4) throw TaskError{"BUSY", "not now"};
                                   },
                                   {.retry = Fixed{.interval = 100ms, .max_retries = 3}, .auto_retry_for = {"BUSY"}})},
                       no_polling()};
  REQUIRE(worker_is_asleep(database, worker.id()));
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 failed true, 2 failed true, 3 failed true, 4 succeeded false");
}

TEST_CASE("more tasks than fit into one batch fall due together, and all run") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}, no_polling()};
  database.client().enqueue_many(work, std::vector<nlohmann::json>(2500, no_args), {.delay = 300ms});
  CHECK(eventually([&] {
    return database.value("select count(*) as value from dogged.tasks where status = 'succeeded'") == "2500";
  }));
}

TEST_CASE("a task whose transaction was open when the worker fell asleep is picked up after its commit") {
  TestDatabase database;
  std::unique_ptr<RunningWorker> worker;
  Listening listening{database};
  db::Connection producer{database.settings()};
  TaskId id = 0;
  producer.transaction([&] {
    // The statement sees no sleeping worker.
    id = test::Rows{producer.run({"enqueue", "select dogged.enqueue('work') as id"})}.one().number("id");
    worker = std::make_unique<RunningWorker>(database, std::vector{does_nothing()}, no_polling());
    REQUIRE(worker_is_asleep(database, worker->id()));
  });
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(listening.payloads().empty());  // it was not a notification that woke it
}

TEST_CASE("a task of a savepoint of a transaction that was open when the worker fell asleep is picked up") {
  TestDatabase database;
  std::unique_ptr<RunningWorker> worker;
  db::Connection producer{database.settings()};
  TaskId id = 0;
  producer.transaction([&] {
    producer.run({"savepoint", "savepoint inner_one"});
    id = test::Rows{producer.run({"enqueue", "select dogged.enqueue('work') as id"})}.one().number("id");
    producer.run({"release", "release savepoint inner_one"});
    worker = std::make_unique<RunningWorker>(database, std::vector{does_nothing()}, no_polling());
    REQUIRE(worker_is_asleep(database, worker->id()));
  });
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
}

TEST_CASE("a delayed task whose transaction was open when the worker fell asleep runs when it is due") {
  TestDatabase database;
  std::unique_ptr<RunningWorker> worker;
  db::Connection producer{database.settings()};
  TaskId id = 0;
  producer.transaction([&] {
    id = test::Rows{producer.run({"enqueue",
                                  "select dogged.enqueue('work', run_at => clock_timestamp() + interval '2 s') as id"})}
             .one()
             .number("id");
    worker = std::make_unique<RunningWorker>(database, std::vector{does_nothing()}, no_polling());
    REQUIRE(worker_is_asleep(database, worker->id()));
  });
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
}

TEST_CASE("a sleeping worker runs no statement to claim until it is woken") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}, {.heartbeat = 20ms, .lease = 10s, .poll_interval = 10min}};
  REQUIRE(worker_is_asleep(database, worker.id()));
  const auto last_statement = [&] {
    return database.value(
        "select max(state_change)::text as value from pg_stat_activity where datname = current_database() and "
        "application_name = $1",
        db::Params{}.add(database.application() + " claimer"));
  };
  // The worker looks again until all transactions have ended that were open when it fell asleep, those of other tests
  // as well. Before each look it waits as long again as it has waited so far.
  REQUIRE(beats(database, worker.id(), 5));
  const std::string after = database.value("select pg_current_xact_id()::text as value");
  int waited = 5;
  while (database.value("select pg_snapshot_xmin(pg_current_snapshot()) < $1::xid8 as value",
                        db::Params{}.add(after)) == "t") {
    REQUIRE(beats(database, worker.id(), 1));
    ++waited;
  }
  REQUIRE(beats(database, worker.id(), 2 * waited + 10));
  const std::string quiet_since = last_statement();
  REQUIRE(beats(database, worker.id(), 50));
  CHECK(last_statement() == quiet_since);
  const TaskId id = database.client().enqueue(work, no_args);
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(last_statement() != quiet_since);
}

TEST_CASE("a sleeping worker finds tasks without a notification when the poll interval is over") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}, {.poll_interval = 20ms}};
  const auto runs = [&](const std::string& columns, const std::string& values) {
    REQUIRE(worker_is_asleep(database, worker.id()));
    const TaskId id = database
                          .run("insert into dogged.tasks_live (queue, name, args" + columns +
                               ") values ('default', 'work', '{}'" + values + ") returning id")
                          .one()
                          .number("id");
    return eventually([&] { return database.status_of(id) == "succeeded"; });
  };
  CHECK(runs("", ""));
  CHECK(runs(", priority", ", -3"));
  CHECK(runs(", run_at, deferred", ", now() + interval '100 ms', true"));
  CHECK(runs(", priority", ", -3"));
}

TEST_CASE("a look waits for no session that holds the worker's row, and writes nothing") {
  TestDatabase database;
  (void)test::add_worker(database);
  db::Connection user{database.settings()};
  user.transaction([&] {
    user.run({"lock", "select from dogged.workers for update"});
    database.connection().transaction([&] {
      database.run("set local lock_timeout = '2s'");
      const sql::Look look{.ready_queues = {"default"},
                           .afters = {std::numeric_limits<std::int64_t>::min()},
                           .uptos = {std::numeric_limits<std::int64_t>::max()},
                           .names = {"work"},
                           .versions = {1},
                           .queues = {"default"}};
      CHECK_FALSE(db::one(database.connection().run(look)).has_ready);
      CHECK(database.value("select (pg_current_xact_id_if_assigned() is null)::text as value") == "true");
    });
  });
}

TEST_CASE("a task that falls due while its row is locked is picked up once it is unlocked") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}, no_polling()};
  db::Connection user{database.settings()};
  const TaskId id = database.client().enqueue(work, no_args, {.delay = 300ms});
  user.transaction([&] {
    user.run({"lock", "select 1 from dogged.tasks_live for update"});
    REQUIRE(eventually([&] {
      return database.value("select run_at < clock_timestamp() - interval '100 ms' as value from dogged.tasks") == "t";
    }));
  });
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
}

TEST_CASE("enqueue sends no notification where no worker is") {
  TestDatabase database;
  Listening listening{database};
  database.client().enqueue(work, no_args);
  CHECK(listening.payloads().empty());
}

TEST_CASE("enqueue sends one notification for all of its tasks where a worker of the queue sleeps") {
  TestDatabase database;
  Listening listening{database};
  RunningWorker worker{database, {does_nothing()}, no_polling()};
  REQUIRE(worker_is_asleep(database, worker.id()));
  (void)listening.payloads();
  database.client().enqueue_many(work, std::vector<nlohmann::json>(100, no_args));
  CHECK(listening.payloads() == Payloads{"default"});
}

TEST_CASE("a transaction that enqueues often sends one notification") {
  TestDatabase database;
  Listening listening{database};
  RunningWorker worker{database, {does_nothing()}, no_polling()};
  REQUIRE(worker_is_asleep(database, worker.id()));
  database.connection().transaction([&] {
    for (int i = 0; i < 10; ++i) database.run("select dogged.enqueue('work')");
  });
  CHECK(listening.payloads() == Payloads{"default"});
}

TEST_CASE("enqueue sends no notification where only workers of other queues sleep") {
  TestDatabase database;
  Listening listening{database};
  RunningWorker worker{database, {does_nothing({.queue = "mail"})}, no_polling()};
  REQUIRE(worker_is_asleep(database, worker.id()));
  database.client().enqueue(work, no_args, {.queue = "default"});
  CHECK(listening.payloads().empty());
}

TEST_CASE("enqueue sends no notification where the worker has more than it can take") {
  TestDatabase database;
  Gate gate;
  Listening listening{database};
  RunningWorker worker{database,
                       {registered(work, [&](Context&, const nlohmann::json&) { gate.wait(); })},
                       {.queues = {{"default", 2}}, .poll_interval = 10min}};
  Client client = database.client();
  client.enqueue_many(work, std::vector<nlohmann::json>(5, no_args));
  REQUIRE(eventually([&] { return gate.arrived() == 2; }));
  REQUIRE(eventually([&] { return database.value("select asleep as value from dogged.workers") == "f"; }));
  (void)listening.payloads();
  client.enqueue(work, no_args);
  CHECK(listening.payloads().empty());
  gate.open();
  CHECK(eventually(
      [&] { return database.value("select count(*) as value from dogged.tasks where status = 'succeeded'") == "6"; }));
}

TEST_CASE("where tasks come one after another, enqueue soon sends no notifications, until there is quiet") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}, no_polling()};
  REQUIRE(worker_is_asleep(database, worker.id()));
  Listening listening{database};
  Client client = database.client();
  const auto count_of_some = [&] {
    for (int i = 0; i < 200; ++i) client.enqueue(work, no_args);
    return listening.payloads().size();
  };
  CHECK(count_of_some() >= 1);
  CHECK(eventually([&] { return count_of_some() == 0; }));
  CHECK(eventually([&] { return database.value("select count(*) as value from dogged.tasks_live") == "0"; }));
  const TaskId due_soon = client.enqueue(work, no_args, {.delay = 50ms});
  CHECK(eventually([&] { return database.status_of(due_soon) == "succeeded"; }));
  REQUIRE(worker_is_asleep(database, worker.id()));
  const TaskId after_quiet = client.enqueue(work, no_args);
  CHECK(eventually([&] { return database.status_of(after_quiet) == "succeeded"; }));
}

TEST_CASE("enqueue with an older snapshot, which cannot tell which workers sleep, notifies in any case") {
  TestDatabase database;
  database.run("select dogged.create_queue('mail')");
  Listening listening{database};
  for (const std::string level : {"repeatable read", "serializable"}) {
    INFO(level);
    database.connection().transaction([&] {
      database.run("set transaction isolation level " + level);
      database.run("select dogged.enqueue('work')");
    });
    CHECK(listening.payloads() == Payloads{"default"});
    database.connection().transaction([&] {
      database.run("set transaction isolation level " + level);
      database.run("select dogged.enqueue_many('{work}', '{1,2}')");
      database.run("select dogged.enqueue_many('{work,other}', '{1,2}', queues => '{mail}')");
    });
    CHECK(listening.payloads() == Payloads{"default", "mail"});
  }
}

TEST_CASE("an older snapshot that was taken before the worker fell asleep wakes it") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}, no_polling()};
  TaskId id = 0;
  database.connection().transaction([&] {
    database.run("set transaction isolation level repeatable read");
    database.run("select count(*) from dogged.workers");  // takes the snapshot
    db::Connection watch{database.settings()};
    REQUIRE(eventually([&] {
      return test::Rows{watch.run({"asleep", "select asleep from dogged.workers"})}.one().boolean("asleep");
    }));
    id = database.run("select dogged.enqueue('work') as id").one().number("id");
  });
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
}

TEST_CASE("tasks that a stopping worker gives back are taken by one that sleeps") {
  TestDatabase database;
  Gate gate;
  std::atomic<int> held{0};
  const auto hold_one = [&](Context&, const nlohmann::json& args) {
    if (args.contains("hold") && ++held == 1) gate.wait();
  };
  auto stopping =
      std::make_unique<RunningWorker>(database, std::vector{registered(work, hold_one)},
                                      runtime::WorkerSettings{.queues = {{"default", 1}}, .poll_interval = 10min});
  Client client = database.client();
  client.enqueue_many(work, std::vector<nlohmann::json>(50, no_args));  // quick ones, so that it takes several at once
  REQUIRE(eventually([&] { return database.value("select count(*) as value from dogged.task_attempts") == "50"; }));
  // The worker claims two ahead if the quick ones took 10 ms on average. With 19 ahead, of 1 ms, a busy machine failed.
  client.enqueue_many(work, std::vector<nlohmann::json>(3, {{"hold", true}}));
  REQUIRE(eventually([&] {
    return gate.arrived() == 1 &&
           database.value("select count(*) as value from dogged.tasks where status = 'running'") == "3";
  }));
  RunningWorker sleeping{database, {registered(work, hold_one)}, no_polling()};
  REQUIRE(eventually([&] {
    return database.value("select asleep as value from dogged.workers where id = $1::bigint",
                          db::Params{}.add(sleeping.id())) == "t";
  }));

  std::thread stop{[&] { stopping->stop(); }};
  CHECK(eventually([&] {
    return database.value("select count(*) as value from dogged.task_attempts where worker_id = $1::bigint",
                          db::Params{}.add(sleeping.id())) == "2";
  }));
  gate.open();
  stop.join();
  CHECK(database.value("select max(attempt) as value from dogged.task_attempts") == "1");
}
