// Durable steps: a later attempt gets what an earlier one has recorded.
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <dogged/transaction.hpp>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::eventually;
using test::Gate;
using test::no_args;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::work;

namespace {

constexpr TaskOptions retried{.retry = Fixed{.interval = 1ms, .max_retries = 3}, .auto_retry_for = {"AGAIN"}};

void fail_in_attempts_up_to(int last, const Context& context) {
  if (context.attempt() <= last) throw TaskError{"AGAIN", "once more"};
}

/// `sum 1 true`: the steps in their order, with the attempt and whether they count.
std::string steps_of(TestDatabase& database, TaskId id) {
  return database.value(
      "select string_agg(concat_ws(' ', name, attempt, counts::text), ', ' order by started_at, attempt) as value "
      "from dogged.task_steps_overview where task_id = $1::bigint",
      db::Params{}.add(id));
}

std::string message_of(TestDatabase& database) {
  return database.value("select error_code || ': ' || error_message as value from dogged.tasks");
}

}  // namespace

TEST_CASE("a step runs once for its task, and later attempts get what it gave") {
  TestDatabase database;
  std::atomic<int> runs{0};
  std::vector<std::string> given;
  const auto handler = registered(
      work,
      [&](Context& context, const nlohmann::json&) {
        given.push_back(context.step("text", [&] { return "run " + std::to_string(++runs); }));
        context.step("nothing", [&] { ++runs; });
        given.push_back(context.step("list",
                                     [] {
                                       return std::vector<int>{1, 2};
                                     }) == std::vector{1, 2}
                            ? "alike"
                            : "");
        fail_in_attempts_up_to(2, context);
      },
      retried);
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {handler}};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 failed true, 2 failed true, 3 succeeded false");
  CHECK(runs == 2);
  CHECK(given == std::vector<std::string>{"run 1", "alike", "run 1", "alike", "run 1", "alike"});
  CHECK(steps_of(database, id) == "text 1 true, nothing 1 true, list 1 true");
  CHECK(database.value("select result #>> '{}' as value from dogged.task_steps where name = 'text'") == "run 1");
}

TEST_CASE("a step on record is found by its name, also where a new version renames, removes or reorders steps") {
  TestDatabase database;
  std::vector<std::string> ran;
  const auto step = [&](Context& context, const std::string& name) {
    context.step(name, [&] { ran.push_back(name + " " + std::to_string(context.attempt())); });
  };
  const auto handler = registered(
      work,
      [&](Context& context, const nlohmann::json&) {
        if (context.attempt() == 1) {
          for (const char* name : {"reserve", "charge", "ship"}) step(context, name);
          throw TaskError{"AGAIN", "and now another version of the program"};
        }
        for (const char* name : {"ship", "reserve-seat", "charge"}) step(context, name);
      },
      retried);
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {handler}};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(ran == std::vector<std::string>{"reserve 1", "charge 1", "ship 1", "reserve-seat 2"});
  CHECK(steps_of(database, id) == "reserve 1 true, charge 1 true, ship 1 true, reserve-seat 2 true");
}

TEST_CASE("a first attempt that begins again after a failover does not repeat its recorded steps") {
  TestDatabase database;
  int runs = 0;
  int given = 0;
  const auto handler = registered(work, [&](Context& context, const nlohmann::json&) {
    given = context.step("charge", [&] { return ++runs; });
    CHECK(*context.checkpoint<int>("rows") == 12);
  });
  const TaskId id = database.client().enqueue(work, no_args);
  // The failover has lost the end of attempt 1, and not what the attempt had recorded before.
  database.script(
      "insert into dogged.task_steps select id, 'charge', 1, name, 7, now(), now(), '42' from dogged.tasks_live; "
      "insert into dogged.task_checkpoints select id, 'rows', 1, '12', now() from dogged.tasks_live");
  RunningWorker worker{database, {handler}};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 succeeded false");
  CHECK(runs == 0);
  CHECK(given == 42);
}

