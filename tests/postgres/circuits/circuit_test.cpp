// Circuit breakers that all workers share: when one opens, what becomes of its tasks meanwhile, and how it closes.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <vector>

#include <pqxx/pqxx>

#include <dogged/retry_metrics.hpp>
#include <dogged/transaction.hpp>

#include "circuit/shared_circuit.hpp"
#include "circuits/circuits.hpp"
#include "cli/changes/forced_circuits.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::error_of;
using test::eventually;
using test::Gate;
using test::no_args;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;

namespace {

constexpr Task<nlohmann::json> charge{"card.charge"};
constexpr Task<nlohmann::json> refund{"card.refund"};
constexpr Task<nlohmann::json> other{"other"};
constexpr Task<nlohmann::json> unknown{"unknown"};

TaskOptions of_circuit(const CircuitBreakerSettings& settings, milliseconds retry_after = 1ms) {
  return {.retry = Fixed{.interval = retry_after, .max_retries = 20, .jitter = Jitter::none()},
          .auto_retry_for = {"BUSY"},
          .circuit = "payments-api",
          .circuit_settings = settings};
}

detail::RegisteredTask failing(const CircuitBreakerSettings& settings, const char* code = "BUSY") {
  return registered(
      charge,
      [code](Context&, const nlohmann::json&) {
        throw TaskError{code, "not now"};
      },
      of_circuit(settings, 1h));
}

detail::RegisteredTask succeeding(const Task<nlohmann::json>& task, const CircuitBreakerSettings& settings) {
  return registered(
      task, [](Context&, const nlohmann::json&) {}, of_circuit(settings));
}

/// Before any worker has declared it.
void make_circuit(TestDatabase& database, const std::string& state) {
  database.run(
      "insert into dogged.circuits (name, state, generation) values ('payments-api', $1::dogged.circuit_state, 7)",
      db::Params{}.add(state));
}

std::string state_of_circuit(TestDatabase& database) {
  return database.value("select state as value from dogged.circuits where name = 'payments-api'");
}

/// Whether the worker of this test has heard that the circuit is in this state.
bool is_known_as(CircuitState state) {
  const auto circuits = retry_metrics().snapshot().circuits;
  return std::any_of(circuits.begin(), circuits.end(),
                     [state](const auto& known) { return known.circuit == "payments-api" && known.state == state; });
}

constexpr std::string_view gauged = "gauged-api";  // no other test's: the metrics are those of the process

/// Whether the metrics of this process get to give the circuit this state.
bool is_shown_as(int state) {
  return eventually([state] {
    return contains(
        retry_metrics().to_prometheus_text(),
        "queue_circuit_breaker_state{circuit=\"" + std::string{gauged} + "\"} " + std::to_string(state) + "\n");
  });
}

/// A task of the circuit `gauged`, which opens at its first failure and closes at its first success.
detail::RegisteredTask of_gauged(std::function<void()> handle, milliseconds recovery_timeout) {
  TaskOptions options =
      of_circuit({.failure_threshold = 1, .recovery_timeout = recovery_timeout, .success_threshold = 1});
  options.circuit = gauged;
  return registered(
      charge, [handle = std::move(handle)](Context&, const nlohmann::json&) { handle(); }, options);
}

/// As an operator does that changes a circuit by hand and does not commit.
void lock_circuits(db::Connection& connection) {
  REQUIRE_FALSE(connection.run({"lock_circuits", "select from dogged.circuits for update"}).empty());
}

/// Rows that meet `condition` wait in `table`, before they are changed, until the test releases the advisory lock.
class HeldUp {
 public:
  HeldUp(TestDatabase& database, const std::string& table, const std::string& condition)
      : database_(database), transaction_(connection_) {
    database.script(
        "create function hold_up() returns trigger language plpgsql as "
        "$$ begin perform pg_advisory_xact_lock(1); return new; end $$;"
        "create trigger hold_up before update on " +
        table + " for each row when (" + condition + ") execute function hold_up()");
    transaction_.exec("select pg_advisory_xact_lock(1)");
  }

