// Which tasks a claim finds, in which order, and which rows it does not walk over. The poll interval is ten minutes,
// and a worker looks through passed-over places after a minute. The tests wait for less than that.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "claim/statements.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::add_worker;
using test::does_nothing;
using test::eventually;
using test::Gate;
using test::no_args;
using test::no_polling;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::work;

namespace {

/// Runs tasks in small batches, so that a worker's watermarks move on past all that was enqueued before.
void move_watermarks(TestDatabase& database) {
  Client client = database.client();
  for (int batch = 0; batch < 40; ++batch) {
    const TaskId last = client.enqueue_many(work, std::vector<nlohmann::json>(100, no_args)).back();
    REQUIRE(eventually([&] { return database.status_of(last) == "succeeded"; }));
  }
}

std::int64_t index_entries_read(TestDatabase& database) {
  return database
      .run(
          "select idx_tup_read as value from pg_stat_user_indexes where indexrelid = "
          "'dogged.tasks_live_ready'::regclass")
      .one()
      .number("value");
}

/// The tasks that a claim finds.
std::set<TaskId> claimed(TestDatabase& database, std::int64_t worker_id, bool of_all) {
  std::set<TaskId> ids;
  const sql::Claim claim =
      runtime::claim_of(worker_id, {{.queue = "default", .how_many = 10, .of_all = of_all}}, {"work"}, 0, {1});
  for (const sql::Claim::Row& task : database.connection().run(claim)) ids.insert(task.id);
  return ids;
}

const EnqueueOptions in_other{.queue = "q7169"}, in_own{.queue = "q122757"};

void create_queues_of_one_hash(TestDatabase& database) {
  database.run("select dogged.create_queue('q7169'), dogged.create_queue('q122757')");
  REQUIRE(database.value("select hashtext('q7169') = hashtext('q122757') as value") == "t");
}

/// The numbers in `args` of the tasks that ran, in their order.
class Order {
 public:
  [[nodiscard]] detail::RegisteredTask handler() {
    return registered(work, [this](Context&, const nlohmann::json& args) {
      const std::scoped_lock lock{mutex_};
      ran_.push_back(args.value("n", 0));
    });
  }

