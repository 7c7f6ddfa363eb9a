// One fault at a time, each at the moment where it hurts most, on real processes.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <spdlog/logger.h>
#include <spdlog/sinks/ringbuffer_sink.h>

#include "stage.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"

using namespace dogged;
using namespace dogged::faults;
using namespace std::chrono_literals;
using test::contains;
using test::eventually;

namespace {

/// For scenarios in which no worker dies: on a loaded machine a second and a half may pass without a heartbeat.
const CommandOptions long_lease{{"--lease", "30s"}, {"--heartbeat", "1s"}};

CommandOptions with_long_lease(const CommandOptions::value_type& option) {
  CommandOptions options = long_lease;
  options.insert(option);
  return options;
}

/// A machine that does other things as well may need so much more than the promised lease + 1 s.
constexpr auto allowance = 10s;

std::string text(std::int64_t number) { return std::to_string(number); }

/// The first line of `log` that contains `part`; empty if there is none.
std::string line_with(const std::string& log, const std::string& part) {
  const auto at = log.find(part);
  if (at == std::string::npos) return {};
  const auto begin = log.rfind('\n', at) + 1;  // after npos: 0
  return log.substr(begin, log.find('\n', at) - begin);
}

/// The worker that ran an attempt.
std::int64_t worker_of(Stage& stage, TaskId task, int attempt) {
  return stage.database()
      .run("select worker_id from dogged.task_attempts where task_id = $1::bigint and attempt = $2::int",
           db::Params{}.add(task).add(attempt))
      .one()
      .number("worker_id");
}

}  // namespace

TEST_CASE("a worker that is killed loses its attempt, and another one runs the task within lease + 1 s", "[scenario]") {
  Stage stage;
  WorkerSlot& first = stage.start_worker();
  const TaskId task = stage.enqueue(slow, {.gate = stage.gate()});
  REQUIRE(stage.has_started(task, 1));
  stage.start_worker();
  first.process().signal(SIGKILL);
  REQUIRE(stage.has_started(task, 2));
  stage.open_gate();
  REQUIRE(stage.all_ended());
  CHECK(stage.history_of(task) == "1 lost true, 2 succeeded false");
  CHECK(stage.broken_promises() == "none");
  CHECK(stage.worst_lateness() < 1s + allowance);
}

TEST_CASE("a worker that is killed in a step loses that step alone: later attempts get what was recorded",
          "[scenario]") {
  Stage stage;
  WorkerSlot& first = stage.start_worker();
  WorkerSlot& second = stage.add_worker();
  const TaskId task = stage.enqueue(stepwise, {.deaths = 2});
  REQUIRE(eventually([&] { return first.process().has_ended(); }));
  stage.start_again(second);
  REQUIRE(eventually([&] { return second.process().has_ended(); }));
  stage.start_again(first);
  REQUIRE(stage.all_ended());
  CHECK(stage.history_of(task) == "1 lost true, 2 lost true, 3 succeeded false");
  CHECK(stage.database().value(
            "select string_agg(name || ' ' || (result #>> '{}') || ' ' || attempt, ', ' order by name) as value "
            "from dogged.task_steps where task_id = $1::bigint",
            db::Params{}.add(task)) == "step-1 1 1, step-2 2 2, step-3 3 3, step-4 3 3");
  CHECK(stage.broken_promises() == "none");
}