  [[nodiscard]] bool has_arrived() {
    return eventually([&] {
      return database_.value(
                 "select count(*) = 1 as value from pg_locks where locktype = 'advisory' and not granted "
                 "and database = (select oid from pg_database where datname = current_database())") == "t";
    });
  }
  void release() { transaction_.commit(); }

 private:
  TestDatabase& database_;
  pqxx::connection connection_{database_.settings().url};
  pqxx::work transaction_;
};

/// Whether the task waits, without an attempt, for at least `least`.
bool is_deferred(TestDatabase& database, TaskId id, const std::string& least) {
  return database.value(
             "select count(*) as value from dogged.tasks_live where id = $1::bigint and status = 'pending' and "
             "deferred "
             "and attempt = 0 and worker_id is null and next_retry_at > now() + $2::interval",
             db::Params{}.add(id).add(least)) == "1";
}

}  // namespace

TEST_CASE("failures in a row open a circuit, and then its tasks are deferred without an attempt") {
  TestDatabase database;
  RunningWorker worker{database,
                       {failing({.failure_threshold = 3, .recovery_timeout = 1h}),
                        succeeding(refund, {.failure_threshold = 3, .recovery_timeout = 1h}),
                        registered(other, [](Context&, const nlohmann::json&) {})}};
  Client client = database.client();
  const std::vector<TaskId> failed = client.enqueue_many(charge, std::vector<nlohmann::json>(3, no_args));
  REQUIRE(eventually([&] { return state_of_circuit(database) == "open"; }));
  REQUIRE(eventually([] { return is_known_as(CircuitState::open); }));  // the worker learns it a moment later
  const TaskId of_same = client.enqueue(charge, no_args);
  const TaskId of_other_task = client.enqueue(refund, no_args);
  const TaskId outside = client.enqueue(other, no_args);
  CHECK(eventually([&] { return database.status_of(outside) == "succeeded"; }));
  CHECK(eventually([&] { return is_deferred(database, of_same, "59 min"); }));
  CHECK(eventually([&] { return is_deferred(database, of_other_task, "59 min"); }));
  CHECK(database.attempts_of(of_same).empty());
  for (const TaskId id : failed) CHECK(database.history_of(id) == "1 failed true");
}

TEST_CASE("a circuit that one worker has opened is open for the others, which are told") {
  TestDatabase database;
  const CircuitBreakerSettings settings{.failure_threshold = 2, .recovery_timeout = 1h};
  RunningWorker second{database, {succeeding(refund, settings)}, {.name = "second", .poll_interval = 1h}};
  REQUIRE(test::worker_is_asleep(database, second.id()));
  {
    RunningWorker first{database, {failing(settings)}, {.name = "first"}};
    database.client().enqueue_many(charge, std::vector<nlohmann::json>(2, no_args));
    REQUIRE(eventually([&] { return state_of_circuit(database) == "open"; }));
  }
  const TaskId id = database.client().enqueue(refund, no_args);
  // A task that began before the worker heard has succeeded; at the latest the next is deferred.
  TaskId last = id;
  CHECK(eventually([&] {
    if (database.status_of(last) == "succeeded") last = database.client().enqueue(refund, no_args);
    return is_deferred(database, last, "59 min");
  }));
}

TEST_CASE("a few probes find out that the other side works again, and then all tasks run") {
  TestDatabase database;
  std::atomic<bool> is_down{true};
  const CircuitBreakerSettings settings{.failure_threshold = 3, .recovery_timeout = 50ms, .success_threshold = 2};
  RunningWorker worker{database,
                       {registered(
                           charge,
                           [&](Context&, const nlohmann::json&) {
                             if (is_down) throw TaskError{"BUSY", "not now"};
                           },
                           of_circuit(settings))}};
  database.client().enqueue_many(charge, std::vector<nlohmann::json>(30, no_args));
  REQUIRE(eventually([&] { return state_of_circuit(database) == "open"; }));
  is_down = false;
  CHECK(eventually(
      [&] { return database.value("select count(*) as value from dogged.tasks where status = 'succeeded'") == "30"; }));
  CHECK(eventually([&] { return state_of_circuit(database) == "closed"; }));
}