  [[nodiscard]] std::vector<int> ran() const {
    const std::scoped_lock lock{mutex_};
    return ran_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<int> ran_;
};

}  // namespace

TEST_CASE("a claim passes over tasks that another session has locked, and a full scan takes those it has left") {
  TestDatabase database;
  const std::vector<TaskId> ids = database.client().enqueue_many(work, {no_args, no_args, no_args, no_args});
  const std::int64_t worker_id = add_worker(database);
  const TaskId left_before = ids[0], left = ids[1], locked = ids[2], free = ids[3];
  const char* const lock = "select from dogged.tasks_live where id = $1::bigint for update";
  database.run(lock, db::Params{}.add(left_before));

  db::Connection other{database.settings()};
  other.transaction([&] {
    (void)other.run({"lock", lock}, db::Params{}.add(locked));
    database.run(lock, db::Params{}.add(left));  // by a transaction younger than another open one
    const std::set<TaskId> found = claimed(database, worker_id, false);
    CHECK(found.contains(free));
    CHECK(!found.contains(locked));
    CHECK(!found.contains(left));
    const std::set<TaskId> rest = claimed(database, worker_id, true);
    CHECK(rest.contains(left));
    CHECK(!rest.contains(locked));
  });
  CHECK(claimed(database, worker_id, true) == std::set<TaskId>{locked});
  CHECK(database.value("select status::text as value from dogged.tasks_live where id = $1::bigint",
                       db::Params{}.add(left_before)) == "running");
}

TEST_CASE("queues whose names have the same hash are kept apart") {
  TestDatabase database;
  create_queues_of_one_hash(database);
  const auto later = [](EnqueueOptions options) {
    options.delay = 1ms;
    return options;
  };
  Client client = database.client();
  const std::vector<TaskId> of_other{client.enqueue(work, no_args, in_other),
                                     client.enqueue(work, no_args, later(in_other))};
  const RunningWorker worker{database, {does_nothing()}, {.queues = {{"q122757", 1}}}};
  const std::vector<TaskId> own{client.enqueue(work, no_args, in_own), client.enqueue(work, no_args, later(in_own))};

  for (const TaskId id : own) CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
  for (const TaskId id : of_other) CHECK(database.status_of(id) == "pending");
  CHECK(database.value("select deferred as value from dogged.tasks_live where id = $1::bigint",
                       db::Params{}.add(of_other[1])) == "t");
  CHECK(database.value("select dogged.held_of_queue('q7169', 10) as value") == "2");
  CHECK(database.value("select dogged.held_of_queue('q122757', 10) as value") == "0");
}

TEST_CASE("a worker neither sees nor defers tasks of a queue whose name has the same hash as its own") {
  TestDatabase database;
  create_queues_of_one_hash(database);
  Client client = database.client();
  client.enqueue(work, no_args, in_other);
  client.enqueue(work, no_args, {.queue = in_other.queue, .delay = 1h});

  const auto looked_at = [&](const std::string& queue) {
    const auto found = db::one(database.connection().run(sql::Look{.ready_queues = {queue},
                                                                   .afters = {0},
                                                                   .uptos = {std::numeric_limits<std::int64_t>::max()},
                                                                   .names = {"work"},
                                                                   .versions = {1},
                                                                   .queues = {queue}}));
    return std::pair{found.has_ready, found.due_in_ms.has_value()};
  };
  CHECK(looked_at(in_other.queue) == std::pair{true, true});
  CHECK(looked_at(in_own.queue) == std::pair{false, false});

  database.run("insert into dogged.circuits (name, state) values ('api', 'open')");
  const auto defer = [&](const std::string& queue) {
    database.connection().run(
        sql::DeferReady{.circuit = "api", .queue = queue, .from_place = 0, .names = {"work"}, .versions = {1}});
    return database.value("select count(*) as value from dogged.tasks_live where next_retry_at is not null");
  };
  CHECK(defer(in_own.queue) == "0");
  CHECK(defer(in_other.queue) == "1");
}

TEST_CASE("tasks that were locked before all transactions that still run are claimed in their order") {
  TestDatabase database;
  const TaskId left = database.client().enqueue(work, no_args);
  const std::int64_t worker_id = add_worker(database);
  database.run("select from dogged.tasks_live where id = $1::bigint for update", db::Params{}.add(left));
  CHECK(
      eventually([&] { return claimed(database, worker_id, false) == std::set<TaskId>{left}; }));  // others' tests run
}

TEST_CASE("a task that another session has locked and left is run while there is more to do than the worker can take") {
  TestDatabase database;
  std::atomic<bool> ran = false;
  const RunningWorker worker{database,
                             {registered(work,
                                         [&](Context&, const nlohmann::json& args) {
                                           if (args.value("n", 0) == 1) ran = true;
                                         })},
                             no_polling()};
  Client client = database.client();
  db::Connection older{database.settings()};
  older.transaction([&] {
    (void)older.run({"begin", "select pg_current_xact_id()"});
    client.enqueue_many(work, std::vector<nlohmann::json>(5000, no_args));
    const TaskId left = client.enqueue(work, {{"n", 1}});
    database.run("select from dogged.tasks_live where id = $1::bigint for update", db::Params{}.add(left));
    for (int i = 0; i < 400 && !ran; ++i) {
      client.enqueue_many(work, std::vector<nlohmann::json>(2000, no_args));
      (void)older.run({"go on", "select 1"});  // the server ends an idle transaction
    }
  });
  CHECK(ran);
}

namespace {

/// How many entries of the index are read by 200 claims or more, while nothing that has ended is removed from it.
std::int64_t entries_read_under_snapshot() {
  TestDatabase database;
  db::Connection holder{database.settings()};
  holder.transaction([&] {
    holder.run({"hold", "declare held cursor for select from dogged.tasks"});
    RunningWorker worker{database, {does_nothing()}, no_polling()};
    for (int i = 0; i < 5; ++i) move_watermarks(database);
  });
  return index_entries_read(database);  // its sessions have ended, and with that what they read is counted
}

}  // namespace

TEST_CASE("while an old snapshot is held, claims do not walk over the tasks that have ended since") {
  constexpr std::int64_t walked = 1'500'000;  // each claim would read twice, on average, 10,000 entries
  std::int64_t read = walked;
  // While another test keeps a transaction open the watermarks stay where they are.
  for (int tries = 0; tries < 15 && read >= walked; ++tries) read = entries_read_under_snapshot();
  CHECK(read < walked);
}

TEST_CASE("a task is found that is committed when those after it have long been claimed") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}, no_polling()};
  TaskId late = 0;
  db::Connection producer{database.settings()};
  producer.transaction([&] {
    late = test::Rows{producer.run({"enqueue", "select dogged.enqueue('work') as id"})}.one().number("id");
    move_watermarks(database);
    CHECK(database.status_of(late) == "none");
  });
  CHECK(eventually([&] { return database.status_of(late) == "succeeded"; }));
}

