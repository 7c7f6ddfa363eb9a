// Leases: which worker holds a task, for how long, and what becomes of the task when its worker is dead or taken for
// dead.
#include "sql/lease.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <spdlog/sinks/null_sink.h>
#include <spdlog/sinks/ringbuffer_sink.h>

#include "lease/shared_lease.hpp"
#include "run/executor.hpp"
#include "sql/registration.hpp"
#include "sql/upkeep.hpp"
#include "support/catch.hpp"
#include "support/counting_listener.hpp"
#include "support/start_upkeep.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::add_worker;
using test::contains;
using test::does_nothing;
using test::error_of;
using test::eventually;
using test::Gate;
using test::no_args;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::wait_for_stop_token;
using test::work;
using test::worker_is_asleep;

namespace {

runtime::WorkerSettings quick() { return {.heartbeat = 50ms, .lease = 500ms, .stop_grace = 20s}; }

/// A worker that died: its lease has lapsed, and it holds every pending task.
std::int64_t make_dead_worker(TestDatabase& database) {
  const std::int64_t id = add_worker(database, "0");
  database.claim_all_for(id);
  return id;
}

/// The answer has come at once.
void renew(runtime::SharedLease& lease) {
  const auto now = std::chrono::steady_clock::now();
  (void)lease.note_renewed(now, now);
}

std::string ended_leases(TestDatabase& database) {
  return database.value("select count(*) as value from dogged.workers where lease_ended_at is not null");
}

/// Waits until the only worker's upkeep has asked once more what there is to do.
bool upkeep_looks_again(TestDatabase& database) {
  const auto last_look = [&] {
    return database.value(
        "select coalesce(max(query_start)::text, '') as value from pg_stat_activity where datname = current_database() "
        "and application_name = $1 and "
        "state = 'idle' and (query like '/* dogged:upkeep_due */%' or query like '/* dogged:differing_definitions "
        "*/%')",
        db::Params{}.add(database.application() + " upkeep"));
  };
  return eventually([&, before = last_look()] { return last_look() > before; });
}

/// Holds the row of a worker, so that it cannot renew its lease, while `during` runs.
template <class During>
void without_heartbeat(TestDatabase& database, std::int64_t worker_id, During&& during) {
  db::Connection user{database.settings()};
  user.transaction([&] {
    user.run({"hold", "select from dogged.workers where id = $1::bigint for no key update"},
             db::Params{}.add(worker_id));
    during();
  });
}

/// Takes a task away from its worker, as a rescuer does.
void take_away(TestDatabase& database, TaskId id) {
  database.run(
      "update dogged.tasks_live set status = 'pending', run_at = now() + interval '1 hour', deferred = true where id = "
      "$1::bigint",
      db::Params{}.add(id));
}

}  // namespace

TEST_CASE("a worker renews its lease for as long as it lives") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}, quick()};
  CHECK(eventually([&] {
    return database.value(
               "select lease_until > started_at + interval '700 milliseconds' as value from dogged.workers") == "t";
  }));
  CHECK(ended_leases(database) == "0");
}

TEST_CASE("the tasks of a dead worker are lost, and run again at once") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  const std::int64_t dead = make_dead_worker(database);
  RunningWorker worker{database, {does_nothing()}, quick()};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 lost true, 2 succeeded false");
  CHECK(database.value("select error_code || ' ' || (started_at = claimed_at) || ' ' || (next_retry_at = finished_at) "
                       "|| ' ' || delay_ms as value from dogged.task_attempts where attempt = 1 and worker_id = "
                       "$1::bigint",
                       db::Params{}.add(dead)) == "WORKER_LOST true true 0");
  CHECK(database.value("select retry_count || ' ' || losses as value from dogged.tasks") == "0 1");
  CHECK(eventually([&] {
    return database.value("select rescued_at >= lease_ended_at as value from dogged.workers where id = $1::bigint",
                          db::Params{}.add(dead)) == "t";
  }));
}