TEST_CASE("while it is half-open no more tasks run at once than can close it") {
  TestDatabase database;
  make_circuit(database, "half_open");
  Gate gate;
  const CircuitBreakerSettings settings{.recovery_timeout = 1h, .success_threshold = 2};
  RunningWorker worker{database,
                       {registered(
                           charge, [&](Context&, const nlohmann::json&) { gate.wait(); }, of_circuit(settings))}};
  database.client().enqueue_many(charge, std::vector<nlohmann::json>(10, no_args));
  CHECK(eventually([&] {
    return database.value("select count(*) as value from dogged.tasks_live where deferred and attempt = 0") == "8";
  }));
  CHECK(eventually([&] { return gate.arrived() == 2; }));
  CHECK(database.value("select probes as value from dogged.circuits") == "2");
  gate.open();
  CHECK(eventually([&] { return state_of_circuit(database) == "closed"; }));
}

TEST_CASE("a success that its handler's own transaction committed closes a circuit as well") {
  TestDatabase database;
  make_circuit(database, "half_open");
  const auto commit = [&](Context& context, const nlohmann::json&) {
    pqxx::connection connection{database.settings().url};
    pqxx::work transaction{connection};
    context.complete_in(transaction);
    transaction.commit();
  };
  RunningWorker worker{database,
                       {registered(charge, commit, of_circuit({.recovery_timeout = 1h, .success_threshold = 2}))}};
  database.client().enqueue_many(charge, std::vector<nlohmann::json>(2, no_args));
  CHECK(eventually([&] { return state_of_circuit(database) == "closed"; }));
}

TEST_CASE("a task that was deferred can be cancelled") {
  TestDatabase database;
  make_circuit(database, "open");
  RunningWorker worker{database, {succeeding(charge, {.recovery_timeout = 1h})}};
  const TaskId id = database.client().enqueue(charge, no_args);
  REQUIRE(eventually([&] { return is_deferred(database, id, "50 min"); }));
  CHECK(database.value("select dogged.cancel($1::bigint) as value", db::Params{}.add(id)) == "cancelled");
  CHECK(database.attempts_of(id).empty());
}

TEST_CASE("tasks that are deferred together do not come back together, but for a few") {
  TestDatabase database;
  make_circuit(database, "open");
  RunningWorker worker{database, {succeeding(charge, {.recovery_timeout = 1h, .success_threshold = 2})}};
  database.client().enqueue_many(charge, std::vector<nlohmann::json>(100, no_args));
  REQUIRE(eventually([&] {
    return database.value("select count(*) as value from dogged.tasks_live where deferred and attempt = 0") == "100";
  }));
  // At least the two probes. Another task may count too: with each second of delay, one run in 37 has one more.
  CHECK(database.value("select count(*) between 2 and 10 as value from dogged.tasks_live "
                       "where next_retry_at < now() + interval '1 hour'") == "t");
  CHECK(database.value(
            "select max(next_retry_at) between now() + interval '90 min' and now() + interval '2 hours' as value "
            "from dogged.tasks_live") == "t");
}

TEST_CASE("a probe that fails opens it again") {
  TestDatabase database;
  make_circuit(database, "half_open");
  RunningWorker worker{database, {failing({.failure_threshold = 100, .recovery_timeout = 1h})}};
  const TaskId id = database.client().enqueue(charge, no_args);
  CHECK(eventually([&] { return state_of_circuit(database) == "open"; }));
  CHECK(database.history_of(id) == "1 failed true");
}