TEST_CASE("a task is found that falls due when those after it have long been claimed") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}, no_polling()};
  const TaskId waiting = database.client().enqueue(work, no_args, {.delay = 1h});
  move_watermarks(database);
  database.run("update dogged.tasks_live set run_at = now() where id = $1::bigint", db::Params{}.add(waiting));
  database.client().enqueue(work, no_args, {.delay = 1ms});  // makes the worker ask for the next due time
  CHECK(eventually([&] { return database.status_of(waiting) == "succeeded"; }));
}

TEST_CASE("a task is found that is rescued when those after it have long been claimed") {
  TestDatabase database;
  const TaskId lost = database.client().enqueue(work, no_args);
  const std::int64_t dead = add_worker(database);
  database.claim_all_for(dead);
  RunningWorker worker{database, {does_nothing()}, {.heartbeat = 50ms, .lease = 1s, .poll_interval = 10min}};
  move_watermarks(database);
  database.run("update dogged.workers set lease_until = now() where id = $1::bigint", db::Params{}.add(dead));
  RunningWorker rescuer{
      database, {does_nothing()}, {.queues = {{"other", 1}}, .create_queues = true, .heartbeat = 50ms, .lease = 1s}};
  CHECK(eventually([&] { return database.status_of(lost) == "succeeded"; }));
}

TEST_CASE(
    "a task that was claimed ahead, behind one that takes long, is run by an idle worker, which has long passed it") {
  TestDatabase database;
  Gate gate;
  RunningWorker busy{database,
                     {registered(work,
                                 [&](Context&, const nlohmann::json& args) {
                                   if (args.contains("hold")) gate.wait();
                                 })},
                     {.queues = {{"default", 1}}, .stop_grace = 20s, .poll_interval = 10min}};
  Client client = database.client();
  const TaskId quick = client.enqueue(work, no_args);  // so that tasks are claimed ahead
  REQUIRE(eventually([&] { return database.status_of(quick) == "succeeded"; }));
  const std::vector<nlohmann::json> both{{{"hold", true}}, no_args};
  const TaskId ahead = client.enqueue_many(work, both).back();
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  RunningWorker idle{database, {does_nothing()}, no_polling()};
  move_watermarks(database);
  CHECK(eventually([&] { return database.status_of(ahead) == "succeeded"; }));
  CHECK(database.history_of(ahead) == "1 succeeded false");
  gate.open();
}