TEST_CASE("the checker reads from the database what it tells of ticks, keys, steps and waits", "[scenario]") {
  Stage stage;
  stage.start_worker(long_lease);
  stage.database().run(
      "select dogged.schedule('each', 'faults.quick', 'every 1s', queue => 'faults', allow_frequent => true)");
  const TaskId waited = stage.enqueue(stepwise, {.sleep_ms = 1, .event = "order:1", .event_ms = 1});
  REQUIRE(eventually([&] {
    return stage.database().value("select count(*) >= 2 as value from dogged.schedule_ticks where outcome = 'fired'") ==
           "t";
  }));
  stage.database().run("select dogged.pause_schedule('each')");
  REQUIRE(stage.all_ended());
  CHECK(stage.broken_promises() == "none");

  const TaskId held = stage.enqueue(unique_pending, {.gate = stage.gate()});
  REQUIRE(stage.has_started(held, 1));
  // In one run: ticks may take the first ids, so a task has another id in another run.
  const std::vector<std::pair<std::string, std::string>> corruptions = {
      {"update dogged.unique_keys set unique_key = 'other'",
       "the key \"other\" of faults.unique_pending names task " + text(held)},
      {"delete from dogged.schedule_ticks where scheduled_at = (select min(scheduled_at) from dogged.schedule_ticks)",
       "of schedule \"each\" has 0 ticks"},
      {"update dogged.schedule_ticks set task_id = null", "(fired) names no task"},
      {"update dogged.schedule_ticks set outcome = 'skipped'", "(skipped) has no reason"},
      {"update dogged.schedules set next_at = next_at + interval '1 second'", "(fired) is followed by"},
      {"insert into dogged.task_steps select task_id, name, 9, task_name, worker_id, started_at, finished_at, result "
       "from dogged.task_steps where name = 'step-1'",
       "the step step-1 of task " + text(waited) + " attempt 9 is of an attempt that is not there"},
      {"insert into dogged.task_steps select task_id, name, attempt + 1, task_name, worker_id, started_at, "
       "finished_at + interval '1 second', result from dogged.task_steps where name = 'step-1'",
       "the step step-1 of task " + text(waited) + " attempt 1 was on record, and attempt 2 has run it again"},
      {"insert into dogged.events select name, 'null', finished_at - interval '1 second', 0 from dogged.task_steps "
       "where name = 'order:1'",
       "ended without the event, which came 1000000 µs before"},
      {"insert into dogged.task_waits select id, 'sleep', 9, false, now(), now() from dogged.tasks_live",
       "task " + text(held) + "'s wait for sleep is of attempt 9, which has not begun"},
      {"insert into dogged.task_waits select id, 'sleep', 1, false, now(), now() from dogged.tasks_live",
       "task " + text(held) + "'s wait for sleep is not over, and its task is running"}};
  for (const auto& [corruption, complaint] : corruptions) {
    INFO(corruption);
    stage.database().run("begin");
    stage.database().run(corruption);
    CHECK_THAT(stage.broken_promises(), Catch::Contains(complaint));
    stage.database().run("rollback");
  }
  stage.open_gate();
}

TEST_CASE("a task that must not be repeated is a dead letter after its worker was killed", "[scenario]") {
  Stage stage;
  WorkerSlot& first = stage.start_worker();
  const TaskId task = stage.enqueue(once, {.gate = stage.gate()});
  REQUIRE(stage.has_started(task, 1));
  first.process().signal(SIGKILL);
  stage.start_worker();
  REQUIRE(stage.all_ended());
  CHECK(stage.history_of(task) == "1 lost false");
  CHECK(stage.status_of(task) == "failed");
  CHECK(stage.broken_promises() == "none");
}

TEST_CASE(
    "a worker that wakes up after its lease changes nothing, says so with both incarnations, and goes on as a new one",
    "[scenario]") {
  Stage stage;
  WorkerSlot& zombie = stage.start_worker();
  const TaskId task = stage.enqueue(slow, {.gate = stage.gate()});
  REQUIRE(stage.has_started(task, 1));
  zombie.process().signal(SIGSTOP);
  WorkerSlot& other = stage.start_worker();
  REQUIRE(stage.has_started(task, 2));
  zombie.process().signal(SIGCONT);
  CHECK(stage.has_ended(task, 1, stopped));  // its stop token was set
  REQUIRE(eventually([&] { return stage.incarnations_of(zombie) == 2; }));
  CHECK(stage.status_of(task) == "running");
  const auto fenced = [&] { return line_with(zombie.log_of_process(), "does not hold it any more"); };
  REQUIRE(eventually([&] { return !fenced().empty(); }));
  stage.open_gate();
  REQUIRE(stage.all_ended());
  CHECK(stage.history_of(task) == "1 lost true, 2 succeeded false");
  INFO(fenced());
  CHECK(contains(fenced(), "task=" + text(task) + " "));
  CHECK(contains(fenced(), "attempt=1]"));
  CHECK(contains(fenced(), "worker " + text(worker_of(stage, task, 1)) + " does not hold it any more"));
  CHECK(contains(fenced(), "worker " + text(worker_of(stage, task, 2)) + " ("));
  CHECK(eventually([&] {
    return stage.database().value("select coalesce(sum(fenced), 0) as value from dogged.workers where pid = $1::int",
                                  db::Params{}.add(static_cast<int>(zombie.process().pid()))) == "1";
  }));

  CHECK(other.stop() == 0);  // what comes next is the new incarnation's
  const TaskId next = stage.enqueue(quick, {});
  REQUIRE(stage.all_ended());
  CHECK(stage.history_of(next) == "1 succeeded false");
  CHECK(stage.broken_promises() == "none");
}

