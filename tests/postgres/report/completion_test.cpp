// The answers of a completion: the reports that did not count, the reasons, and the worker's reaction.
#include "report/completion.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <pqxx/pqxx>

#include "sql/claim.hpp"
#include "sql/report.hpp"
#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using runtime::Report;
using test::add_worker;
using test::eventually;
using test::Gate;
using test::no_args;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::work;

namespace {

/// A handler's part.
enum class Part { succeeds, fails, waits };

constexpr Task<Part> scripted{"scripted"};

/// Handlers that fail or wait do so behind their gates; each takes `time` besides. The failure is retried after
/// `delay`.
detail::RegisteredTask acts(Gate& failing, Gate& waiting, milliseconds delay, milliseconds time = 0ms) {
  return registered(scripted,
                    [&failing, &waiting, time](Context&, Part part) {
                      std::this_thread::sleep_for(time);
                      if (part == Part::waits) waiting.wait();
                      if (part != Part::fails) return;
                      failing.wait();
                      throw TaskError{"LISTED", "as the test wants it"};
                    },
                    {.retry = fixed(delay), .auto_retry_for = {"LISTED"}});
}

/// No other session reads or writes the table until it is released.
class TableLock {
 public:
  TableLock(const TestDatabase& database, const std::string& table) : connection_{database.settings().url} {
    transaction_.emplace(connection_);
    transaction_->exec("lock table " + database.schema() + "." + table + " in access exclusive mode");
  }
  void release() { transaction_.reset(); }

 private:
  pqxx::connection connection_;
  std::optional<pqxx::work> transaction_;
};

/// The completer's statement of this name waits for a lock.
bool completer_waits_in(TestDatabase& database, const std::string& statement) {
  return database.value(
             "select count(*) = 1 as value from pg_stat_activity "
             "where application_name = $1 and wait_event_type = 'Lock' and starts_with(query, '/* dogged:' || $2 || ' "
             "*/')",
             db::Params{}.add(database.application() + " completer").add(statement)) == "t";
}

std::string pid_of_completer(TestDatabase& database) {
  return database.value(
      "select max(pid) as value from pg_stat_activity where datname = current_database() and application_name = $1",
      db::Params{}.add(database.application() + " completer"));
}

Report success(TaskId id) {
  Report report;
  report.id = id;
  report.attempt = 1;
  report.started_at = report.finished_at = runtime::SteadyClock::now();
  report.transition = {.status = lifecycle::Status::succeeded, .outcome = lifecycle::Outcome::succeeded};
  return report;
}

Report retry(TaskId id, milliseconds delay) {
  Report report = success(id);
  report.transition = {.status = lifecycle::Status::pending,
                       .outcome = lifecycle::Outcome::failed,
                       .error_code = ErrorCode{"HTTP_503"},
                       .retry_count = 1,
                       .next_run = lifecycle::NextRun{.backoff = delay, .delay = delay}};
  return report;
}

/// The tasks whose reports did not count.
std::set<TaskId> refused(TestDatabase& database, std::int64_t worker_id, const std::vector<Report>& reports) {
  std::set<TaskId> refused;
  const sql::Complete batch = runtime::completion_of(worker_id, reports, runtime::SteadyClock::now());
  for (const auto& [id] : database.connection().run(batch)) {
    const bool is_first = refused.insert(id).second;
    CHECK(is_first);
  }
  return refused;
}

/// The most rows that a part of a plan gave or passed over, from the JSON of EXPLAIN ANALYZE.
std::int64_t most_rows(const nlohmann::json& plan) {
  const auto rows = [&](const char* key) {
    return plan.value(key, std::int64_t{0}) * plan.at("Actual Loops").get<std::int64_t>();
  };
  std::int64_t most =
      std::max({rows("Actual Rows"), rows("Rows Removed by Filter"), rows("Rows Removed by Join Filter")});
  for (const auto& part : plan.value("Plans", nlohmann::json::array())) most = std::max(most, most_rows(part));
  return most;
}

/// An array literal of `size` times the same.
std::string array_of(std::size_t size, const std::string& element) {
  std::string text = "'{" + element;
  for (std::size_t i = 1; i < size; ++i) text += "," + element;
  return text + "}'";
}

/// As in a worker's own session: a plan is made once, for all values, by the present statistics of the table. Behind a
/// pooler (--poll-only) a plan is made each time.
enum class Planned { while_empty, while_full, each_time };

void prepare(TestDatabase& database, Planned planned, const db::Statement& statement, const std::string& nothing) {
  if (planned != Planned::each_time) database.run("analyze dogged.tasks_live");
  database.run(std::string{"set plan_cache_mode = "} +
               (planned == Planned::each_time ? "force_custom_plan" : "force_generic_plan"));
  database.run("set enable_seqscan = off");
  database.run("prepare planned as " + std::string{statement.text});
  database.run("execute planned (" + nothing + ")");
}

/// The most rows that a part of the prepared statement's plan gave or passed over.
std::int64_t most_rows_with(TestDatabase& database, const std::string& parameters) {
  const test::Rows rows = database.run("explain (analyze, format json) execute planned (" + parameters + ")");
  return most_rows(nlohmann::json::parse(rows.one().text("QUERY PLAN")).at(0).at("Plan"));
}

/// `, '{…}'` with element(from) … element(to - 1).
template <class Element>
std::string list(std::size_t from, std::size_t to, Element element) {
  std::string text;
  for (std::size_t i = from; i < to; ++i) text += (i == from ? "" : ",") + std::to_string(element(i));
  return ", '{" + text + "}'";
}

/// The table as autovacuum finds it after a drain: many pages with hardly a row.
void fill_and_empty(TestDatabase& database) {
  database.client().enqueue_many(work, std::vector<nlohmann::json>(3000, no_args));
  database.run("delete from dogged.tasks_live where id < (select max(id) from dogged.tasks_live)");
  database.run("vacuum (analyze) dogged.tasks_live");
}

std::int64_t count_attempts(TestDatabase& database) {
  return database.run("select count(*) as value from dogged.task_attempts").one().number("value");
}

}  // namespace