TEST_CASE("every task that runs stands in its worker's claims, of which there is one a second") {
  TestDatabase database;
  Gate gate;
  RunningWorker worker{database,
                       {registered(work,
                                   [&](Context&, const nlohmann::json& args) {
                                     if (args.contains("hold")) gate.wait();
                                   })},
                       {.queues = {{"default", 3}}}};
  Client client = database.client();
  client.enqueue(work, {{"hold", true}});
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  const auto claims = [&] { return database.run("select from dogged.claims").size(); };
  std::size_t most = 0, summed_up = 0;
  while (summed_up < 2) {
    const std::size_t before = claims();
    const TaskId quick = client.enqueue(work, no_args);
    REQUIRE(eventually([&] { return database.status_of(quick) == "succeeded"; }));
    most = std::max(most, before);
    if (claims() < before) ++summed_up;
  }
  CHECK(most > 1);
  CHECK(database.value("select count(*) as value from dogged.tasks_live t where status = 'running' and exists (select "
                       "from dogged.claims c where c.worker_id = t.worker_id and t.id = any (c.task_ids))") == "1");
  // The held tasks, the tasks just claimed, and the tasks just ended whose reports the worker does not know to be
  // written.
  CHECK(database.value("select min(cardinality(task_ids)) <= 3 as value from dogged.claims") == "t");
  gate.open();
}

TEST_CASE("a task that keeps killing its workers is dead-lettered by its third loss") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  database.run("update dogged.tasks_live set losses = 2");
  (void)make_dead_worker(database);
  RunningWorker worker{database, {does_nothing()}, quick()};
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  CHECK(database.history_of(id) == "1 lost false");
  CHECK(database.value("select error_code as value from dogged.dead_letters") == "WORKER_LOST");
}

TEST_CASE("the stored definition says how many losses a task may have, whether any, and what it becomes") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  (void)make_dead_worker(database);
  const TaskOptions options = GENERATE(TaskOptions{.retry_lost = false}, TaskOptions{.max_losses = 1},
                                       TaskOptions{.max_losses = 1, .dead_letter = false});
  RunningWorker worker{database, {does_nothing(options)}, quick()};
  REQUIRE(eventually([&] { return database.status_of(id) == (options.dead_letter ? "failed" : "discarded"); }));
  CHECK(database.history_of(id) == "1 lost false");
}

TEST_CASE("a lost task whose cancellation was requested does not run again") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  (void)make_dead_worker(database);
  database.run("select dogged.cancel($1::bigint)", db::Params{}.add(id));
  RunningWorker worker{database, {does_nothing()}, quick()};
  REQUIRE(eventually([&] { return database.status_of(id) == "cancelled"; }));
  CHECK(database.history_of(id) == "1 lost false");
}

TEST_CASE("tasks that this worker does not know are rescued as well") {
  TestDatabase database;
  database.client().enqueue(NewTask{"unknown", "{}", {}});
  (void)make_dead_worker(database);
  RunningWorker worker{database, {does_nothing()}, quick()};
  CHECK(eventually([&] { return database.value("select status as value from dogged.tasks") == "pending"; }));
  CHECK(database.value("select outcome || ' ' || will_retry as value from dogged.task_attempts") == "lost true");
}

TEST_CASE("a schedule whose ticks the database refuses keeps no task of a dead worker from being rescued") {
  TestDatabase database;
  database.script(R"(
    create function dogged.refuse() returns trigger language plpgsql as $$
      begin raise exception 'refused' using errcode = 'check_violation'; end $$;
    create trigger refuse before insert on dogged.schedule_ticks for each row execute function dogged.refuse();
    select dogged.schedule('nightly', 'work', 'every 1h');
    update dogged.schedules set next_at = now() - interval '1 minute', fires_at = now() - interval '1 minute';)");
  const TaskId id = database.client().enqueue(work, no_args);
  (void)make_dead_worker(database);
  RunningWorker worker{database, {does_nothing()}, quick()};
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 lost true, 2 succeeded false");
}