TEST_CASE("a step whose answer was lost is on record once, and does not run again") {
  TestDatabase database;
  database.script(
      "create function hold() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(4711); "
      "return new; end $$; create trigger hold before insert on dogged.task_steps for each row execute function "
      "hold()");
  std::atomic<int> runs{0};
  const auto handler =
      registered(work, [&](Context& context, const nlohmann::json&) { context.step("sum", [&] { return ++runs; }); });
  const TaskId id = database.client().enqueue(work, no_args);
  db::Connection user{database.settings()};
  std::string pid;
  user.transaction([&] {
    user.run({"hold", "select pg_advisory_xact_lock(4711)"}, {});
    RunningWorker worker{database, {handler}};
    REQUIRE(eventually([&] {
      const test::Rows rows = database.run(
          "select pid::text as pid from pg_stat_activity where datname = current_database() and "
          "query like '/* dogged:record_step */%' and wait_event_type = 'Lock'");
      if (!rows.empty()) pid = rows[0].text("pid");
      return !pid.empty();
    }));
    // As if that statement had been committed, and its connection lost before the answer.
    database.script(
        "set local session_replication_role = replica; insert into dogged.task_steps select id, 'sum', 1, name, "
        "worker_id, now(), now(), '1' from dogged.tasks_live");
    database.run("select pg_terminate_backend($1::int)", db::Params{}.add(pid));
    CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
  });
  CHECK(runs == 1);
  CHECK(steps_of(database, id) == "sum 1 true");
}

TEST_CASE("after a lost answer a step does not accept a late record of another attempt as its own") {
  TestDatabase database;
  database.script(
      "create function hold() returns trigger language plpgsql as $$ begin if new.attempt = 2 then perform "
      "pg_advisory_xact_lock(4711); end if; return new; end $$; create trigger hold before insert on "
      "dogged.task_steps for each row execute function hold()");
  const auto handler = registered(
      work,
      [&](Context& context, const nlohmann::json&) {
        fail_in_attempts_up_to(1, context);
        context.step("sum", [&] { return context.attempt(); });
      },
      retried);
  const TaskId id = database.client().enqueue(work, no_args);
  db::Connection user{database.settings()};
  user.run({"begin", "begin"});
  user.run({"hold", "select pg_advisory_xact_lock(4711)"});
  RunningWorker worker{database, {handler}};
  std::string pid;
  REQUIRE(eventually([&] {
    const test::Rows rows = database.run(
        "select pid::text as pid from pg_stat_activity where datname = current_database() and "
        "query like '/* dogged:record_step */%' and wait_event_type = 'Lock'");
    if (!rows.empty()) pid = rows[0].text("pid");
    return !pid.empty();
  }));
  // Attempt 1 began a record before it was lost, as if on another worker, and that record commits now.
  database.run(
      "insert into dogged.task_steps select id, 'sum', 1, name, worker_id, enqueued_at, now(), '1' from "
      "dogged.tasks_live");
  database.run("select pg_terminate_backend($1::int)", db::Params{}.add(pid));
  user.run({"commit", "commit"});
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(steps_of(database, id) == "sum 1 false, sum 2 true");
}

TEST_CASE("a step that throws is not recorded, and may be tried again in the same attempt") {
  TestDatabase database;
  int runs = 0;
  const auto handler = registered(
      work,
      [&](Context& context, const nlohmann::json&) {
        const auto step = [&] {
          return context.step("flaky", [&] { return ++runs < 3 ? throw TaskError{"AGAIN", ""} : runs; });
        };
        try {
          step();
        } catch (const TaskError&) {
          step();
        }
      },
      retried);
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {handler}};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(runs == 3);
  CHECK(steps_of(database, id) == "flaky 2 true");
}

TEST_CASE("a step that breaks a rule fails the attempt with INVALID_STEP, which is not retried") {
  const auto [step, message] = GENERATE(table<std::function<void(Context&)>, std::string>({
      {[](Context& context) {
         context.step("sum", [] { return 1; });
         context.step("sum", [] { return 2; });
       },
       "the step \"sum\" was used before in this attempt"},
      {[](Context& context) { context.step("a b", [] {}); }, "the name \"a b\" of a step is not 1 to 128 of"},
      {[](Context& context) { context.step("", [] {}); }, "the name \"\" of a step is not 1 to 128 of"},
      {[](Context& context) { context.step(std::string(129, 'x'), [] {}); }, "of a step is not 1 to 128 of"},
      {[](Context& context) { context.step("big", [] { return std::string(2'000'000, 'x'); }); },
       "the result of the step \"big\" has 2000002 bytes as JSON; the limit is 1048576"},
      {[](Context& context) { context.step("nan", [] { return std::numeric_limits<double>::quiet_NaN(); }); },
       "the result of the step \"nan\""},
  }));
  TestDatabase database;
  const auto handler = registered(work, [step = step](Context& context, const nlohmann::json&) { step(context); },
                                  {.auto_retry_for = {"*"}});
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {handler}};
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  CHECK(database.history_of(id) == "1 failed false");
  INFO(message_of(database));
  CHECK(contains(message_of(database), "INVALID_STEP: "));
  CHECK(contains(message_of(database), message));
}

