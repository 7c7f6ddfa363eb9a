// The promises of dogged.cancel without a handler, for tasks that wait, run, have ended or do not exist. Also in races
// with claims, completions and other cancels.
#include <future>

#include "claim/statements.hpp"
#include "support/catch.hpp"
#include "support/everything_of.hpp"
#include "support/test_database.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::add_worker;
using test::error_of;
using test::eventually;
using test::everything_of;
using test::TestDatabase;

namespace {

TaskId enqueue(TestDatabase& database) {
  return database.run("select dogged.enqueue('work', '{\"n\": 1}', priority => -5, trace_context => 'trace') as id")
      .one()
      .number("id");
}

std::string cancel(db::Connection& connection, TaskId id) {
  const std::string call = "select dogged.cancel($1::bigint) as result";
  return test::Rows{connection.run({call, call}, db::Params{}.add(id))}.one().text("result");
}

std::string cancel(TestDatabase& database, TaskId id) { return cancel(database.connection(), id); }

/// As a worker does; the ids that were claimed.
std::vector<TaskId> claim(db::Connection& connection, std::int64_t worker_id, std::size_t how_many = 1) {
  std::vector<TaskId> ids;
  const sql::Claim claim = runtime::claim_of(worker_id, {{.queue = "default", .how_many = how_many}}, {"work"}, 0, {1});
  for (const sql::Claim::Row& task : connection.run(claim)) ids.push_back(task.id);
  return ids;
}

TaskId enqueue_and_claim(TestDatabase& database, std::int64_t worker_id) {
  const TaskId id = enqueue(database);
  REQUIRE(claim(database.connection(), worker_id) == std::vector<TaskId>{id});
  return id;
}

void succeed(db::Connection& connection, TaskId id, std::int64_t worker_id) {
  const std::string call = "select dogged.complete_in($1::bigint, 1, $2::bigint, null, 0)";
  connection.run({call, call}, db::Params{}.add(id).add(worker_id));
}

/// dogged.cancel on a connection of its own, which waits for a lock that the test holds.
class WaitingCancel {
 public:
  WaitingCancel(TestDatabase& database, TaskId id)
      : result_(std::async(std::launch::async, [&database, id] {
          db::Connection connection{database.settings()};
          return cancel(connection, id);
        })) {
    REQUIRE(eventually([&] {
      return database.value(
                 "select count(*) as value from pg_stat_activity where datname = current_database() and "
                 "application_name = $1 and wait_event_type = "
                 "'Lock'",
                 db::Params{}.add(database.application())) == "1";
    }));
  }
  std::string result() { return result_.get(); }

 private:
  std::future<std::string> result_;
};

struct Rollback {};

}  // namespace

TEST_CASE("a pending task that is cancelled has ended at once, with all that it was enqueued with and no attempt") {
  TestDatabase database;
  const TaskId id = enqueue(database);
  CHECK(cancel(database, id) == "cancelled");
  CHECK(
      database.value("select count(*) as value from dogged.tasks_done where status = 'cancelled' and name = 'work' and "
                     "queue = 'default' and args = '{\"n\": 1}' and priority = -5 and trace_context = 'trace' and "
                     "attempt = 0 and finished_at >= enqueued_at and run_at = enqueued_at and worker_id is null and "
                     "error_code is null and result is null and not deferred and cancel_requested_at is null") == "1");
  CHECK(database.count_tasks() == 1);
  CHECK(database.attempts_of(id).empty());
}

TEST_CASE("a cancelled task is never claimed") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const TaskId first = enqueue(database);
  const TaskId second = enqueue(database);
  REQUIRE(cancel(database, first) == "cancelled");
  CHECK(claim(database.connection(), worker, 10) == std::vector<TaskId>{second});
}

TEST_CASE("a task of the future is cancelled as one that is due") {
  TestDatabase database;
  const TaskId id =
      database.run("select dogged.enqueue('work', run_at => now() + interval '1 day') as id").one().number("id");
  CHECK(cancel(database, id) == "cancelled");
  CHECK(database.value("select count(*) as value from dogged.tasks_done where status = 'cancelled' and run_at > "
                       "finished_at and not deferred") == "1");
}

TEST_CASE("a task that is cancelled while it waits for a retry keeps what its attempts came to") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const TaskId id = enqueue_and_claim(database, worker);
  database.run(
      "update dogged.tasks_live set status = 'pending', deferred = true, next_retry_at = now() + interval '1 hour', "
      "retry_count = 1, losses = 1, error_code = 'HTTP_503', error_message = 'busy'");
  CHECK(cancel(database, id) == "cancelled");
  CHECK(database.value("select count(*) as value from dogged.tasks_done where status = 'cancelled' and attempt = 1 and "
                       "retry_count = 1 and losses = 1 and error_code = 'HTTP_503' and error_message = 'busy' and "
                       "next_retry_at is null and not deferred and worker_id = $1::bigint and claimed_at < finished_at",
                       db::Params{}.add(worker)) == "1");
}