TEST_CASE("a refused rescue is logged once, is tried until it works, and holds up no other rescue") {
  TestDatabase database;
  database.script(R"(
    create sequence dogged.refusals;
    create function dogged.refuse() returns trigger language plpgsql as $$
      begin raise exception 'an operator refuses %', nextval('dogged.refusals'); end $$;
    create trigger refuse before insert on dogged.task_attempts for each row when (new.name = 'refused')
      execute function dogged.refuse();
    select dogged.enqueue('refused', queue => 'default');)");
  (void)make_dead_worker(database);
  const TaskId id = database.client().enqueue(work, no_args);
  (void)make_dead_worker(database);

  const auto lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(1000);
  const auto log = std::make_shared<spdlog::logger>("test", lines);
  const std::int64_t rescuer = add_worker(database);
  const auto upkeep =
      test::start_upkeep(database, {.heartbeat = 1s},
                         std::make_shared<runtime::SharedLease>(rescuer, 10s, std::chrono::steady_clock::now()), log);
  CHECK(eventually([&] { return database.history_of(id) == "1 lost true"; }));
  CHECK(eventually([&] { return database.value("select last_value >= 3 as value from dogged.refusals") == "t"; }));
  database.run("drop trigger refuse on dogged.task_attempts");
  CHECK(eventually([&] {
    return database.value("select count(*) as value from dogged.task_attempts where name = 'refused'") == "1";
  }));
  const auto logged = lines->last_formatted();
  CHECK(std::count_if(logged.begin(), logged.end(),
                      [](const std::string& line) { return contains(line, "cannot be rescued: "); }) == 1);
}

TEST_CASE("a mistake of dogged in a rescue ends the worker, and is not tried for ever") {
  TestDatabase database;
  database.script(R"(
    create function dogged.mistake() returns trigger language plpgsql as $$
      begin raise exception 'column "gone" does not exist' using errcode = 'undefined_column'; end $$;
    create trigger mistake before insert on dogged.task_attempts for each row when (new.outcome = 'lost')
      execute function dogged.mistake();)");
  (void)database.client().enqueue(work, no_args);
  (void)make_dead_worker(database);
  RunningWorker worker{database, {does_nothing()}, quick()};
  const auto error = error_of<Defect>([&] { (void)worker.wait(); });
  CHECK(contains(error.message(), "upkeep"));
  CHECK(contains(error.message(), "gone"));
}

TEST_CASE("thousands of lost tasks are rescued by several workers, each once") {
  TestDatabase database;
  Client client = database.client();
  client.enqueue_many(work, std::vector<nlohmann::json>(3000, no_args));
  (void)make_dead_worker(database);
  RunningWorker first{database, {does_nothing()}, quick()};
  RunningWorker second{database, {does_nothing()}, quick()};
  REQUIRE(eventually([&] {
    return database.value("select count(*) as value from dogged.tasks where status = 'succeeded'") == "3000";
  }));
  CHECK(database.value("select count(*) as value from dogged.task_attempts where outcome = 'lost' and attempt = 1") ==
        "3000");
  CHECK(database.value(
            "select count(*) as value from dogged.task_attempts where outcome = 'succeeded' and attempt = 2") ==
        "3000");
  CHECK(database.value("select count(*) as value from dogged.task_attempts") == "6000");
}

TEST_CASE("rescued tasks wake a worker that sleeps, where the rescuer does not serve their queue") {
  TestDatabase database;
  constexpr Task<nlohmann::json> other{"other"};
  const auto of_other_queue = registered(other, [](Context&, const nlohmann::json&) {}, {.queue = "other"});
  RunningWorker sleeper{database, {does_nothing()}, {.heartbeat = 5min, .lease = 20min, .poll_interval = 10min}};
  RunningWorker rescuer{database, {of_other_queue}, quick()};
  std::int64_t dead = 0;
  database.connection().transaction([&] {
    database.run("select dogged.enqueue('work')");
    dead = make_dead_worker(database);
    database.run("update dogged.workers set lease_until = now() + interval '1 hour' where id = $1::bigint",
                 db::Params{}.add(dead));
  });
  REQUIRE(worker_is_asleep(database, sleeper.id()));
  database.run("update dogged.workers set lease_until = now() where id = $1::bigint", db::Params{}.add(dead));
  CHECK(eventually([&] { return database.value("select status::text as value from dogged.tasks") == "succeeded"; }));
}