TEST_CASE("a recorded result of another type fails the attempt, and says which step") {
  TestDatabase database;
  const auto handler = registered(
      work,
      [](Context& context, const nlohmann::json&) {
        if (context.attempt() == 1) {
          context.step("sum", [] { return std::string{"text"}; });
        } else {
          context.step("sum", [] { return 1; });
        }
        fail_in_attempts_up_to(1, context);
      },
      retried);
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {handler}};
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  CHECK(contains(message_of(database), "INVALID_STEP: the recorded result of the step \"sum\" is of another type"));
}

TEST_CASE("a name that is on record for another kind of step fails the attempt for good, and says for which") {
  using Use = std::function<void(Context&)>;
  const Use step = [](Context& context) { context.step("x", [] {}); };
  const Use sleep = [](Context& context) { context.sleep(1ms, "x"); };
  const Use event = [](Context& context) { (void)context.wait_event<nlohmann::json>("x", 1ms); };
  const auto [first, later, mistake] = GENERATE_COPY(table<Use, Use, std::string>(
      {{step, sleep, "is on record as a step, and this program uses the name for a sleep"},
       {step, event, "is on record as a step, and this program uses the name for an event"},
       {sleep, step, "is on record as a sleep, and this program uses the name for a step"},
       {event, step, "is on record as an event, and this program uses the name for a step"},
       {sleep, event, "is on record as a sleep, and this program uses the name for an event"}}));
  TestDatabase database;
  std::atomic<bool> is_newer{false};
  const auto handler = registered(
      work,
      [&, first = first, later = later](Context& context, const nlohmann::json&) {
        if (is_newer) return later(context);
        first(context);
        is_newer = true;
        throw TaskError{"AGAIN", "and now another version of the program"};
      },
      retried);
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {handler}};
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  CHECK(contains(message_of(database), "INVALID_STEP: \"x\" of task 1 " + mistake));
  CHECK(database.value("select count(*) as value from dogged.task_steps") == "1");
}

TEST_CASE("a step of a worker that has lost its task is not recorded, and throws LeaseLost") {
  TestDatabase database;
  Gate begun, lost;
  std::atomic<bool> has_thrown{false};
  const auto handler = registered(work, [&](Context& context, const nlohmann::json&) {
    try {
      context.step("late", [&] {
        begun.open();
        lost.wait();
      });
    } catch (const LeaseLost&) {
      has_thrown = true;
      throw;
    }
  });
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {handler}};
  begun.wait();
  database.run("update dogged.tasks_live set attempt = 2 where id = $1::bigint", db::Params{}.add(id));
  lost.open();
  REQUIRE(eventually([&] { return has_thrown.load(); }));
  CHECK(database.value("select count(*) as value from dogged.task_steps") == "0");
}

TEST_CASE("a replayed task keeps its steps, or runs them again where the replay says so") {
  const auto [steps, most_runs, recorded] = GENERATE(table<ReplaySteps, int, std::string>(
      {{ReplaySteps::keep, 1, "sum 1 true"}, {ReplaySteps::again, 2, "sum 1 false, sum 2 true"}}));
  TestDatabase database;
  std::atomic<int> runs{0};
  const auto handler = registered(work, [&](Context& context, const nlohmann::json&) {
    context.step("sum", [&] { return ++runs; });
    if (context.attempt() == 1) throw TaskError{"BROKEN", "for good"};
  });
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {handler}};
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  CHECK(database.client().replay(id, steps) == ReplayResult::replayed);
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(runs == most_runs);
  CHECK(steps_of(database, id) == recorded);
  CHECK_THROWS_AS(database.run("select dogged.replay(1, steps => 'some')"), InvalidInput);
}

namespace {

/// A handler's connection, on which it writes to the table `ledger`.
struct Ledger {
  explicit Ledger(TestDatabase& of_database) : database(of_database), connection(database.settings().url) {
    database.run("create table if not exists dogged.ledger (entry text)");
  }
  void write(pqxx::transaction_base& transaction, const std::string& entry) const {
    transaction.exec("insert into " + database.schema() + ".ledger values ('" + entry + "')");
  }
  [[nodiscard]] std::string entries() const {
    return database.value("select coalesce(string_agg(entry, ' ' order by entry), '') as value from dogged.ledger");
  }