TEST_CASE("a completion in which every report counts answers nothing") {
  TestDatabase database;
  const std::vector<TaskId> ids = database.client().enqueue_many(work, {no_args, no_args, no_args});
  const std::int64_t worker_id = add_worker(database);
  database.claim_all_for(worker_id);

  CHECK(refused(database, worker_id, {success(ids[0]), retry(ids[1], 1h), success(ids[2])}).empty());
  CHECK(database.history_of(ids[0]) == "1 succeeded false");
  CHECK(database.history_of(ids[1]) == "1 failed true");
  CHECK(database.history_of(ids[2]) == "1 succeeded false");
  CHECK(database.status_of(ids[0]) == "succeeded");
  CHECK(database.status_of(ids[1]) == "pending");
  CHECK(database.value("select count(*) as value from dogged.tasks_live") == "1");
}

TEST_CASE("each report of a batch is recorded of its own attempt, however the others ended") {
  TestDatabase database;
  const std::vector<TaskId> ids =
      database.client().enqueue_many(work, {no_args, no_args, no_args, no_args, no_args, no_args});
  const std::int64_t worker_id = add_worker(database);
  database.claim_all_for(worker_id);
  std::vector<Report> reports{retry(ids[0], 1h), success(ids[1]), success(ids[2]),
                              retry(ids[3], 2h), success(ids[4]), success(ids[5])};
  reports[0].error_message = "busy";
  reports[0].policy_text = "fixed";
  reports[1].transition = {.status = lifecycle::Status::failed,
                           .outcome = lifecycle::Outcome::failed,
                           .error_code = ErrorCode{"HTTP_404"},
                           .retry_count = 2,
                           .losses = 1};
  reports[1].error_message = "gone";
  reports[1].error_details_json = R"({"status": 404})";
  reports[3].transition.outcome = lifecycle::Outcome::interrupted;
  reports[3].transition.error_code.reset();
  reports[3].retry_after = 2h;
  reports[4].result_json = "17";
  reports[5].transition = {.status = lifecycle::Status::cancelled, .outcome = lifecycle::Outcome::cancelled};

  CHECK(refused(database, worker_id, reports).empty());
  CHECK(
      database.value(
          "select string_agg(concat_ws(' ', a.task_id - $1, a.outcome, a.error_code, a.error_message, a.error_details, "
          "a.policy, a.backoff_ms, a.delay_ms, a.retry_after_ms), ', ' order by a.task_id) as value "
          "from dogged.task_attempts a",
          db::Params{}.add(ids[0])) ==
      R"(0 failed HTTP_503 busy fixed 3600000 3600000, 1 failed HTTP_404 gone {"status": 404}, 2 succeeded, )"
      "3 interrupted 7200000 7200000 7200000, 4 succeeded, 5 cancelled");
  CHECK(database.value("select string_agg(concat_ws(' ', t.id - $1, t.status, t.retry_count, t.losses, t.error_code, "
                       "t.error_message, "
                       "t.result), ', ' order by t.id) as value from dogged.tasks t",
                       db::Params{}.add(ids[0])) ==
        "0 pending 1 0 HTTP_503 busy, 1 failed 2 1 HTTP_404 gone, 2 succeeded 0 0, 3 pending 1 0, 4 succeeded 0 0 17, "
        "5 cancelled 0 0");
}