TEST_CASE("a completion that is cut off counts once, whether the server did it or not", "[scenario]") {
  Stage stage;
  WorkerSlot& worker = stage.start_worker(long_lease);
  const TaskId task = stage.enqueue(slow, {.gate = stage.gate()});
  REQUIRE(stage.has_started(task, 1));
  SECTION("before the server saw it") { worker.proxy().cut_at(Statement::completion, Side::before_server); }
  SECTION("after the server did it") { worker.proxy().cut_at(Statement::completion, Side::after_server); }
  stage.open_gate();
  REQUIRE(stage.all_ended());
  CHECK(worker.proxy().hits() == 1);
  CHECK(stage.history_of(task) == "1 succeeded false");
  const TaskId next = stage.enqueue(quick, {});  // the worker has come back
  REQUIRE(stage.all_ended());
  CHECK(stage.history_of(next) == "1 succeeded false");
  CHECK(stage.broken_promises() == "none");
}

TEST_CASE("a worker that is cut off knows that its lease lapsed, and goes on as a new incarnation", "[scenario]") {
  Stage stage;
  WorkerSlot& silent = stage.start_worker();
  const TaskId task = stage.enqueue(slow, {.gate = stage.gate()});
  REQUIRE(stage.has_started(task, 1));
  silent.proxy().partition(true);
  CHECK(stage.has_ended(task, 1, stopped));
  silent.proxy().partition(false);
  REQUIRE(eventually([&] { return stage.incarnations_of(silent) == 2; }));
  stage.open_gate();
  REQUIRE(stage.all_ended());
  CHECK(stage.status_of(task) == "succeeded");
  CHECK(stage.broken_promises() == "none");
}

TEST_CASE("a worker whose connections all go silent, and are not closed, makes new ones", "[scenario]") {
  Stage stage;
  WorkerSlot& silent = stage.start_worker();
  const TaskId task = stage.enqueue(slow, {.gate = stage.gate()});
  REQUIRE(stage.has_started(task, 1));
  silent.proxy().forget_connections();
  stage.open_gate();
  const TaskId next = stage.enqueue(quick, {});
  REQUIRE(stage.all_ended());
  CHECK(stage.status_of(task) == "succeeded");
  CHECK(stage.status_of(next) == "succeeded");
  CHECK(stage.broken_promises() == "none");
}

TEST_CASE("a silent worker's task runs elsewhere, though the server still sees its connections", "[scenario]") {
  Stage stage;
  WorkerSlot& silent = stage.start_worker();
  const TaskId task = stage.enqueue(slow, {.gate = stage.gate()});
  REQUIRE(stage.has_started(task, 1));
  stage.start_worker();
  silent.proxy().partition(true);
  REQUIRE(stage.has_started(task, 2));
  stage.open_gate();
  REQUIRE(stage.all_ended());
  CHECK(stage.history_of(task) == "1 lost true, 2 succeeded false");
  CHECK(stage.broken_promises() == "none");
}

TEST_CASE("a rescuer that falls silent in the middle of a rescue does not hold it up", "[scenario]") {
  Stage stage;
  WorkerSlot& lost = stage.start_worker();
  const TaskId task = stage.enqueue(slow, {.gate = stage.gate()});
  REQUIRE(stage.has_started(task, 1));
  WorkerSlot& rescuer = stage.start_worker();
  rescuer.proxy().forget_at(Statement::completion, Side::before_server);
  lost.process().signal(SIGKILL);
  REQUIRE(eventually([&] { return rescuer.proxy().hits() == 1; }));
  stage.start_worker();
  REQUIRE(stage.has_started(task, 2));
  stage.open_gate();
  REQUIRE(stage.all_ended());
  CHECK(stage.history_of(task) == "1 lost true, 2 succeeded false");
  CHECK(stage.broken_promises() == "none");
  CHECK(stage.worst_lateness() < 1s + allowance);
}

