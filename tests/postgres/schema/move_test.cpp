// The promises of dogged.move_tasks, move_queue, delete_queue and rename_queue. Waiting tasks go to another queue and
// run there. No queue is deleted while a task is in it or on its way to it.
#include <atomic>
#include <string>
#include <thread>

#include <dogged/transaction.hpp>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::add_worker;
using test::contains;
using test::does_nothing;
using test::error_of;
using test::eventually;
using test::no_args;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::work;
using test::worker_is_asleep;

namespace {

std::string move(TestDatabase& database, TaskId id, const std::string& queue) {
  return database.value("select result as value from dogged.move_tasks(array[$1::bigint], $2)",
                        db::Params{}.add(id).add(queue));
}

std::string queue_of(TestDatabase& database, TaskId id) {
  return database.value("select queue as value from dogged.tasks where id = $1::bigint", db::Params{}.add(id));
}

void make_queues(TestDatabase& database) {
  database.run("select dogged.create_queue(name) from unnest(array['old', 'new']) as q (name)");
}

TaskId enqueue_dead(TestDatabase& database, const std::string& queue) {
  const TaskId id = database.client().enqueue(work, no_args, {.queue = queue});
  database.run(
      "update dogged.tasks set status = 'failed', attempt = 1, error_code = 'X', finished_at = now() where id = "
      "$1::bigint",
      db::Params{}.add(id));
  return id;
}

std::string refusal(TestDatabase& database, const std::string& statement) {
  const auto error = error_of<Error>([&] { database.run(statement); });
  return error.message() + " " + error.hint();
}

}  // namespace

TEST_CASE(
    "a task that is moved wakes a sleeping worker of its new queue, which runs it also behind what it has passed "
    "over") {
  TestDatabase database;
  make_queues(database);
  Client client = database.client();
  const TaskId moved = client.enqueue(work, no_args, {.queue = "old"});  // with an id below the tasks that run first
  const RunningWorker worker{database, {does_nothing({.queue = "new"})}, {.poll_interval = 10min}};
  const TaskId last = client.enqueue(work, no_args, {.queue = "new"});
  REQUIRE(eventually([&] { return database.status_of(last) == "succeeded"; }));
  REQUIRE(worker_is_asleep(database, worker.id()));
  CHECK(move(database, moved, "new") == "moved");
  CHECK(eventually([&] { return database.status_of(moved) == "succeeded"; }));
}

TEST_CASE("a move says of each task what became of it, and the audit names the operator") {
  TestDatabase database;
  make_queues(database);
  Client client = database.client();
  const TaskId ready = client.enqueue(work, no_args, {.queue = "old"});
  const TaskId waiting = client.enqueue(work, no_args, {.queue = "old", .delay = 1h});
  const TaskId dead = enqueue_dead(database, "old");
  CHECK(move(database, ready, "new") == "moved");
  CHECK(move(database, ready, "new") == "there");
  CHECK(move(database, waiting, "new") == "moved");
  CHECK(move(database, dead, "new") == "moved");
  CHECK(move(database, 999, "new") == "not_found");
  for (const TaskId id : {ready, waiting, dead}) CHECK(queue_of(database, id) == "new");
  CHECK(database.value("select deferred as value from dogged.tasks where id = $1::bigint", db::Params{}.add(waiting)) ==
        "t");
  CHECK(database.value("select string_agg(action || ' ' || task_id || ' ' || (details ->> 'was') || ' ' || "
                       "(details ->> 'queue'), ', ' order by id) as value from dogged.audit") ==
        "move 1 old new, move 2 old new, move 3 old new");

  database.claim_all_for(add_worker(database));
  CHECK(move(database, ready, "old") == "running");
  CHECK(queue_of(database, ready) == "new");
  database.run("update dogged.tasks set status = 'succeeded', finished_at = now() where id = $1::bigint",
               db::Params{}.add(ready));
  CHECK(move(database, ready, "old") == "ended");
}

TEST_CASE("a move to a queue that is not there is refused with the nearest names") {
  TestDatabase database;
  make_queues(database);
  const std::string text = refusal(database, "select dogged.move_tasks('{1}', 'nwe')");
  CHECK(contains(text, "\"nwe\" does not exist"));
  CHECK(contains(text, "new"));
}

TEST_CASE("a whole queue is moved in parts, by name where one is said, and what is locked is left") {
  TestDatabase database;
  make_queues(database);
  Client client = database.client();
  for (int i = 0; i < 3; ++i) client.enqueue({"work", "{}", {.queue = "old"}});
  client.enqueue({"other", "{}", {.queue = "old"}});
  const auto moved = [&](const std::string& more) {
    return database.value("select dogged.move_queue('old', 'new'" + more + ") as value");
  };
  CHECK(moved(", 'work', 2") == "2");
  db::Connection other{database.settings()};
  other.transaction([&] {
    other.run({"lock", "select from " + database.schema() + ".tasks_live where id = 3 for update"});
    CHECK(moved(", 'work'") == "0");
  });
  CHECK(moved("") == "2");
  CHECK(moved("") == "0");
  CHECK(database.value("select count(*) as value from dogged.tasks where queue = 'new'") == "4");
}