  TestDatabase& database;
  pqxx::connection connection;
};

}  // namespace

TEST_CASE(
    "what step_in writes happens once, however often its attempts fail afterwards or its transaction rolls back") {
  TestDatabase database;
  Ledger ledger{database};
  std::vector<int> given;
  const auto handler = registered(
      work,
      [&](Context& context, const nlohmann::json&) {
        const auto charge = [&](bool commits) {
          pqxx::work transaction{ledger.connection};
          given.push_back(context.step_in(transaction, "charge", [&] {
            ledger.write(transaction, "charged");
            return 42;
          }));
          if (commits) transaction.commit();
        };
        charge(false);
        if (context.attempt() > 1) charge(true);
        fail_in_attempts_up_to(3, context);
      },
      retried);
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {handler}};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 failed true, 2 failed true, 3 failed true, 4 succeeded false");
  CHECK(ledger.entries() == "charged");
  CHECK(given == std::vector<int>(given.size(), 42));
  CHECK(steps_of(database, id) == "charge 2 true");
}

TEST_CASE("no step, wait or step_in is repeated after a clock that was days ahead at the enqueue is set back") {
  TestDatabase database;
  Ledger ledger{database};
  std::vector<std::string> ran;
  const auto handler = registered(
      work,
      [&](Context& context, const nlohmann::json&) {
        context.step("sum", [&] { ran.push_back("sum " + std::to_string(context.attempt())); });
        context.sleep(1ms, "nap");
        pqxx::work transaction{ledger.connection};
        context.step_in(transaction, "charge", [&] { ledger.write(transaction, "charged"); });
        transaction.commit();
        fail_in_attempts_up_to(3, context);
        if (context.attempt() == 4) throw TaskError{"BROKEN", "for good"};
      },
      retried);
  const TaskId id = database.client().enqueue(work, no_args);
  database.run("update dogged.tasks_live set enqueued_at = now() + interval '2 days'");
  RunningWorker worker{database, {handler}};
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  CHECK(database.history_of(id) == "1 snoozed true, 2 failed true, 3 failed true, 4 failed false");
  CHECK(ran == std::vector<std::string>{"sum 1"});
  CHECK(ledger.entries() == "charged");

  CHECK(database.client().replay(id, ReplaySteps::again) == ReplayResult::replayed);
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(ran == std::vector<std::string>{"sum 1", "sum 5"});
  CHECK(ledger.entries() == "charged charged");
}

TEST_CASE("a step_in that this attempt has committed gives its record, and writes nothing again") {
  TestDatabase database;
  Ledger ledger{database};
  const auto handler = registered(work, [&](Context& context, const nlohmann::json&) {
    for (int i = 0; i < 2; ++i) {
      pqxx::work transaction{ledger.connection};
      context.step_in(transaction, "charge", [&] { ledger.write(transaction, "charged"); });
      transaction.commit();
    }
  });
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {handler}};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(ledger.entries() == "charged");
  CHECK(steps_of(database, id) == "charge 1 true");
}

TEST_CASE("step_in takes effect once at any isolation, although its first commit is newer than the second snapshot") {
  TestDatabase database;
  Ledger first{database};
  Ledger second{database};
  const std::string id = std::to_string(database.client().enqueue(work, no_args));
  database.run("update dogged.tasks_live set status = 'running', attempt = 1, worker_id = 1, claimed_at = now()");
  const std::string step_in = "select " + database.schema() + ".step_in(" + id + ", 1, 1, 'charge', '1', 1000)";
  const std::string isolation = GENERATE("read committed", "repeatable read", "serializable");
  pqxx::nontransaction{second.connection}.exec("set default_transaction_isolation = '" + isolation + "'");
  pqxx::work before{first.connection};
  first.write(before, "charged");
  before.exec(step_in);
  pqxx::work again{second.connection};
  second.write(again, "charged");  // with a snapshot in which the first one is still open
  before.commit();
  CHECK_THROWS_AS(again.exec(step_in), pqxx::failure);
  again.abort();
  CHECK(first.entries() == "charged");
  CHECK(database.value("select count(*) as value from dogged.task_steps") == "1");
}