TEST_CASE("each attempt of a batch that is the root of a trace is recorded with that trace, and the others are not") {
  TestDatabase database;
  const std::vector<TaskId> ids =
      database.client().enqueue_many(work, {no_args, no_args, no_args, no_args, no_args, no_args, no_args});
  const std::int64_t worker_id = add_worker(database);
  database.claim_all_for(worker_id);
  std::vector<Report> reports{success(ids[0]),   success(ids[1]),   success(ids[2]),  success(ids[3]),
                              retry(ids[4], 1h), retry(ids[5], 1h), retry(ids[6], 1h)};
  const auto trace_of = [](std::size_t i) {
    return "00-0af7651916cd43dd8448eb211c80319" + std::to_string(i) + "-b7ad6b7169203331-01";
  };
  for (std::size_t i = 0; i < reports.size(); ++i) {
    reports[i].trace = TraceContext::from_text(trace_of(i)).value();
    reports[i].is_trace_of_its_own = i % 2 == 1;
  }
  // No tracer may shift the traces of the next reports.
  reports[1].trace->tracestate = "a=1\nb=2";

  CHECK(refused(database, worker_id, reports).empty());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    CHECK(database.value(
              "select coalesce(trace_context, '') as value from dogged.task_attempts where task_id = $1::bigint",
              db::Params{}.add(ids[i])) == (i % 2 == 1 ? trace_of(i) : ""));
  }
}

TEST_CASE("an attempt does not end before its report says, however long its transaction has been open") {
  TestDatabase database;
  const std::vector<TaskId> ids = database.client().enqueue_many(work, {no_args, no_args});
  const std::int64_t worker_id = add_worker(database);
  database.claim_all_for(worker_id);
  std::string before;
  database.connection().transaction([&] {  // as a rescuer's
    database.run("select pg_sleep(0.05)");
    before = database.value("select clock_timestamp()::text as value");
    CHECK(refused(database, worker_id, {success(ids[0]), retry(ids[1], 1h)}).empty());
  });
  CHECK(database.value("select bool_and(finished_at >= $1::timestamptz) as value from dogged.task_attempts",
                       db::Params{}.add(before)) == "t");
}