TEST_CASE("a worker that falls silent while it starts, in the middle of a transaction, keeps no other from starting",
          "[scenario]") {
  Stage stage;
  WorkerSlot& silent = stage.add_worker();
  silent.proxy().forget_at(Statement::definitions, Side::after_server);
  silent.start();
  REQUIRE(eventually([&] { return silent.proxy().hits() == 1; }));
  stage.start_worker();
  const TaskId task = stage.enqueue(quick, {});
  REQUIRE(stage.all_ended());
  CHECK(stage.status_of(task) == "succeeded");
  CHECK_FALSE(silent.was_ready());
}

TEST_CASE("a second SIGTERM ends a worker at once and loses nothing, but one that comes twice at once does not",
          "[scenario]") {
  Stage stage;
  WorkerSlot& hasty = stage.start_worker({{"--grace", "1m"}});
  std::vector<TaskId> tasks;
  for (int i = 0; i < 12; ++i) tasks.push_back(stage.enqueue(slow, {.gate = stage.gate()}));
  REQUIRE(stage.has_started(tasks[3], 1));
  hasty.process().signal(SIGTERM);
  hasty.process().signal(SIGTERM);
  REQUIRE(eventually([&] { return contains(hasty.log_of_process(), "stopping"); }));
  CHECK_FALSE(hasty.process().wait(50ms).has_value());
  CHECK(eventually([&] {
    hasty.process().signal(SIGTERM);
    return hasty.process().wait(100ms).has_value();
  }));
  CHECK(contains(hasty.log_of_process(), "a second signal: this worker ends at once"));
  stage.start_worker();
  stage.open_gate();
  REQUIRE(stage.all_ended());
  for (TaskId task : tasks) CHECK(stage.status_of(task) == "succeeded");
  CHECK(stage.broken_promises() == "none");
}

TEST_CASE("an attempt that a shutdown cuts short is interrupted, spends no retry and runs again at once",
          "[scenario]") {
  Stage stage;
  WorkerSlot& first = stage.start_worker(with_long_lease({"--grace", "100ms"}));
  const TaskId task = stage.enqueue(slow, {.gate = stage.gate()});
  REQUIRE(stage.has_started(task, 1));
  stage.start_worker(long_lease);
  CHECK(first.stop() == 0);
  REQUIRE(stage.has_started(task, 2));
  stage.open_gate();
  REQUIRE(stage.all_ended());
  CHECK(stage.history_of(task) == "1 interrupted true, 2 succeeded false");
  CHECK(stage.broken_promises() == "none");
}

TEST_CASE("the server goes away while handlers run, and what they did is written when it is back", "[scenario]") {
  Stage stage;
  WorkerSlot& worker = stage.start_worker(long_lease);
  const TaskId task = stage.enqueue(slow, {.gate = stage.gate()});
  REQUIRE(stage.has_started(task, 1));
  SECTION("fast shutdown") { Stage::server().stop(SIGINT); }
  SECTION("immediate shutdown") { Stage::server().stop(SIGQUIT); }
  SECTION("the postmaster is killed") { Stage::server().stop(SIGKILL); }
  stage.open_gate();
  CHECK(stage.has_ended(task, 1, succeeded));
  Stage::server().start();
  REQUIRE(stage.all_ended());
  CHECK(stage.history_of(task) == "1 succeeded false");
  const TaskId next = stage.enqueue(quick, {});
  REQUIRE(stage.all_ended());
  CHECK(stage.history_of(next) == "1 succeeded false");
  CHECK(stage.incarnations_of(worker) == 1);
  CHECK(stage.broken_promises() == "none");
}