TEST_CASE("tasks that a rescue has made ready before its connection breaks run at once") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}, {.heartbeat = 50ms, .lease = 30s, .poll_interval = 10min}};
  const auto hold = [&] {
    std::pair<TaskId, std::int64_t> held;
    database.connection().transaction([&] {
      held.first = std::stoll(database.value("select dogged.enqueue('work') as value"));
      held.second = make_dead_worker(database);
      database.run("update dogged.workers set lease_until = now() + interval '1 hour' where id = $1::bigint",
                   db::Params{}.add(held.second));
    });
    return held;
  };
  const auto [first, first_dead] = hold();
  const auto [second, second_dead] = hold();
  database.script(
      "create function dogged.hang() returns trigger language plpgsql as "
      "$$ begin perform pg_sleep(600); return new; end $$;"
      "create trigger hang before insert on dogged.task_attempts for each row when (new.task_id = " +
      std::to_string(second) + ") execute function dogged.hang()");
  REQUIRE(worker_is_asleep(database, worker.id()));
  database.run("update dogged.workers set lease_until = now() where id in ($1::bigint, $2::bigint)",
               db::Params{}.add(first_dead).add(second_dead));
  REQUIRE(eventually([&] {
    return database.value(
               "select count(pg_terminate_backend(pid)) as value from pg_stat_activity "
               "where application_name = $1 and wait_event = 'PgSleep'",
               db::Params{}.add(database.application() + " upkeep")) == "1";
  }));
  CHECK(eventually([&, id = first] { return database.history_of(id) == "1 lost true, 2 succeeded false"; }));
}

TEST_CASE("a lease that lapses is ended in time also where the two workers that began first do not look") {
  TestDatabase database;
  (void)add_worker(database);
  (void)add_worker(database);
  const TaskId id = database.client().enqueue(work, no_args);
  const std::int64_t dead = add_worker(database, "2 seconds");
  database.claim_all_for(dead);
  RunningWorker rescuer{database, {does_nothing()}, {.heartbeat = 5min, .lease = 20min, .poll_interval = 10min}};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 lost true, 2 succeeded false");
}

TEST_CASE("a worker that has not had the server for a while ends no leases before it has it again") {
  TestDatabase database;
  const std::int64_t id = add_worker(database);
  (void)add_worker(database, "0");
  const auto log = std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
  const auto lease = std::make_shared<runtime::SharedLease>(id, 1h, std::chrono::steady_clock::now() - 40min);
  const auto upkeep = test::start_upkeep(database, {.heartbeat = 1s}, lease, log);
  REQUIRE(upkeep_looks_again(database));
  REQUIRE(upkeep_looks_again(database));
  REQUIRE(upkeep_looks_again(database));
  CHECK(ended_leases(database) == "0");
  renew(*lease);  // after a gap; no renewal since
  CHECK(eventually([&] { return ended_leases(database) == "1"; }));
}

TEST_CASE("a worker that had not had the server for a while lets the others renew their leases") {
  TestDatabase database;
  const std::int64_t id = add_worker(database);
  const std::int64_t other = add_worker(database, "0");
  const auto lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(10);
  const auto log = std::make_shared<spdlog::logger>("test", lines);
  const auto lease = std::make_shared<runtime::SharedLease>(id, 1h, std::chrono::steady_clock::now() - 40min);
  renew(*lease);  // a moment ago, but after a long gap
  const auto upkeep = test::start_upkeep(database, {.heartbeat = 1s}, lease, log);
  REQUIRE(eventually([&] {
    const auto logged = lines->last_formatted();
    return std::any_of(logged.begin(), logged.end(),
                       [](const std::string& line) { return contains(line, "they get at least 1s to renew"); });
  }));
  database.run("update dogged.workers set lease_until = clock_timestamp() + interval '1 hour' where id = $1::bigint",
               db::Params{}.add(other));
  renew(*lease);
  REQUIRE(upkeep_looks_again(database));
  CHECK(ended_leases(database) == "0");
}

TEST_CASE("the two workers that are there and began first look after all, and the next when one of them is gone") {
  TestDatabase database;
  std::vector<std::int64_t> workers;
  for (int i = 0; i < 5; ++i) workers.push_back(add_worker(database));
  const auto who_comes_first = [&] {
    std::vector<std::int64_t> first;
    for (const std::int64_t id : workers) {
      const sql::UpkeepDue due{.worker_id = id, .back_ms = std::nullopt};
      if (db::one(database.connection().run(due)).comes_first) first.push_back(id);
    }
    return first;
  };
  CHECK(who_comes_first() == std::vector{workers[0], workers[1]});
  for (const std::string how : {"lease_ended_at", "stopped_at"}) {
    INFO(how);
    database.run("update dogged.workers set " + how + " = now() where id = $1::bigint", db::Params{}.add(workers[0]));
    workers.erase(workers.begin());
    CHECK(who_comes_first() == std::vector{workers[0], workers[1]});
  }
}