TEST_CASE("an attempt on record counts no second time, with and without something to say of it") {
  TestDatabase database;
  const std::vector<TaskId> ids = database.client().enqueue_many(work, {no_args, no_args});
  const std::int64_t worker_id = add_worker(database);
  database.claim_all_for(worker_id);
  const std::vector<Report> plain{success(ids[0])};
  Report with_result = success(ids[1]);
  with_result.result_json = "17";

  CHECK(refused(database, worker_id, plain).empty());
  CHECK(refused(database, worker_id, {with_result}).empty());
  CHECK(refused(database, worker_id, plain) == std::set<TaskId>{ids[0]});
  CHECK(refused(database, worker_id, {with_result}) == std::set<TaskId>{ids[1]});
  CHECK(count_attempts(database) == 2);
  CHECK(database.value("select result::text as value from dogged.tasks where id = $1::bigint",
                       db::Params{}.add(ids[1])) == "17");
}

TEST_CASE("a completion names each report that did not count, and nothing is written of it") {
  TestDatabase database;
  Client client = database.client();
  const std::vector<TaskId> ids = client.enqueue_many(work, {no_args, no_args, no_args, no_args});
  const TaskId expiring = client.enqueue(work, no_args, {.expires_in = 1min});
  const std::int64_t worker_id = add_worker(database);
  database.claim_all_for(worker_id);
  const TaskId counts = ids[0], of_earlier_attempt = ids[1], locked = ids[2], to_be_cancelled = ids[3];
  database.run("select dogged.cancel($1::bigint)", db::Params{}.add(to_be_cancelled));

  Report stale = success(of_earlier_attempt);
  stale.attempt = 0;
  db::Connection other{database.settings()};
  std::set<TaskId> found;
  other.transaction([&] {
    (void)other.run({"lock", "select from dogged.tasks_live where id = $1::bigint for update"},
                    db::Params{}.add(locked));
    found = refused(database, worker_id,
                    {success(counts), stale, success(locked), retry(to_be_cancelled, 1s), retry(expiring, 1h)});
  });

  CHECK(found == std::set<TaskId>{of_earlier_attempt, locked, to_be_cancelled, expiring});
  CHECK(database.history_of(counts) == "1 succeeded false");
  CHECK(count_attempts(database) == 1);
  CHECK(database.value("select count(*) as value from dogged.tasks_live where status = 'running'") == "4");
  CHECK(database.value("select count(*) as value from dogged.tasks_live where status = 'pending'") == "0");
}

TEST_CASE("of the reports of a worker that holds nothing none counts") {
  TestDatabase database;
  const std::vector<TaskId> ids = database.client().enqueue_many(work, {no_args, no_args});
  database.claim_all_for(add_worker(database));

  CHECK(refused(database, add_worker(database), {success(ids[0]), retry(ids[1], 1s)}) ==
        std::set<TaskId>{ids[0], ids[1]});
  CHECK(count_attempts(database) == 0);
  CHECK(database.value("select count(*) as value from dogged.tasks_live where status = 'running'") == "2");
}

TEST_CASE("a report counts once the transaction that had locked its task has ended, and not before") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  const std::int64_t worker_id = add_worker(database);
  database.claim_all_for(worker_id);
  const auto clear_locks = [&] { database.connection().run(sql::ClearLocks{.ids = {id}, .worker_id = worker_id}); };

  db::Connection other{database.settings()};
  other.transaction([&] {
    (void)other.run({"lock", "select from dogged.tasks_live where id = $1::bigint for update"}, db::Params{}.add(id));
    clear_locks();
    CHECK(refused(database, worker_id, {success(id)}) == std::set<TaskId>{id});
  });
  clear_locks();
  CHECK(refused(database, worker_id, {success(id)}).empty());
  CHECK(database.history_of(id) == "1 succeeded false");
}

TEST_CASE("a task that another session had locked while it ran ends as its handler did") {
  TestDatabase database;
  Gate gate;
  const RunningWorker worker{database, {registered(work, [&](Context&, const auto&) { gate.wait(); })}};
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  database.run("select from dogged.tasks_live where id = $1::bigint for update", db::Params{}.add(id));
  gate.open();
  CHECK(eventually([&] { return database.history_of(id) == "1 succeeded false"; }));
}