TEST_CASE("a circuit whose row another session keeps locked holds up nothing, and is told later what attempts say") {
  TestDatabase database;
  RunningWorker worker{database,
                       {failing({.failure_threshold = 3, .recovery_timeout = 1h}),
                        registered(other, [](Context&, const nlohmann::json&) {})}};
  Client client = database.client();
  db::Connection operator_session{database.settings()};
  operator_session.transaction([&] {
    lock_circuits(operator_session);
    const std::vector<TaskId> failed = client.enqueue_many(charge, std::vector<nlohmann::json>(3, no_args));
    for (const TaskId id : failed) CHECK(eventually([&] { return database.history_of(id) == "1 failed true"; }));
    const TaskId outside = client.enqueue(other, no_args);
    CHECK(eventually([&] { return database.status_of(outside) == "succeeded"; }));
    CHECK(state_of_circuit(database) == "closed");
  });
  CHECK(eventually([&] { return state_of_circuit(database) == "open"; }));
}

TEST_CASE("an open circuit whose row another session keeps locked stays open, and its queue goes on") {
  TestDatabase database;
  make_circuit(database, "open");
  const CircuitBreakerSettings settings{.recovery_timeout = 1ms, .success_threshold = 1};
  std::atomic<int> ran{0};
  RunningWorker worker{database,
                       {registered(
                            charge, [&](Context&, const nlohmann::json&) { ++ran; }, of_circuit(settings)),
                        registered(other, [](Context&, const nlohmann::json&) {})}};
  REQUIRE(test::worker_is_asleep(database, worker.id()));  // it has read that the circuit is open
  Client client = database.client();
  db::Connection operator_session{database.settings()};
  TaskId id = 0;
  operator_session.transaction([&] {
    lock_circuits(operator_session);
    id = client.enqueue(charge, no_args);
    CHECK(eventually([&] { return is_deferred(database, id, "-1 s"); }));
    const TaskId outside = client.enqueue(other, no_args);
    CHECK(eventually([&] { return database.status_of(outside) == "succeeded"; }));
    CHECK(ran == 0);
  });
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(eventually([&] { return state_of_circuit(database) == "closed"; }));
}

TEST_CASE("a worker starts while another session keeps its circuit locked, if it declares nothing new of it") {
  TestDatabase database;
  const CircuitBreakerSettings settings{.recovery_timeout = 1h};
  { const RunningWorker first{database, {succeeding(charge, settings)}}; }
  db::Connection operator_session{database.settings()};
  operator_session.transaction([&] {
    lock_circuits(operator_session);
    RunningWorker second{database, {succeeding(charge, settings)}};
    const TaskId id = database.client().enqueue(charge, no_args);
    CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
  });
}

TEST_CASE("the backlog of an open circuit is deferred without being claimed, and tasks of others are not touched") {
  TestDatabase database;
  make_circuit(database, "open");
  database.script(
      "create table dogged.claimed (name text); "
      "create function dogged.note_claimed() returns trigger language plpgsql security definer as $$ begin "
      "insert into dogged.claimed values (new.name); return null; end $$; "
      "create trigger note_claimed after update on dogged.tasks_live for each row "
      "when (old.status = 'pending' and new.status = 'running') execute function dogged.note_claimed()");
  Gate gate;  // while it is closed no run has ended, and the worker asks for no more than it has threads
  Client client = database.client();
  (void)database.value("select dogged.create_queue('default') as value");
  for (int i = 0; i < 5; ++i) {
    client.enqueue_many(charge, std::vector<nlohmann::json>(500, no_args));
    client.enqueue_many(other, std::vector<nlohmann::json>(10, no_args));
    client.enqueue_many(unknown, std::vector<nlohmann::json>(10, no_args));
  }
  RunningWorker worker{database,
                       {succeeding(charge, {.recovery_timeout = 1h, .success_threshold = 2}),
                        registered(other, [&](Context&, const nlohmann::json&) { gate.wait(); })},
                       {.queues = {{"default", 100}}}};
  CHECK(eventually([&] {
    return database.value(
               "select count(*) as value from dogged.tasks_live where name = 'card.charge' and deferred and attempt = "
               "0 "
               "and worker_id is null and next_retry_at > now() + interval '50 min' "
               "and next_retry_at < now() + interval '121 min'") == "2500";
  }));
  CHECK(eventually([&] { return gate.arrived() == 50; }));
  gate.open();
  CHECK(eventually([&] {
    return database.value("select count(*) as value from dogged.tasks where name = 'other' and status = 'succeeded'") ==
           "50";
  }));
  CHECK(database.value("select count(*) < 500 as value from dogged.claimed where name = 'card.charge'") == "t");
  CHECK(database.value("select count(*) as value from dogged.tasks_live where name = 'unknown' and not deferred") ==
        "50");
  CHECK(database.value("select count(*) as value from dogged.task_attempts a join dogged.tasks t on t.id = a.task_id "
                       "where t.name = 'card.charge'") == "0");
}