TEST_CASE("the server stays away for longer than the lease, and no task is lost for good", "[scenario]") {
  Stage stage;
  WorkerSlot& worker = stage.start_worker();
  const TaskId task = stage.enqueue(slow, {.gate = stage.gate()});
  REQUIRE(stage.has_started(task, 1));
  Stage::server().stop(SIGKILL);
  CHECK(stage.has_ended(task, 1, stopped));  // the lease has lapsed by the worker's own clock
  Stage::server().start();
  REQUIRE(stage.has_started(task, 2));
  stage.open_gate();
  REQUIRE(stage.all_ended());
  CHECK(stage.status_of(task) == "succeeded");
  CHECK(stage.incarnations_of(worker) == 2);
  CHECK(stage.broken_promises() == "none");
}

TEST_CASE("a client's call waits for a server that is away, and the task is there once", "[scenario]") {
  Stage stage;
  const auto lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(100);
  Client client{
      Stage::server().url(),
      {.schema = stage.database().settings().schema, .log = std::make_shared<spdlog::logger>("client", lines)}};
  const auto has_lost_connection = [&] {
    const std::vector<std::string> log = lines->last_formatted();
    return std::any_of(log.begin(), log.end(),
                       [](const std::string& line) { return contains(line, "the next call connects again"); });
  };
  Stage::server().stop(SIGQUIT);  // which ends the sessions as well, so that nothing is sent to one
  std::atomic<bool> is_enqueued{false};
  std::thread caller{[&] {
    client.enqueue(NewTask{.name = "for_nobody"});
    is_enqueued = true;
  }};
  CHECK(eventually(has_lost_connection));
  CHECK_FALSE(is_enqueued);
  Stage::server().start();
  caller.join();
  CHECK(stage.database().value("select count(*) as value from dogged.tasks where name = 'for_nobody'") == "1");
}

TEST_CASE("a client whose call is cut before or after the server did it enqueues once, and hears the ids",
          "[scenario]") {
  Stage stage;
  Proxy proxy{Stage::server().socket()};
  Client client{proxy.url(), {.schema = stage.database().settings().schema}};
  const std::vector<NewTask> tasks(GENERATE(1U, 3U), NewTask{.name = "for_nobody"});
  const int calls_before = GENERATE(0, 1, 2);  // the third is of a statement that is prepared
  for (int i = 0; i < calls_before; ++i) client.enqueue_many(std::vector(tasks.size(), NewTask{.name = "before"}));
  SECTION("before") { proxy.cut_at(Statement::call, Side::before_server); }
  SECTION("after") { proxy.cut_at(Statement::call, Side::after_server); }
  const std::vector<TaskId> ids = client.enqueue_many(tasks);
  CHECK(proxy.hits() == 1);
  std::string in_text;
  for (const TaskId id : ids) in_text += (in_text.empty() ? "" : ",") + std::to_string(id);
  CHECK(stage.database().value("select string_agg(id::text, ',' order by id) as value from dogged.tasks "
                               "where name = 'for_nobody'") == in_text);
}

TEST_CASE("a client whose change of a task is cut before or after the server did it hears what it came to",
          "[scenario]") {
  Stage stage;
  Proxy proxy{Stage::server().socket()};
  Client client{proxy.url(), {.schema = stage.database().settings().schema}};
  const TaskId id = client.enqueue(NewTask{.name = "for_nobody"});
  const Side side = GENERATE(Side::before_server, Side::after_server);
  const auto cut_next = [&] { proxy.cut_at(Statement::call, side); };
  // A change that was made twice may answer as if it had been made once.
  const auto times_done = [&](const std::string& action) {
    return stage.database().value(
        "select count(*) as value from dogged.audit where task_id = $1::bigint and action = $2",
        db::Params{}.add(id).add(action));
  };
  SECTION("cancel") {
    cut_next();
    CHECK(client.cancel(id) == CancelResult::cancelled);  // not `ended`, which a second cancel finds
    CHECK(client.cancel(id) == CancelResult::ended);
    CHECK(times_done("cancel") == "1");
  }
  SECTION("replay") {
    stage.database().run("update dogged.tasks set status = 'failed', finished_at = now()");
    cut_next();
    CHECK(client.replay(id) == ReplayResult::replayed);
    CHECK(client.replay(id) == ReplayResult::not_failed);
    CHECK(times_done("replay") == "1");
  }
  SECTION("reschedule") {
    cut_next();
    CHECK(client.reschedule(id, std::chrono::hours{1}) == RescheduleResult::rescheduled);
    CHECK(times_done("reschedule") == "1");
  }
  CHECK(proxy.hits() == 1);
}