TEST_CASE("a queue is deleted only if it is empty, if no worker serves it, and if it is not the default") {
  TestDatabase database;
  make_queues(database);
  const TaskId id = database.client().enqueue(work, no_args, {.queue = "old"});
  CHECK(contains(refusal(database, "select dogged.delete_queue('old')"), "1 task that has not ended"));
  database.run("select dogged.cancel($1::bigint)", db::Params{}.add(id));
  const TaskId dead = enqueue_dead(database, "old");
  CHECK(contains(refusal(database, "select dogged.delete_queue('old')"), "1 dead letter"));
  database.run("select dogged.purge($1::bigint)", db::Params{}.add(dead));
  {
    const RunningWorker worker{database, {does_nothing({.queue = "old"})}};
    CHECK(contains(refusal(database, "select dogged.delete_queue('old')"), "is served by the worker"));
  }
  // A worker that was killed cannot be stopped, and ends nothing while no other worker runs.
  const std::int64_t killed = test::add_worker(database, "-1 hour");
  database.run("update dogged.workers set queues = '{\"old\": 1}' where id = $1::bigint", db::Params{}.add(killed));
  database.run("select dogged.delete_queue('old')");
  CHECK(database.value("select count(*) as value from dogged.queues where name = 'old'") == "0");
  CHECK(queue_of(database, id) == "old");
  CHECK(contains(refusal(database, "select dogged.delete_queue('default')"), "cannot be deleted"));
  CHECK(contains(refusal(database, "select dogged.delete_queue('old')"), "does not exist"));
  CHECK(database.value("select count(*) as value from dogged.audit where action = 'delete_queue'") == "1");
}

TEST_CASE("a queue is not deleted under an enqueue that has not been committed") {
  TestDatabase database;
  make_queues(database);
  db::Connection producer{database.settings()};
  producer.transaction([&] {
    producer.run({"enqueue", "select " + database.schema() + ".enqueue('work', queue => 'old')"});
    CHECK(contains(refusal(database, "select dogged.delete_queue('old')"), "other transactions have used the queues"));
  });
  CHECK(contains(refusal(database, "select dogged.delete_queue('old')"), "1 task that has not ended"));
}

TEST_CASE("a transaction with an older snapshot enqueues into no queue that was deleted or renamed meanwhile") {
  TestDatabase database;
  const std::string level = GENERATE("repeatable read", "serializable");
  const std::string enqueues =
      GENERATE("enqueue('work', queue => 'old')", "enqueue_many('{work}', '{1}', queues => '{old}')",
               "enqueue_unique('work', queue => 'old')", "enqueue_many_unique('{work}', '{1}', queues => '{old}')");
  const std::string ends = GENERATE("delete_queue('old')", "rename_queue('old', 'newer')");
  INFO(level << ", " << enqueues << " after " << ends);
  make_queues(database);
  db::Connection producer{database.settings()};
  const auto error = error_of<Error>([&] {
    producer.transaction([&] {
      producer.run({"isolation", "set transaction isolation level " + level});
      producer.run({"snapshot", "select 1"});
      database.run("select dogged." + ends);
      producer.run({"enqueue", "select " + database.schema() + "." + enqueues});
    });
  });
  CHECK(contains(error.message(), "could not serialize access"));
  CHECK(database.value("select count(*) as value from dogged.tasks_live") == "0");
}

TEST_CASE(
    "a producer with an older snapshot keeps its queue from being deleted, and holds up no change of its settings") {
  TestDatabase database;
  make_queues(database);
  db::Connection producer{database.settings()};
  producer.transaction([&] {
    producer.run({"isolation", "set transaction isolation level repeatable read"});
    producer.run({"enqueue", "select " + database.schema() + ".enqueue('work', queue => 'old')"});
    CHECK(database.value("select dogged.pause_queue('old') as value") == "t");
    CHECK(contains(refusal(database, "select dogged.delete_queue('old')"), "other transactions have used the queues"));
  });
  CHECK(contains(refusal(database, "select dogged.delete_queue('old')"), "1 task that has not ended"));
}