TEST_CASE("a running task keeps running, notes the request, and its worker is notified") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const TaskId id = enqueue_and_claim(database, worker);
  db::Connection listener{database.settings()};
  listener.listen(db::Channel::cancel);

  CHECK(cancel(database, id) == "requested");
  CHECK(database.value("select count(*) as value from dogged.tasks_live where status = 'running' and attempt = 1 and "
                       "worker_id = $1::bigint and cancel_requested_at > claimed_at",
                       db::Params{}.add(worker)) == "1");
  const auto notified = listener.wait(20s, -1);
  REQUIRE(notified.size() == 1);
  CHECK(notified[0].channel == db::Channel::cancel);
  CHECK(notified[0].payload == std::to_string(worker));
}

TEST_CASE("asking again notifies again, and the time of the first request stays") {
  TestDatabase database;
  const TaskId id = enqueue_and_claim(database, add_worker(database));
  REQUIRE(cancel(database, id) == "requested");
  const std::string before = everything_of(database, id);
  db::Connection listener{database.settings()};
  listener.listen(db::Channel::cancel);
  CHECK(cancel(database, id) == "requested");
  CHECK(listener.wait(20s, -1).size() == 1);
  CHECK(everything_of(database, id) == before);
}

TEST_CASE("nothing changes of a task that has ended") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const TaskId id = enqueue_and_claim(database, worker);
  SECTION("succeeded") { succeed(database.connection(), id, worker); }
  SECTION("cancelled before") {
    database.run("update dogged.tasks_live set status = 'pending'");
    REQUIRE(cancel(database, id) == "cancelled");
  }
  SECTION("a dead letter") {
    database.run(
        "with ended as (delete from dogged.tasks_live returning *) insert into dogged.tasks (id, status, queue, name, "
        "args, finished_at) select id, 'failed', queue, name, args, now() from ended");
  }
  const std::string before = everything_of(database, id);
  CHECK(cancel(database, id) == "ended");
  CHECK(everything_of(database, id) == before);
}

TEST_CASE("a task that is not there, or not yet committed, is not found") {
  TestDatabase database;
  CHECK(cancel(database, 4711) == "not_found");
  db::Connection producer{database.settings()};
  producer.transaction([&] {
    const TaskId id = test::Rows{producer.run({"enqueue", "select dogged.enqueue('work') as id"})}.one().number("id");
    CHECK(cancel(database, id) == "not_found");
    CHECK(cancel(producer, id) == "cancelled");  // its own transaction sees it
  });
  CHECK(database.value("select string_agg(status::text, ' ') as value from dogged.tasks") == "cancelled");
}

TEST_CASE("an id that is null is refused") {
  TestDatabase database;
  const auto error = error_of<InvalidInput>([&] { database.run("select dogged.cancel(null)"); });
  CHECK(test::contains(error.message(), "the id of the task to cancel is null"));
}

TEST_CASE("a cancel that is rolled back has not happened") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const TaskId running = enqueue_and_claim(database, worker);
  const TaskId pending = enqueue(database);
  const std::string before = everything_of(database, running) + everything_of(database, pending);
  db::Connection listener{database.settings()};
  listener.listen(db::Channel::cancel);
  db::Connection other{database.settings()};
  try {
    other.transaction([&] {
      CHECK(cancel(other, running) == "requested");
      CHECK(cancel(other, pending) == "cancelled");
      throw Rollback{};
    });
  } catch (const Rollback&) {
  }
  CHECK(everything_of(database, running) + everything_of(database, pending) == before);
  // Notifications come in the order of commits: the first belongs to this commit.
  database.run("select pg_notify($1, 'after')", db::Params{}.add(database.schema() + ".cancel"));
  const auto notified = listener.wait(20s, -1);
  REQUIRE(notified.size() == 1);
  CHECK(notified[0].payload == "after");
}

TEST_CASE("a cancel waits for the claim that is under way, and then asks the worker") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const TaskId id = enqueue(database);
  db::Connection claimer{database.settings()};
  std::unique_ptr<WaitingCancel> waiting;
  claimer.transaction([&] {
    REQUIRE(claim(claimer, worker) == std::vector<TaskId>{id});
    waiting = std::make_unique<WaitingCancel>(database, id);
  });
  CHECK(waiting->result() == "requested");
  CHECK(database.value("select count(*) as value from dogged.tasks where status = 'running' and cancel_requested_at is "
                       "not null") == "1");
  CHECK(database.count_tasks() == 1);
}