TEST_CASE("a more urgent task runs next, though there is more to do than the worker can take") {
  TestDatabase database;
  Order order;
  Client client = database.client();
  client.enqueue_many(work, std::vector<nlohmann::json>(40'000, no_args));
  RunningWorker worker{database, {order.handler()}, no_polling()};
  REQUIRE(eventually([&] { return order.ran().size() > 5'000; }));
  client.enqueue(work, {{"n", 1}}, {.priority = -1});
  const std::size_t before = order.ran().size();  // perhaps with the urgent one
  REQUIRE(eventually([&] { return database.value("select count(*) as value from dogged.tasks_live") == "0"; }));
  const std::vector<int> ran = order.ran();
  const auto urgent = static_cast<std::size_t>(std::find(ran.begin(), ran.end(), 1) - ran.begin());
  CHECK(urgent < before + 10'000);
}

TEST_CASE("tasks run by priority, and then in the order in which they became ready") {
  TestDatabase database;
  Order order;
  Client client = database.client();
  const auto enqueue = [&](int n, const EnqueueOptions& options) { client.enqueue(work, {{"n", n}}, options); };
  enqueue(5, {.delay = 1ms});  // it becomes ready when a worker makes it so
  enqueue(3, {});
  enqueue(1, {.priority = -5});
  enqueue(4, {});
  enqueue(2, {.priority = -5});
  enqueue(6, {.priority = 1});
  RunningWorker worker{database, {order.handler()}, {.queues = {{"default", 1}}, .poll_interval = 10min}};
  REQUIRE(eventually([&] { return order.ran().size() == 6; }));
  CHECK(order.ran() == std::vector<int>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("a stream of urgent tasks in one queue does not make another queue wait") {
  TestDatabase database;
  std::atomic<int> busy_ran{0};
  std::atomic<int> busy_ran_before_last_of_quiet{0};
  constexpr Task<nlohmann::json> quiet_work{"quiet"};
  Client client = database.client();
  database.run("select dogged.create_queue('busy'), dogged.create_queue('quiet')");
  client.enqueue_many(work, std::vector<nlohmann::json>(40'000, no_args), {.queue = "busy", .priority = -100});
  client.enqueue_many(quiet_work, std::vector<nlohmann::json>(100, no_args), {.queue = "quiet", .priority = 100});
  RunningWorker worker{
      database,
      {registered(work, [&](Context&, const nlohmann::json&) { ++busy_ran; }),
       registered(quiet_work,
                  [&](Context&, const nlohmann::json&) { busy_ran_before_last_of_quiet = busy_ran.load(); })},
      {.queues = {{"busy", 4}, {"quiet", 1}}, .poll_interval = 10min}};
  REQUIRE(eventually([&] { return database.value("select count(*) as value from dogged.tasks_live") == "0"; }));
  CHECK(busy_ran_before_last_of_quiet < 20'000);
}

TEST_CASE("a sum of claims that arrives when the worker has begun another claim session changes nothing") {
  TestDatabase database;
  database.client().enqueue(work, no_args);
  const std::int64_t worker = add_worker(database);
  database.claim_all_for(worker);
  const auto sum_up = [&](std::int64_t session) {
    return database.connection().run(
        sql::SumUpClaims{.worker_id = worker, .claim_session = session, .from_claim = 0, .ids = {}});
  };
  database.connection().run(sql::BeginClaimSession{.worker_id = worker, .claim_session = 1});
  CHECK(sum_up(0).empty());
  CHECK(database.value("select cardinality(task_ids) as value from dogged.claims") == "1");
  CHECK(sum_up(1).size() == 1);
  CHECK(database.value("select cardinality(task_ids) as value from dogged.claims") == "0");
}

TEST_CASE("a task whose attempts have no next number keeps no other task of its queue waiting") {
  TestDatabase database;
  const TaskId spent = database.client().enqueue(work, no_args);
  database.run("update dogged.tasks_live set attempt = 2147483647");
  const TaskId next = database.client().enqueue(work, no_args);
  const RunningWorker worker{database, {registered(work, [](Context&, const nlohmann::json&) {})}};
  CHECK(eventually([&] { return database.status_of(next) == "succeeded"; }));
  CHECK(database.status_of(spent) == "pending");
}