TEST_CASE("a client that does not wait says at once that the server is away", "[scenario]") {
  Stage stage;
  Client client{Stage::server().url(), {.schema = stage.database().settings().schema, .retry = NoRetry{}}};
  Stage::server().stop(SIGINT);
  CHECK_THROWS_AS(client.enqueue(NewTask{.name = "for_nobody"}), ConnectionError);
  Stage::server().start();
  client.enqueue(NewTask{.name = "for_nobody"});
  CHECK(stage.database().value("select count(*) as value from dogged.tasks where name = 'for_nobody'") == "1");
}

TEST_CASE("all connections of a worker are terminated, and nothing is lost", "[scenario]") {
  Stage stage;
  WorkerSlot& worker = stage.start_worker(long_lease);
  const TaskId task = stage.enqueue(slow, {.gate = stage.gate()});
  REQUIRE(stage.has_started(task, 1));
  CHECK(stage.database().value("select count(pg_terminate_backend(pid)) >= 3 as value from pg_stat_activity "
                               "where application_name = $1",
                               db::Params{}.add(worker.application_name())) == "t");
  stage.open_gate();
  REQUIRE(stage.all_ended());
  const TaskId next = stage.enqueue(quick, {});
  REQUIRE(stage.all_ended());
  CHECK(stage.history_of(task) == "1 succeeded false");
  CHECK(stage.history_of(next) == "1 succeeded false");
  CHECK(stage.incarnations_of(worker) == 1);
  CHECK(stage.broken_promises() == "none");
}

TEST_CASE("a rolling restart under load burns no attempt and leaves no gap", "[scenario]") {
  Stage stage;
  std::vector<WorkerSlot*> workers;
  for (int i = 0; i < 3; ++i) workers.push_back(&stage.start_worker(with_long_lease({"--grace", "30s"})));
  std::vector<TaskId> tasks;
  const auto enqueue_some = [&] {
    for (int i = 0; i < 40; ++i) tasks.push_back(stage.enqueue(slow, {.runs_ms = 20 + i}));
  };
  enqueue_some();
  for (WorkerSlot* worker : workers) {
    CHECK(worker->stop() == 0);
    enqueue_some();
    stage.start_again(*worker);
  }
  REQUIRE(stage.all_ended());
  for (TaskId task : tasks) CHECK(stage.history_of(task) == "1 succeeded false");
  CHECK(stage.broken_promises() == "none");
  // Whenever tasks were waiting, some worker took one.
  CHECK(stage.database().value(R"(
    with claims as (select claimed_at, lag(claimed_at) over (order by claimed_at) as before from dogged.task_attempts)
    select coalesce(max(claimed_at - before), '0') < interval '3 seconds' as value from claims
     where exists (select from dogged.tasks t where t.enqueued_at < claims.before and t.claimed_at >= claims.claimed_at))") ==
        "t");
}

TEST_CASE("a task that keeps killing its workers is a dead letter after three losses", "[scenario]") {
  Stage stage;
  WorkerSlot& worker = stage.start_worker();
  const TaskId task = stage.enqueue(killer, {.deaths = 100});
  for (int attempt = 1; attempt <= 3; ++attempt) {
    REQUIRE(stage.has_started(task, attempt));
    REQUIRE(worker.process().wait(30s) == 128 + SIGKILL);
    stage.start_again(worker);
  }
  REQUIRE(stage.all_ended());
  CHECK(stage.history_of(task) == "1 lost true, 2 lost true, 3 lost false");
  CHECK(stage.status_of(task) == "failed");
  CHECK(worker.stop() == 0);
  CHECK(stage.broken_promises() == "none");
}