TEST_CASE("step_in of a worker that has lost its task commits nothing, and keeps the task until its transaction ends") {
  TestDatabase database;
  Ledger ledger{database};
  Gate begun, lost, written, seen;
  std::atomic<bool> has_thrown{false};
  const auto handler = registered(work, [&](Context& context, const nlohmann::json& args) {
    pqxx::work transaction{ledger.connection};
    try {
      context.step_in(transaction, "charge", [&] {
        ledger.write(transaction, "charged");
        begun.open();
        if (args.contains("lose")) lost.wait();
      });
    } catch (const LeaseLost&) {
      has_thrown = true;
      throw;
    }
    written.open();
    seen.wait();
    transaction.commit();
  });
  RunningWorker worker{database, {handler}};
  SECTION("lost before") {
    const TaskId id = database.client().enqueue(work, {{"lose", true}});
    begun.wait();
    database.run("update dogged.tasks_live set attempt = 2 where id = $1::bigint", db::Params{}.add(id));
    lost.open();
    REQUIRE(eventually([&] { return has_thrown.load(); }));
    CHECK(ledger.entries().empty());
  }
  SECTION("held meanwhile") {
    const TaskId id = database.client().enqueue(work, no_args);
    written.wait();
    CHECK(database.value("select count(*) as value from (select from dogged.tasks_live where id = $1::bigint "
                         "for update skip locked) as free",
                         db::Params{}.add(id)) == "0");
    seen.open();
    REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
    CHECK(ledger.entries() == "charged");
  }
}

namespace {

struct Position {
  int row = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Position, row)

}  // namespace

TEST_CASE("a loop that a shutdown stops goes on elsewhere where it was, and has spent no retry") {
  TestDatabase database;
  std::vector<int> rows;
  Gate at_third, stopping;
  const auto handler = registered(work, [&](Context& context, const nlohmann::json&) {
    auto at = context.checkpoint<Position>("rows");
    while (at->row < 5) {
      if (context.attempt() == 1 && at->row == 3) {
        at_third.open();
        REQUIRE(test::wait_for_stop_token(context));
      }
      rows.push_back(at->row);
      at.advance({at->row + 1});
    }
  });
  const TaskId id = database.client().enqueue(work, no_args);
  {
    RunningWorker worker{database, {handler}, {.grace = 1ms}};
    at_third.wait();
    worker.stop();
  }
  CHECK(rows == std::vector{0, 1, 2, 3});
  RunningWorker worker{database, {handler}};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 interrupted true, 2 succeeded false");
  CHECK(rows == std::vector{0, 1, 2, 3, 4});
  CHECK(database.value("select retry_count as value from dogged.tasks") == "0");
}

TEST_CASE("checkpoints break the same rules as steps") {
  TestDatabase database;
  const auto handler = registered(work, [](Context& context, const nlohmann::json&) {
    context.step("rows", [] {});
    (void)context.checkpoint<Position>("rows");
  });
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {handler}};
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  CHECK(contains(message_of(database), "INVALID_STEP: the step \"rows\" was used before in this attempt"));
}

TEST_CASE("a worker whose tasks have no steps opens no connection for them") {
  TestDatabase database;
  const auto connections = [&] {
    return database.value("select count(*) as value from pg_stat_activity where application_name = $1",
                          db::Params{}.add(database.application() + " handlers"));
  };
  const auto handler = registered(work, [](Context& context, const nlohmann::json& args) {
    if (args.contains("step")) context.step("one", [] {});
  });
  Client client = database.client();
  RunningWorker worker{database, {handler}};
  const TaskId without = client.enqueue(work, no_args);
  REQUIRE(eventually([&] { return database.status_of(without) == "succeeded"; }));
  CHECK(connections() == "0");
  const TaskId with = client.enqueue(work, {{"step", true}});
  REQUIRE(eventually([&] { return database.status_of(with) == "succeeded"; }));
  CHECK(connections() == "1");
}

TEST_CASE("steps of a task that hides its args are shown hidden, and none can be changed") {
  TestDatabase database;
  const auto handler = registered(
      work, [](Context& context, const nlohmann::json&) { context.step("card", [] { return std::string{"4711"}; }); },
      {.redact = {"/card"}});
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {handler}};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.value("select result #>> '{}' as value from dogged.task_steps_overview") == "[redacted]");
  for (const std::string statement :
       {"update dogged.task_steps set attempt = 9", "delete from dogged.task_steps", "truncate dogged.task_steps"}) {
    CHECK_THROWS_AS(database.run(statement), InvalidInput);
  }
}