TEST_CASE("a probe that is given back before it began makes room for another at once") {
  TestDatabase database;
  Gate gate;
  const CircuitBreakerSettings settings{.recovery_timeout = 1h, .success_threshold = 3};
  const auto holding = registered(
      charge,
      [&](Context&, const nlohmann::json& args) {
        if (args.contains("hold")) gate.wait();
      },
      of_circuit(settings));
  auto worker = std::make_unique<RunningWorker>(database, std::vector{holding},
                                                runtime::WorkerSettings{.queues = {{"default", 1}}});
  Client client = database.client();
  client.enqueue_many(charge,
                      std::vector<nlohmann::json>(50, no_args));  // quick ones, so that it takes several at once
  REQUIRE(eventually([&] { return database.value("select count(*) as value from dogged.task_attempts") == "50"; }));
  database.run("update dogged.circuits set state = 'half_open', generation = generation + 1");
  REQUIRE(database.run("select pg_notify('dogged.circuits', 'payments-api')").size() == 1);
  REQUIRE(eventually([] { return is_known_as(CircuitState::half_open); }));
  client.enqueue_many(charge, std::vector<nlohmann::json>(3, {{"hold", true}}));
  REQUIRE(eventually(
      [&] { return gate.arrived() == 1 && database.value("select probes as value from dogged.circuits") == "3"; }));
  auto stopped = std::async(std::launch::async, [&] { return worker->stop(); });
  CHECK(eventually([&] { return database.value("select probes as value from dogged.circuits") == "1"; }));
  gate.open();
  CHECK(stopped.get().given_back == 2);
}

TEST_CASE("a probe that its queue's retry budget puts off makes room for another at once") {
  TestDatabase database;
  make_circuit(database, "half_open");
  database.run(R"(select dogged.set_queue('default', '{"retry_budget": 0.001, "min_retries_per_second": 0.1}'))");
  Client client = database.client();
  client.enqueue_many(charge, std::vector<nlohmann::json>(3, no_args));
  database.run("update dogged.tasks_live set attempt = 1, retry_count = 1");
  Gate gate;
  RunningWorker worker{database,
                       {registered(
                           charge, [&](Context&, const nlohmann::json&) { gate.wait(); },
                           of_circuit({.recovery_timeout = 1h, .success_threshold = 3}))}};
  CHECK(eventually([&] { return gate.arrived() == 1; }));  // the one retry in 10 s that the budget allows
  CHECK(eventually([&] { return database.value("select probes as value from dogged.circuits") == "1"; }));
  gate.open();
}