TEST_CASE("a handler that takes its process with it does not take its task", "[scenario]") {
  Stage stage;
  WorkerSlot& worker = stage.start_worker();
  const std::string way = GENERATE("leave_child", "exit", "throw_in_destructor", "allocate");
  INFO(way);
  const TaskId task = stage.enqueue(rough, {.deaths = 1, .way = way});
  REQUIRE(stage.has_started(task, 1));
  CHECK(worker.process().wait(30s).has_value());
  stage.start_worker();
  REQUIRE(stage.all_ended());
  CHECK(stage.history_of(task) == "1 lost true, 2 succeeded false");
  CHECK(stage.broken_promises() == "none");
}

TEST_CASE("a child that a handler forked and that calls exit() harms neither the task nor the worker", "[scenario]") {
  Stage stage;
  WorkerSlot& worker = stage.start_worker(long_lease);
  const TaskId task = stage.enqueue(rough, {.deaths = 1, .way = "exit_child"});
  REQUIRE(stage.all_ended());
  const TaskId next = stage.enqueue(quick, {});
  REQUIRE(stage.all_ended());
  CHECK(stage.history_of(task) == "1 succeeded false");
  CHECK(stage.history_of(next) == "1 succeeded false");
  CHECK(worker.stop() == 0);
  CHECK(stage.broken_promises() == "none");
}

TEST_CASE("a handler that never heeds its stop token is ended without it", "[scenario]") {
  Stage stage;
  WorkerSlot& worker = stage.start_worker(long_lease);
  const TaskId task = stage.enqueue(deaf, {.runs_ms = 60'000, .failures = 1});
  REQUIRE(stage.all_ended());
  CHECK(stage.history_of(task) == "1 timed_out true, 2 succeeded false");
  CHECK(worker.stop() == 0);
  CHECK(stage.broken_promises() == "none");
}

TEST_CASE("a worker that begins anew while the server is away waits for it, and takes its tasks and its name over",
          "[scenario]") {
  Stage stage;
  WorkerSlot& worker = stage.start_worker(
      {{"--lease", "10m"}, {"--heartbeat", "1s"}, {"--max-abandoned-threads", "0"}, {"--grace", "4s"}});
  const TaskId task = stage.enqueue(deaf, {.runs_ms = 60'000, .failures = 1});
  const TaskId other = stage.enqueue(slow, {.gate = stage.gate()});
  REQUIRE(stage.has_started(other, 1));
  const auto has_logged = [&](const char* part) {
    return eventually([&] { return !line_with(worker.log_of_process(), part).empty(); });
  };
  REQUIRE(has_logged("it ends"));  // when the other task has had its grace
  REQUIRE(eventually([&] { return stage.history_of(task).starts_with("1 timed_out true"); }));
  Stage::server().stop(SIGQUIT);
  REQUIRE(has_logged("starting anew"));
  REQUIRE(has_logged("start: cannot connect"));
  stage.open_gate();
  Stage::server().start();
  REQUIRE(stage.all_ended());  // long before its first lease would have lapsed
  CHECK(stage.status_of(task) == "succeeded");
  CHECK(stage.status_of(other) == "succeeded");
  CHECK(stage.incarnations_of(worker) == 2);
  CHECK(!worker.process().has_ended());
  CHECK(worker.stop() == 0);
  CHECK(stage.broken_promises() == "none");
}

TEST_CASE("a worker with too many threads that never end begins anew in the same process, and burns no attempt",
          "[scenario]") {
  Stage stage;
  WorkerSlot& worker = stage.start_worker(with_long_lease({"--max-abandoned-threads", "2"}));
  std::vector<TaskId> tasks;
  for (int i = 0; i < 3; ++i) tasks.push_back(stage.enqueue(deaf, {.runs_ms = 60'000, .failures = 1}));
  const TaskId other = stage.enqueue(slow, {.gate = stage.gate()});
  REQUIRE(eventually([&] { return stage.incarnations_of(worker) == 2; }));
  stage.open_gate();
  REQUIRE(stage.all_ended());
  for (TaskId task : tasks) CHECK(stage.status_of(task) == "succeeded");
  CHECK(stage.status_of(other) == "succeeded");
  CHECK(stage.database().value("select count(*) as value from dogged.task_attempts where outcome = 'lost'") == "0");
  CHECK(!worker.process().has_ended());
  CHECK(worker.stop() == 0);
  CHECK(stage.broken_promises() == "none");
}