TEST_CASE("a worker that has locked tasks itself ends them") {
  TestDatabase database;
  const std::vector<TaskId> ids = database.client().enqueue_many(work, {no_args, no_args});
  const std::int64_t worker_id = add_worker(database);
  database.claim_all_for(worker_id);
  database.connection().transaction([&] {
    database.run("select from dogged.tasks_live for update");
    CHECK(refused(database, worker_id, {success(ids[0]), retry(ids[1], 1h)}).empty());
  });
  CHECK(database.history_of(ids[0]) == "1 succeeded false");
  CHECK(database.history_of(ids[1]) == "1 failed true");
}

TEST_CASE("a retry whose delay is over is ready at once, behind what is ready, and others wait for their time") {
  TestDatabase database;
  Client client = database.client();
  const std::vector<TaskId> ids = client.enqueue_many(work, {no_args, no_args, no_args});
  const std::int64_t worker_id = add_worker(database);
  database.claim_all_for(worker_id);
  database.run("update dogged.tasks_live set claimed_at = now() - interval '1 min'");
  const TaskId last = client.enqueue(work, no_args);

  const auto ended_ago = [](Report report, milliseconds ago) {
    report.started_at = report.finished_at = runtime::SteadyClock::now() - ago;
    return report;
  };
  CHECK(refused(database, worker_id,
                {ended_ago(retry(ids[0], 40ms), 50ms), ended_ago(retry(ids[1], 1h), 50ms), retry(ids[2], 0ms)})
            .empty());
  const auto standing = [&](TaskId id) {
    return database.value(
        "select concat_ws(' ', deferred, next_retry_at <= clock_timestamp(), coalesce(ready_position, id) > "
        "$2::bigint) "
        "as value from dogged.tasks_live where id = $1::bigint",
        db::Params{}.add(id).add(last));
  };
  CHECK(standing(ids[0]) == "f t t");
  CHECK(standing(ids[1]) == "t f f");
  CHECK(standing(ids[2]) == "f t f");  // lost or interrupted: before all others
  CHECK(database.value("select bool_and(next_retry_at - finished_at = delay_ms * interval '1 ms') as value from "
                       "dogged.task_attempts") == "t");
}

TEST_CASE("a retry that is ready at once is run at once by the worker that reported it") {
  TestDatabase database;
  Gate failing, succeeding;
  Client client = database.client();
  const TaskId id = client.enqueue(scripted, Part::fails);
  client.enqueue(scripted, Part::succeeds);
  runtime::WorkerSettings settings = test::no_polling();
  settings.poll_only = true;  // it hears of nothing, and looks at nothing by itself
  settings.queues = {{"default", 2}};
  std::atomic<runtime::SteadyClock::time_point> failed_at{runtime::SteadyClock::time_point::max()};
  const RunningWorker worker{database,
                             {registered(scripted,
                                         [&](Context& context, Part part) {
                                           if (context.attempt() > 1) return;
                                           (part == Part::fails ? failing : succeeding).wait();
                                           if (part != Part::fails) return;
                                           failed_at = runtime::SteadyClock::now();
                                           throw TaskError{"LISTED", "as the test wants it"};
                                         },
                                         {.retry = fixed(1ms), .auto_retry_for = {"LISTED"}})},
                             settings};
  REQUIRE(eventually([&] { return failing.arrived() == 1 && succeeding.arrived() == 1; }));

  // While a completion waits for this lock the failure is reported, and the delay before its retry passes.
  TableLock attempts{database, "task_attempts"};
  succeeding.open();
  REQUIRE(eventually([&] { return completer_waits_in(database, "complete"); }));
  failing.open();
  REQUIRE(eventually([&] { return runtime::SteadyClock::now() - 10ms > failed_at.load(); }));
  attempts.release();
  CHECK(eventually([&] { return database.history_of(id) == "1 failed true, 2 succeeded false"; }));
}