TEST_CASE("a cancel that waited for a claim that was rolled back cancels at once") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const TaskId id = enqueue(database);
  db::Connection claimer{database.settings()};
  std::unique_ptr<WaitingCancel> waiting;
  try {
    claimer.transaction([&] {
      REQUIRE(claim(claimer, worker) == std::vector<TaskId>{id});
      waiting = std::make_unique<WaitingCancel>(database, id);
      throw Rollback{};
    });
  } catch (const Rollback&) {
  }
  CHECK(waiting->result() == "cancelled");
  CHECK(database.status_of(id) == "cancelled");
  CHECK(database.value("select attempt as value from dogged.tasks") == "0");
}

TEST_CASE("a cancel waits for the completion that is under way: the task has ended, and stays as it ended") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const TaskId id = enqueue_and_claim(database, worker);
  db::Connection completer{database.settings()};
  std::unique_ptr<WaitingCancel> waiting;
  completer.transaction([&] {
    succeed(completer, id, worker);
    waiting = std::make_unique<WaitingCancel>(database, id);
  });
  CHECK(waiting->result() == "ended");
  CHECK(database.status_of(id) == "succeeded");
  CHECK(database.count_tasks() == 1);
}

TEST_CASE("a cancel waits for a task to be given back, and then ends it: no attempt is spent") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const TaskId id = enqueue_and_claim(database, worker);
  db::Connection releaser{database.settings()};
  std::unique_ptr<WaitingCancel> waiting;
  releaser.transaction([&] {
    (void)releaser.run(sql::Release{.worker_id = worker, .claim_session = 0, .ids = {id}, .attempts = {1}});
    waiting = std::make_unique<WaitingCancel>(database, id);
  });
  CHECK(waiting->result() == "cancelled");
  CHECK(database.value("select status || ' ' || attempt as value from dogged.tasks") == "cancelled 0");
}

TEST_CASE("of two cancels of one task at once, one cancels it and the other finds it ended") {
  TestDatabase database;
  const TaskId id = enqueue(database);
  db::Connection first{database.settings()};
  std::unique_ptr<WaitingCancel> second;
  first.transaction([&] {
    CHECK(cancel(first, id) == "cancelled");
    second = std::make_unique<WaitingCancel>(database, id);
  });
  CHECK(second->result() == "ended");
  CHECK(database.count_tasks() == 1);
}

TEST_CASE("a transaction with an old snapshot is told to try again, and changes nothing") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const TaskId id = enqueue(database);
  db::Connection old{database.settings()};
  std::string after_claim;
  const auto error = error_of<DatabaseError>([&] {
    old.transaction([&] {
      old.run({"isolation", "set transaction isolation level repeatable read"});
      old.run({"snapshot", "select count(*) from dogged.tasks"});
      REQUIRE(claim(database.connection(), worker) == std::vector<TaskId>{id});
      after_claim = everything_of(database, id);
      cancel(old, id);
    });
  });
  CHECK(test::contains(error.message(), "could not serialize access"));
  CHECK(everything_of(database, id) == after_claim);
}

TEST_CASE("the statement of the command cancels each task once, in the order of their ids") {
  TestDatabase database;
  const TaskId running = enqueue_and_claim(database, add_worker(database));
  const TaskId pending = enqueue(database);
  std::string results;
  for (const auto& [id, result] :
       database.connection().run(sql::CancelTasks{.ids = {4711, pending, running, pending, 4711}})) {
    results += std::to_string(id) + " " + result + ", ";
  }
  CHECK(results == std::to_string(running) + " requested, " + std::to_string(pending) + " cancelled, 4711 not_found, ");
}

TEST_CASE("while claims go on, every cancelled task has ended or its worker is asked: none is lost, none there twice") {
  constexpr int tasks = 2000;
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  database.run("select dogged.enqueue_many('{work}', array_fill('{}'::jsonb, array[2000]))");
  std::atomic<bool> done{false};
  auto claimed = std::async(std::launch::async, [&] {
    db::Connection claimer{database.settings()};
    std::size_t count = 0;
    while (!done) count += claim(claimer, worker, 7).size();
    return count;
  });
  std::size_t requested = 0;
  for (TaskId id = tasks; id > 0; --id) requested += cancel(database, id) == "requested" ? 1 : 0;
  done = true;
  CHECK(claimed.get() == requested);
  CHECK(database.count_tasks() == tasks);
  CHECK(
      database.value("select count(*) as value from dogged.tasks where status = 'cancelled' or status = 'running' and "
                     "cancel_requested_at is not null") == std::to_string(tasks));
  CHECK(database.value("select count(*) as value from dogged.tasks where status = 'running'") ==
        std::to_string(requested));
}