TEST_CASE("a probe that is put off while its circuit is locked makes room after the lock, also in an idle worker") {
  TestDatabase database;
  make_circuit(database, "half_open");
  database.run(R"(select dogged.set_queue('default', '{"retry_budget": 0.001, "min_retries_per_second": 0.1}'))");
  Client client = database.client();
  client.enqueue_many(charge, std::vector<nlohmann::json>(3, no_args));
  database.run("update dogged.tasks_live set attempt = 1, retry_count = 1");
  HeldUp putting_off{database, "dogged.tasks_live", "old.status = 'running' and new.deferred"};
  Gate gate;
  RunningWorker worker{database,
                       {registered(
                           charge, [&](Context&, const nlohmann::json&) { gate.wait(); },
                           of_circuit({.recovery_timeout = 1h, .success_threshold = 3}))}};
  REQUIRE(putting_off.has_arrived());  // the circuit has let three probes through
  db::Connection operator_session{database.settings()};
  operator_session.transaction([&] {
    lock_circuits(operator_session);
    putting_off.release();
    REQUIRE(eventually([&] {  // the completer has met the lock
      return database.value(
                 "select count(*) as value from pg_stat_activity where application_name = $1 "
                 "and state = 'idle' and query not like '/* dogged:complete */%'",
                 db::Params{}.add(database.application() + " completer")) == "1";
    }));
    CHECK(database.value("select probes as value from dogged.circuits") == "3");
  });
  CHECK(eventually([&] { return database.value("select probes as value from dogged.circuits") == "1"; }));
  gate.open();
}

TEST_CASE("what an attempt says of its circuit is written also if the connection breaks meanwhile") {
  TestDatabase database;
  HeldUp writing{database, "dogged.circuits", "new.state = 'open'"};
  RunningWorker worker{database, {failing({.failure_threshold = 1, .recovery_timeout = 1h})}};
  database.client().enqueue(charge, no_args);
  REQUIRE(writing.has_arrived());
  REQUIRE(test::terminate_connection(database, "completer") == 1);
  writing.release();
  CHECK(eventually([&] { return state_of_circuit(database) == "open"; }));
}

TEST_CASE("no circuit's events are lost if the connection breaks while the first circuit is written") {
  TestDatabase database;
  make_circuit(database, "closed");
  database.run("insert into dogged.circuits (name, generation) values ('a-circuit', 7)");
  runtime::Circuits circuits{
      std::make_shared<const runtime::Definitions>(runtime::make_definitions({succeeding(charge, {})})),
      [] { return 0.5; }, std::make_shared<spdlog::logger>("test")};
  runtime::Report failed;
  failed.circuit_event = {detail::CircuitEvent::Kind::failure, 7};
  for (const char* circuit : {"a-circuit", "payments-api"}) {
    failed.circuit = circuit;
    circuits.note(failed);
  }
  db::Connection broken{database.settings()};
  broken.abort();
  CHECK_THROWS_AS(circuits.write_noted(broken), ConnectionError);
  CHECK(circuits.writes_at() != runtime::never);
  circuits.write_noted(database.connection());
  CHECK(circuits.writes_at() == runtime::never);
  CHECK(database.value("select string_agg(failures::text, ' ' order by name) as value from dogged.circuits") == "1 1");
}

TEST_CASE("an end that is found on record, since its first answer was lost, is told to the circuit") {
  TestDatabase database;
  const auto recorded_before_its_report = [&](Context& context, const nlohmann::json&) {
    db::Connection connection{database.settings()};
    const std::string text =
        "with held as (update dogged.tasks_live t set status = 'pending', worker_id = null, claimed_at = null, "
        "deferred = true, next_retry_at = now() + interval '1 hour' from dogged.tasks_live b "
        "where t.id = $1::bigint and b.id = t.id returning b.*) "
        "insert into dogged.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, started_at, "
        "finished_at, error_code, will_retry) "
        "select id, attempt, name, queue, 'failed', worker_id, claimed_at, claimed_at, clock_timestamp(), 'BUSY', "
        "false "
        "from held";
    connection.run({"record", text}, db::Params{}.add(context.task_id()));
    throw TaskError{"BUSY", "not now"};
  };
  RunningWorker worker{
      database,
      {registered(charge, recorded_before_its_report, of_circuit({.failure_threshold = 1, .recovery_timeout = 1h}))}};
  const TaskId id = database.client().enqueue(charge, no_args);
  CHECK(eventually([&] { return state_of_circuit(database) == "open"; }));
  CHECK(database.history_of(id) == "1 failed false");
}