TEST_CASE("a heartbeat changes no index") {
  TestDatabase database;
  const std::int64_t id = add_worker(database);
  db::Connection worker{database.settings()};
  const sql::Heartbeat heartbeat{.is_stopping = false,
                                 .fenced = 0,
                                 .abandoned_threads = 0,
                                 .clock_ahead_ms = 0,
                                 .clock_uncertainty_ms = 0,
                                 .worker_id = id};
  worker.transaction([&] {
    for (int i = 0; i < 10; ++i) (void)worker.run(heartbeat);
    const test::Rows updates = worker.run(
        {"updates",
         "select n_tup_upd, n_tup_hot_upd from pg_stat_xact_user_tables where relid = 'dogged.workers'::regclass"});
    CHECK(updates.one().number("n_tup_upd") == 10);
    CHECK(updates.one().number("n_tup_hot_upd") == 10);
  });
}

TEST_CASE("a task that its handler's transaction holds is not waited for by the rescue of the others") {
  TestDatabase database;
  Client client = database.client();
  const TaskId held = client.enqueue(work, no_args);
  const TaskId other = client.enqueue(work, no_args);
  (void)make_dead_worker(database);
  db::Connection user{database.settings()};
  std::unique_ptr<RunningWorker> worker;
  user.transaction([&] {
    user.run({"hold", "select from dogged.tasks_live where id = $1::bigint for update"}, db::Params{}.add(held));
    worker = std::make_unique<RunningWorker>(database, std::vector{does_nothing()}, quick());
    CHECK(eventually([&] { return database.status_of(other) == "succeeded"; }));
    CHECK(database.status_of(held) == "running");
  });
  CHECK(eventually([&] { return database.status_of(held) == "succeeded"; }));
}

TEST_CASE("nothing is claimed under a lease that was ended") {
  TestDatabase database;
  RunningWorker worker{database, {does_nothing()}, {.heartbeat = 5min, .lease = 20min, .poll_interval = 10ms}};
  const std::int64_t ended = worker.id();
  database.run("update dogged.workers set lease_ended_at = clock_timestamp()");
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] {  // it has tried since, or knows already that its lease was ended, and goes on under another
    return database.value(
               "select count(*) as value from pg_stat_activity where datname = current_database() and application_name "
               "= $1 and query_start > "
               "(select enqueued_at from dogged.tasks) and query like '/* dogged:claim */%'",
               db::Params{}.add(database.application() + " claimer")) == "1" ||
           database.status_of(id) == "succeeded";
  }));
  CHECK(database.value("select count(*) as value from dogged.tasks where worker_id = $1::bigint",
                       db::Params{}.add(ended)) == "0");
  CHECK(database.value("select count(*) as value from dogged.task_attempts where worker_id = $1::bigint",
                       db::Params{}.add(ended)) == "0");
}

TEST_CASE("a lease is not ended while a claim under it is under way") {
  TestDatabase database;
  database.client().enqueue(work, no_args);
  const std::int64_t dead = make_dead_worker(database);
  db::Connection claiming{database.settings()};
  std::unique_ptr<RunningWorker> worker;
  claiming.transaction([&] {
    claiming.run({"claim", "select from dogged.workers where id = $1::bigint for key share"}, db::Params{}.add(dead));
    worker = std::make_unique<RunningWorker>(database, std::vector{does_nothing()}, quick());
    CHECK(eventually([&] {
      return database.value(
                 "select heartbeat_at > started_at + interval '300 milliseconds' as value from dogged.workers "
                 "where id = $1::bigint",
                 db::Params{}.add(worker->id())) == "t";
    }));
    CHECK(ended_leases(database) == "0");
  });
  CHECK(eventually([&] { return ended_leases(database) == "1"; }));
}

TEST_CASE("a worker whose lease was ended tells its handlers why, and goes on as a new incarnation") {
  TestDatabase database;
  std::atomic<StopReason> reason{StopReason::none};
  std::atomic<int> runs{0};
  const auto handler = registered(work, [&](Context& context, const nlohmann::json&) {
    if (runs++ > 0) return;
    wait_for_stop_token(context);
    reason = context.stop_reason();
  });
  RunningWorker worker{database, {handler}, quick()};
  const std::int64_t before = worker.id();
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return runs == 1; }));
  take_away(database, id);
  database.run("update dogged.workers set lease_ended_at = clock_timestamp()");
  REQUIRE(eventually([&] { return database.value("select count(*) as value from dogged.workers") == "2"; }));
  CHECK(reason == StopReason::lease_lost);
  CHECK(database.status_of(id) == "pending");
  CHECK(database.history_of(id) == "");

  const TaskId next = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return database.status_of(next) == "succeeded"; }));
  CHECK(database.value("select worker_id <> $1::bigint as value from dogged.task_attempts", db::Params{}.add(before)) ==
        "t");
  CHECK(eventually([&] { return database.value("select max(fenced) as value from dogged.workers") == "1"; }));
}