TEST_CASE("a renamed queue keeps its settings, its tasks, its dead letters and the definitions that name it") {
  TestDatabase database;
  make_queues(database);
  database.run("select dogged.set_queue('old', '{\"concurrency\": 7, \"max_depth\": 1000}')");
  { const RunningWorker declares{database, {does_nothing({.queue = "old"})}}; }
  const TaskId waiting = database.client().enqueue(work, no_args);
  const TaskId dead = enqueue_dead(database, "old");
  CHECK(contains(refusal(database, "select dogged.rename_queue('old', 'new')"), "\"new\" exists already"));
  CHECK(database.value("select dogged.rename_queue('old', 'mail') as value") == "2");
  CHECK(queue_of(database, waiting) == "mail");
  CHECK(queue_of(database, dead) == "mail");
  CHECK(database.value("select concurrency || ' ' || max_depth as value from dogged.queues where name = 'mail'") ==
        "7 1000");
  CHECK(database.value("select count(*) as value from dogged.queues where name = 'old'") == "0");
  CHECK(queue_of(database, database.client().enqueue(work, no_args)) == "mail");
  CHECK(contains(refusal(database, "select dogged.rename_queue('default', 'other')"), "cannot be renamed"));
}

TEST_CASE("a queue is neither renamed nor deleted while a transaction that has read no queue changes a task of it") {
  TestDatabase database;
  make_queues(database);
  const TaskId waiting = database.client().enqueue(work, no_args, {.queue = "old"});
  const TaskId dead = enqueue_dead(database, "old");
  pqxx::connection other{database.settings().url};
  pqxx::work transaction{other};
  SECTION("a live task, as emit and a call with its unique key lock it") {
    transaction.exec("select from " + database.schema() + ".tasks_live where id = " + std::to_string(waiting) +
                     " for update");
  }
  SECTION("a dead letter that is replayed") {
    database.run("select dogged.move_tasks(array[$1::bigint], 'new')", db::Params{}.add(waiting));
    transaction.exec("select " + database.schema() + ".replay(" + std::to_string(dead) + ")");
  }
  CHECK(contains(refusal(database, "select dogged.rename_queue('old', 'mail')"),
                 "other transactions are changing tasks"));
  CHECK(contains(refusal(database, "select dogged.delete_queue('old')"), "is not empty"));
  transaction.commit();
  CHECK(database.value("select dogged.rename_queue('old', 'mail') as value") != "0");
  CHECK(database.value("select count(*) as value from dogged.tasks where queue = 'old'") == "0");
}

TEST_CASE("a queue with very many dead letters is not renamed, because every enqueue would wait for that") {
  TestDatabase database;
  make_queues(database);
  database.run(
      "insert into dogged.tasks_failed (id, status, queue, name, args, enqueued_at, run_at, attempt, finished_at) "
      "select n, 'failed', 'old', 'work', '{}', now(), now(), 1, now() from generate_series(1, 100001) n");
  CHECK(contains(refusal(database, "select dogged.rename_queue('old', 'mail')"),
                 "more than 100000 tasks and dead letters"));
}

TEST_CASE("schedules follow their queue to its new name, and keep it from being deleted") {
  TestDatabase database;
  make_queues(database);
  database.run("select dogged.schedule('nightly', 'work', '0 3 * * *', queue => 'old')");
  CHECK(contains(refusal(database, "select dogged.delete_queue('old')"),
                 "schedules enqueue to the queue \"old\": \"nightly\""));
  database.run("select dogged.rename_queue('old', 'mail')");
  CHECK(database.value("select queue as value from dogged.schedules") == "mail");
}

TEST_CASE("waiting tasks that are moved into a queue count against its limit at the next enqueue") {
  TestDatabase database;
  make_queues(database);
  Client client = database.client();
  database.run("select dogged.set_queue('new', '{\"max_depth\": 10}')");
  client.enqueue(work, no_args, {.queue = "new"});
  for (int i = 0; i < 9; ++i) client.enqueue(work, no_args, {.queue = "old", .delay = 1h});
  database.run("select dogged.has_room('new', 10, 1)");  // notes that the queue holds one task
  database.run("select dogged.move_queue('old', 'new')");
  CHECK_THROWS_AS(client.enqueue(work, no_args, {.queue = "new"}), QueueFull);
}

TEST_CASE("a queue is not renamed while a worker serves it or one of its tasks runs") {
  TestDatabase database;
  make_queues(database);
  {
    const RunningWorker worker{database, {does_nothing({.queue = "old"})}};
    CHECK(contains(refusal(database, "select dogged.rename_queue('old', 'mail')"), "is served by"));
  }
  database.client().enqueue(work, no_args, {.queue = "old"});
  database.claim_all_for(add_worker(database));
  CHECK(contains(refusal(database, "select dogged.rename_queue('old', 'mail')"), "run"));
}

TEST_CASE("a stopping worker does not keep its queue from being renamed") {
  TestDatabase database;
  make_queues(database);
  (void)add_worker(database);
  database.run("update dogged.workers set queues = '{\"old\": 1}'");
  CHECK(contains(refusal(database, "select dogged.rename_queue('old', 'mail')"), "is served by"));
  database.run("update dogged.workers set stop_began_at = now()");
  database.run("select dogged.rename_queue('old', 'mail')");
  CHECK(database.value("select count(*) as value from dogged.queues where name = 'mail'") == "1");
}