TEST_CASE("a worker that hears no notifications learns of an open circuit by polling") {
  TestDatabase database;
  RunningWorker worker{
      database, {succeeding(charge, {.recovery_timeout = 1h})}, {.poll_interval = 20ms, .poll_only = true}};
  Client client = database.client();
  cli::open_circuit(database.connection(), "payments-api");
  TaskId id = client.enqueue(charge, no_args);
  REQUIRE(eventually([&] {
    if (database.status_of(id) == "succeeded") id = client.enqueue(charge, no_args);
    return is_deferred(database, id, "50 min");
  }));
  cli::close_circuit(database.connection(), "payments-api");
  CHECK(eventually([&] {  // its time has come; more than once, for before the next poll the worker defers it again
    database.run("update dogged.tasks_live set next_retry_at = now() where deferred");
    return database.status_of(id) == "succeeded";
  }));
}

TEST_CASE("a worker that lost its connection goes by what the next server says of a circuit") {
  TestDatabase database;
  make_circuit(database, "open");
  RunningWorker worker{database, {succeeding(charge, {.recovery_timeout = 1h})}, {.poll_interval = 10min}};
  REQUIRE(test::worker_is_asleep(database, worker.id()));
  REQUIRE(eventually([] { return is_known_as(CircuitState::open); }));
  database.run("update dogged.circuits set state = 'closed', generation = 3");  // as a server that was behind has it
  REQUIRE(eventually([&] { return test::terminate_connection(database, "claimer") == 1; }));
  const TaskId id = database.client().enqueue(charge, no_args);
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(is_known_as(CircuitState::closed));
}

TEST_CASE("a worker forgets the states of circuits with its connection") {
  TestDatabase database;
  make_circuit(database, "open");
  const auto definitions =
      std::make_shared<const runtime::Definitions>(runtime::make_definitions({succeeding(charge, {})}));
  runtime::Circuits circuits{definitions, [] { return 0.5; }, std::make_shared<spdlog::logger>("test")};
  circuits.refresh(database.connection());
  REQUIRE(circuits.ask(database.connection(), "payments-api", 1).is_open);
  circuits.forget();
  CHECK_FALSE(circuits.ask(database.connection(), "payments-api", 1).is_open);
}

TEST_CASE("failures that are not retried say nothing of the other side") {
  TestDatabase database;
  RunningWorker worker{database, {failing({.failure_threshold = 1, .recovery_timeout = 1h}, "NO_SUCH_CARD")}};
  Client client = database.client();
  for (int i = 0; i < 3; ++i) {
    const TaskId id = client.enqueue(charge, no_args);
    REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  }
  CHECK(state_of_circuit(database) == "closed");
  CHECK(database.value("select failures as value from dogged.circuits") == "0");
}

TEST_CASE("a circuit that was opened by hand stays open until it is closed by hand") {
  TestDatabase database;
  RunningWorker worker{database, {succeeding(charge, {.recovery_timeout = 20ms})}};
  Client client = database.client();
  CHECK(cli::open_circuit(database.connection(), "payments-api").circuit.state == CircuitState::open);
  // A task that began before the worker heard has succeeded; the next waits.
  TaskId id = client.enqueue(charge, no_args);
  REQUIRE(eventually([&] {
    if (database.status_of(id) == "succeeded") id = client.enqueue(charge, no_args);
    return is_deferred(database, id, "-1 s");
  }));
  const std::string deferred_until = "select next_retry_at::text as value from dogged.tasks_live where id = $1::bigint";
  const std::string before = database.value(deferred_until, db::Params{}.add(id));
  CHECK(eventually([&] {  // its recovery time is over, and it was deferred again
    const test::Rows rows = database.run(
        "select from dogged.tasks_live where id = $1::bigint and deferred and next_retry_at > $2::timestamptz",
        db::Params{}.add(id).add(before));
    return rows.size() == 1;
  }));
  CHECK(database.attempts_of(id).empty());
  CHECK(cli::close_circuit(database.connection(), "payments-api").circuit.state == CircuitState::closed);
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 succeeded false");
}