TEST_CASE("a retry that would come too late ends its task, also where the server's clock was set back meanwhile") {
  TestDatabase database;
  Gate gate;
  const RunningWorker worker{database,
                             {registered(work,
                                         [&](Context&, const nlohmann::json&) {
                                           gate.wait();
                                           throw TaskError{"LISTED", "as the test wants it"};
                                         },
                                         {.retry = fixed(45min), .auto_retry_for = {"LISTED"}})}};
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return gate.arrived() == 1; }));
  database.run(
      "update dogged.tasks_live set claimed_at = now() + interval '1 hour', expires_at = now() + interval '90 min'");
  gate.open();
  CHECK(eventually([&] { return database.status_of(id) == "expired"; }));
  CHECK(database.history_of(id) == "1 failed false");
}

TEST_CASE("a retry that is ready at once wakes workers that sleep") {
  TestDatabase database;
  Gate failing, waiting;
  const RunningWorker worker{database,
                             {acts(failing, waiting, 1ms, 50ms)},  // too long to claim any ahead
                             {.queues = {{"default", 2}}}};
  Client client = database.client();
  client.enqueue(scripted, Part::fails);
  REQUIRE(eventually([&] { return failing.arrived() == 1; }));

  // While a completion waits for this lock the failure is reported, and the delay before its retry passes.
  TableLock attempts{database, "task_attempts"};
  client.enqueue(scripted, Part::succeeds);
  REQUIRE(eventually([&] { return completer_waits_in(database, "complete"); }));
  failing.open();
  client.enqueue_many(scripted, {Part::waits, Part::waits});
  REQUIRE(eventually([&] { return waiting.arrived() == 2; }));  // on the threads that have reported

  const std::int64_t sleeper = add_worker(database);
  database.run("update dogged.workers set asleep = true where id = $1::bigint", db::Params{}.add(sleeper));
  db::Connection listening{database.settings()};
  listening.listen(db::Channel::wake);
  runtime::WakeFd never;
  attempts.release();
  CHECK(!listening.wait(20s, never.fd()).empty());
  waiting.open();
}

TEST_CASE("a completion reads the rows of its tasks and no others, whatever the table was like when it was planned") {
  constexpr std::size_t size = 200;  // half of them retries
  TestDatabase database;
  const Planned planned = GENERATE(Planned::while_empty, Planned::while_full, Planned::each_time);
  std::string nothing = "'{}'";
  for (int i = 0; i < 16; ++i) nothing += ", '{}'";
  nothing += ", 0";
  for (int i = 0; i < 16; ++i) nothing += ", '{}'";
  if (planned == Planned::while_empty) prepare(database, planned, sql::Complete::statement, nothing);
  if (planned == Planned::each_time) fill_and_empty(database);
  const std::vector<TaskId> ids = database.client().enqueue_many(work, std::vector<nlohmann::json>(5 * size, no_args));
  const std::int64_t worker_id = add_worker(database);
  database.claim_all_for(worker_id);
  if (planned != Planned::while_empty) prepare(database, planned, sql::Complete::statement, nothing);

  // A quarter has nothing to say, a quarter a result, and the others run again.
  const auto id = [&](std::size_t i) { return ids[i]; };
  const auto half = [](const std::string& element) { return ", " + array_of(size / 2, element); };
  const auto quarter = [](const std::string& element) { return ", " + array_of(size / 4, element); };
  const std::string none = ", '{}'";
  const std::string ended = list(0, size / 2, id) + half("1") + half("2") + half("1") + none +
                            list(0, size / 4, [](std::size_t i) { return 2 * i + 1; }) + quarter("succeeded") +
                            quarter("succeeded") + quarter("0") + quarter("0") + none + quarter("17") + none + none +
                            none + none + none;
  const std::string retried = list(size / 2, size, id) + half("1") + half("2") + half("1") + half("failed") +
                              half("1") + half("0") + none + half("HTTP_503") + none + none + half("fixed") +
                              half("1") + half("1") + none + none;
  const std::string parameters = ended.substr(2) + ", " + std::to_string(worker_id) + retried;
  CHECK(most_rows_with(database, parameters) <= std::int64_t{size});
  CHECK(database.value("select count(*) as value from dogged.tasks_live where retry_count = 1") ==
        std::to_string(size / 2));
  CHECK(database.value("select count(*) as value from dogged.tasks where status = 'succeeded'") ==
        std::to_string(size / 2));
  CHECK(database.value("select count(*) as value from dogged.tasks where result = '17'") == std::to_string(size / 4));
  CHECK(count_attempts(database) == std::int64_t{size});
}