TEST_CASE("a worker that cannot renew its lease in time stops its handlers without being told by the database") {
  TestDatabase database;
  std::atomic<StopReason> reason{StopReason::none};
  std::atomic<int> runs{0};
  const auto handler = registered(work, [&](Context& context, const nlohmann::json&) {
    if (runs++ > 0) return;
    wait_for_stop_token(context);
    reason = context.stop_reason();
    throw std::runtime_error{"told to stop"};
  });
  RunningWorker worker{database, {handler}, quick()};
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return runs == 1; }));
  without_heartbeat(database, worker.id(), [&] {
    REQUIRE(eventually([&] { return reason == StopReason::lease_lost; }));
    CHECK(database.history_of(id) == "");  // it writes nothing while its lease is in doubt
  });
  // No worker had ended the lease: interrupted attempts are written under it, and cost no retry and no loss.
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 interrupted true, 2 succeeded false");
  CHECK(database.value("select count(distinct worker_id) as value from dogged.task_attempts") == "2");
}

TEST_CASE("the row of a worker that holds tasks cannot be deleted, or no worker would rescue them") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  const std::int64_t dead = make_dead_worker(database);
  const auto forget = [&] { database.run("delete from dogged.workers where id = $1::bigint", db::Params{}.add(dead)); };
  CHECK_THROWS_AS(forget(), InvalidInput);
  RunningWorker worker{database, {does_nothing()}, quick()};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  forget();
}

TEST_CASE("a declaration that a worker cannot read does not keep it from rescuing") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {does_nothing()}, quick()};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  database.run("update dogged.task_definitions set retry_policy = '{\"policy\": \"of the future\"}'");
  std::int64_t dead = 0;
  database.connection().transaction([&] {
    database.run("select dogged.enqueue('unknown_here', queue => 'default')");
    dead = make_dead_worker(database);
  });
  CHECK(eventually([&] {
    return database.value("select rescued_at is not null as value from dogged.workers where id = $1::bigint",
                          db::Params{}.add(dead)) == "t";
  }));
}

TEST_CASE("no handler begins once the time of the lease is over by the worker's own clock") {
  const auto tally = std::make_shared<runtime::Tally>();
  const auto definitions = std::make_shared<const runtime::Definitions>(runtime::make_definitions({does_nothing()}));
  test::CountingListener listener;
  const auto run_under = [&](std::chrono::steady_clock::time_point asked_at) {
    runtime::Executor executor{{.queue = "default", .concurrency = 1},
                               {.log = spdlog::default_logger(),
                                .lease = std::make_shared<runtime::SharedLease>(1, 30s, asked_at),
                                .definitions = definitions,
                                .tally = tally,
                                .listener = listener}};
    std::vector<runtime::ClaimedTask> tasks(1);
    tasks[0].id = 1;
    tasks[0].attempt = 1;
    tasks[0].definition = &definitions->find("work")->second;
    tasks[0].args_json = "{}";
    executor.submit(std::move(tasks));
    executor.wait_idle(std::chrono::steady_clock::now() + 200ms);
    return executor.take_back().size();
  };
  const auto now = std::chrono::steady_clock::now();
  CHECK(run_under(now - 31s) == 1);
  CHECK(listener.reports == 0);
  CHECK(run_under(now) == 0);
  CHECK(listener.reports == 1);
}

TEST_CASE("attempts that finished while the lease was in doubt count if no worker has ended the lease") {
  TestDatabase database;
  std::atomic<bool> stopped{false};
  const auto handler = registered(work, [&](Context& context, const nlohmann::json&) {
    wait_for_stop_token(context);
    stopped = true;
  });
  RunningWorker worker{database, {handler}, quick()};
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return database.status_of(id) == "running"; }));
  without_heartbeat(database, worker.id(), [&] { REQUIRE(eventually([&] { return stopped.load(); })); });
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 succeeded false");
}