TEST_CASE("a worker's metrics show a circuit as closed, open, half-open while it is probed, and closed again") {
  TestDatabase database;
  TaskId id = 0;
  {
    RunningWorker worker{database, {of_gauged([] { throw TaskError{"BUSY", "not now"}; }, 1h)}};
    CHECK(is_shown_as(0));
    id = database.client().enqueue(charge, no_args);
    CHECK(is_shown_as(1));
  }
  database.run("update dogged.tasks_live set next_retry_at = now()");  // it was deferred for an hour
  Gate gate;
  RunningWorker worker{database, {of_gauged([&] { gate.wait(); }, 1ms)}};
  CHECK(is_shown_as(2));
  gate.open();
  CHECK(is_shown_as(0));
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
}

TEST_CASE("a worker's metrics show a circuit that is opened and closed by hand") {
  TestDatabase database;
  RunningWorker worker{database, {of_gauged([] {}, 1h)}};
  CHECK(is_shown_as(0));
  cli::open_circuit(database.connection(), gauged);
  CHECK(is_shown_as(1));
  cli::close_circuit(database.connection(), gauged);
  CHECK(is_shown_as(0));
}

TEST_CASE("a failure counts that follows the closing by hand of a circuit that was closed") {
  TestDatabase database;
  RunningWorker worker{database, {failing({.failure_threshold = 1, .recovery_timeout = 1h})}, {.poll_interval = 10min}};
  REQUIRE(test::worker_is_asleep(database, worker.id()));  // it has read the circuit
  cli::close_circuit(database.connection(), "payments-api");
  database.client().enqueue(charge, no_args);
  CHECK(eventually([&] { return state_of_circuit(database) == "open"; }));
}

TEST_CASE("the settings of a circuit are those of the worker that started last, and its state stays") {
  TestDatabase database;
  make_circuit(database, "open");
  RunningWorker worker{database,
                       {succeeding(charge, {.failure_threshold = 9, .recovery_timeout = 2h, .success_threshold = 3})}};
  CHECK(database.value(
            "select failure_threshold || ' ' || recovery_timeout_ms || ' ' || success_threshold || ' ' || state "
            "|| ' ' || generation as value from dogged.circuits") == "9 7200000 3 open 7");
  CHECK(database.value("select circuit as value from dogged.task_definitions") == "payments-api");
}

TEST_CASE("a circuit that no worker has declared cannot be changed, and the error says where to look") {
  TestDatabase database;
  const auto error = error_of<InvalidInput>([&] { cli::open_circuit(database.connection(), "nowhere"); });
  CHECK(contains(error.message(), "\"nowhere\""));
  CHECK(contains(error.hint(), "dogged circuits list"));
}

TEST_CASE("the audit names the operators that opened a circuit by hand and closed it") {
  TestDatabase database;
  make_circuit(database, "closed");
  cli::open_circuit(database.connection(), "payments-api", "ann@desk");
  cli::close_circuit(database.connection(), "payments-api");
  CHECK(database.value(
            "select string_agg((actor = 'ann@desk') || ' ' || action || ' ' || (details ->> 'circuit') || ' ' || "
            "(details ->> 'was'), ', ' order by id) as value from dogged.audit") ==
        "true open_circuit payments-api closed, false close_circuit payments-api open");
}