TEST_CASE("a report that is sent again because the connection broke ends its task once") {
  TestDatabase database;
  Gate failing, waiting;
  const RunningWorker worker{database, {acts(failing, waiting, 1h)}, {.queues = {{"default", 3}}}};
  Client client = database.client();
  const std::vector<TaskId> ids = client.enqueue_many(scripted, {Part::fails, Part::fails});
  const TaskId expired = ids[0], of_later_attempt = ids[1];
  REQUIRE(eventually([&] { return failing.arrived() == 2; }));

  // While a completion waits for this lock, both failures are reported, and go into the next batch.
  TableLock attempts{database, "task_attempts"};
  client.enqueue(scripted, Part::succeeds);
  REQUIRE(eventually([&] { return completer_waits_in(database, "complete"); }));
  failing.open();
  client.enqueue_many(scripted, {Part::waits, Part::waits, Part::waits});
  REQUIRE(eventually([&] { return waiting.arrived() == 3; }));  // on the threads that have reported
  database.run("update dogged.tasks_live set expires_at = now() where id = $1::bigint", db::Params{}.add(expired));
  database.run("update dogged.tasks_live set attempt = 2 where id = $1::bigint", db::Params{}.add(of_later_attempt));

  // Neither counts. Why is asked for, and not answered.
  TableLock workers{database, "workers"};
  attempts.release();
  REQUIRE(eventually([&] { return completer_waits_in(database, "who_holds"); }));
  const std::string before = pid_of_completer(database);
  REQUIRE(test::terminate_connection(database, "completer") == 1);
  REQUIRE(eventually([&] { return pid_of_completer(database) != before; }));
  workers.release();

  CHECK(eventually([&] { return database.status_of(expired) == "expired"; }));
  CHECK(database.history_of(expired) == "1 failed false");
  CHECK(database.value("select count(*) as value from dogged.tasks where name = 'scripted'") == "6");
  waiting.open();
}

TEST_CASE(
    "statements that give claimed tasks back, defer or end them read their rows and no others, as a completion does") {
  constexpr std::size_t size = 200;
  constexpr std::int64_t versions = 3;  // enqueued, claimed, given an end: an index may still have all of a row
  const auto& [statement, waits, become] = GENERATE(
      table<const db::Statement*, bool, std::string>({{&sql::Release::statement, false, "status = 'pending'"},
                                                      {&sql::Defer::statement, true, "status = 'pending' and deferred"},
                                                      {&sql::ExpireClaimed::statement, false, "status = 'expired'"}}));
  const Planned planned = GENERATE(Planned::while_empty, Planned::while_full, Planned::each_time);
  TestDatabase database;
  const std::string nothing = std::string{"0, 0, '{}', '{}'"} + (waits ? ", '{}'" : "");
  if (planned == Planned::while_empty) prepare(database, planned, *statement, nothing);
  if (planned == Planned::each_time) fill_and_empty(database);
  const std::vector<TaskId> ids = database.client().enqueue_many(work, std::vector<nlohmann::json>(5 * size, no_args));
  const std::int64_t worker_id = add_worker(database);
  database.claim_all_for(worker_id);
  database.run("update dogged.tasks_live set expires_at = now() - interval '1 s'");
  if (planned != Planned::while_empty) prepare(database, planned, *statement, nothing);

  const std::string parameters = std::to_string(worker_id) + ", 0" +
                                 list(0, size, [&](std::size_t i) { return ids[i]; }) + ", " + array_of(size, "1") +
                                 (waits ? ", " + array_of(size, "50") : "");
  CHECK(most_rows_with(database, parameters) <= versions * std::int64_t{size});
  CHECK(database.value("select count(*) as value from dogged.tasks where " + become) == std::to_string(size));
}