TEST_CASE("a name that a live worker has is refused, and that of a dead one is taken over") {
  TestDatabase database;
  auto settings = quick();
  settings.name = "one of a kind";
  auto worker = std::make_unique<RunningWorker>(database, std::vector{does_nothing()}, settings);
  const auto error = test::error_of<InvalidInput>([&] { RunningWorker{database, {does_nothing()}, settings}; });
  CHECK(contains(error.message(), "one of a kind"));
  CHECK(contains(error.hint(), "--name"));

  worker.reset();
  database.run("update dogged.workers set stopped_at = null, lease_until = clock_timestamp() + interval '300 ms'");
  const RunningWorker again{database, {does_nothing()}, settings};
  CHECK(database.value(
            "select count(*) as value from dogged.workers where lease_ended_at is not null and id <> $1::bigint",
            db::Params{}.add(again.id())) == "1");
}

TEST_CASE("a lease that is shorter than three heartbeats is refused with the rule") {
  TestDatabase database;
  const auto error = test::error_of<InvalidInput>([&] {
    RunningWorker{database, {does_nothing()}, {.heartbeat = 100ms, .lease = 299ms}};
  });
  CHECK(contains(error.message(), "299ms"));
  CHECK(contains(error.message(), "three heartbeats (300ms)"));
  CHECK_THROWS_AS((RunningWorker{database, {does_nothing()}, {.heartbeat = 0ms}}), InvalidInput);
}

TEST_CASE("of two workers that declare a task differently, the newer one's declaration counts for both") {
  TestDatabase database;
  const auto fails = [](const char* queue, milliseconds delay) {
    const auto handler = [](Context&, const nlohmann::json&) { throw TaskError{"BUSY", "later"}; };
    return registered(
        work, handler,
        {.queue = queue, .retry = Fixed{.intervals = {delay}, .jitter = Jitter::none()}, .auto_retry_for = {"BUSY"}});
  };
  auto of_older = quick();
  of_older.queues = {{"older", 1}};
  SECTION("where it listens") {
    of_older.heartbeat = 5min;
    of_older.lease = 20min;
  }
  SECTION("where it only polls") {
    of_older.poll_only = true;
    of_older.poll_interval = 20ms;
  }
  RunningWorker older{database, {fails("older", 1h)}, of_older};
  if (!of_older.poll_only) REQUIRE(worker_is_asleep(database, older.id()));
  RunningWorker newer{database, {fails("newer", 2h)}, quick()};
  Client client = database.client();
  CHECK(eventually([&] {  // until the older one has been told
    const TaskId id = client.enqueue(work, no_args, {.queue = "older"});
    REQUIRE(eventually([&] { return database.history_of(id) == "1 failed true"; }));
    return database.value("select delay_ms as value from dogged.task_attempts where task_id = $1::bigint",
                          db::Params{}.add(id)) == "7200000";
  }));
}

TEST_CASE("a worker tells how far its host's clock is off the server's, as it registers and with each heartbeat") {
  TestDatabase database;
  static std::atomic<milliseconds> off;
  off = -1h;
  runtime::WorkerSettings settings{.heartbeat = 50ms, .lease = 30s};
  settings.clock = [] { return std::chrono::system_clock::now() + off.load(); };
  RunningWorker worker{database, {registered(work, [](Context&, const nlohmann::json&) {})}, settings};
  const auto tells = [&] {
    // The server runs on this host, so the reported offset is the offset set, within the reported uncertainty.
    return database.value(
               "select abs(clock_ahead_ms - $1::bigint) <= clock_uncertainty_ms + 1 as value from dogged.workers",
               db::Params{}.add(std::int64_t{off.load().count()})) == "t";
  };
  CHECK(eventually(tells));
  off = 3s;
  CHECK(eventually(tells));
}

TEST_CASE("a process ends no lease but that of its own id and host, though a server that took over gave the id again") {
  TestDatabase database;
  const std::int64_t id = test::add_worker(database);  // process 1 on the host "elsewhere"
  const auto ends = [&](int pid, const char* host) {
    database.connection().run(sql::EndLease{.worker_id = id, .pid = pid, .host = host});
    return database.value("select (lease_ended_at is not null)::text as value from dogged.workers");
  };
  CHECK(ends(2, "elsewhere") == "false");
  CHECK(ends(1, "here") == "false");
  CHECK(ends(1, "elsewhere") == "true");
}
