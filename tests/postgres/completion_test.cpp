// What a completion answers, the reports that did not count and why, and what is made of it.
#include "completion.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <pqxx/pqxx>

#include "sql_statements.hpp"
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

/// What a handler does.
enum class Part { succeeds, fails, waits };

/// Nobody reads or writes the table until it is released.
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

/// The completer's statement that begins with a comment like this waits for a lock.
bool completer_waits_in(TestDatabase& database, const std::string& comment) {
  return database.value(
             "select count(*) = 1 as value from pg_stat_activity "
             "where application_name = $1 and wait_event_type = 'Lock' and query like '-- ' || $2 || '%'",
             db::Params{}.add(database.schema() + " completer").add(comment)) == "t";
}

std::string pid_of_completer(TestDatabase& database) {
  return database.value("select max(pid) as value from pg_stat_activity where application_name = $1",
                        db::Params{}.add(database.schema() + " completer"));
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

/// `is_too_late` by the task's id, of the reports that did not count.
std::map<TaskId, bool> refused(TestDatabase& database, std::int64_t worker_id, const std::vector<Report>& reports) {
  std::map<TaskId, bool> refused;
  for (const db::Row& row : database.connection().run(sql::complete, runtime::completion_params(worker_id, reports))) {
    const bool is_first = refused.emplace(row.number("id"), row.boolean("is_too_late")).second;
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

TEST_CASE("what was on record counts no second time, with and without something to say of it") {
  TestDatabase database;
  const std::vector<TaskId> ids = database.client().enqueue_many(work, {no_args, no_args});
  const std::int64_t worker_id = add_worker(database);
  database.claim_all_for(worker_id);
  const std::vector<Report> plain{success(ids[0])};
  Report with_result = success(ids[1]);
  with_result.result_json = "17";

  CHECK(refused(database, worker_id, plain).empty());
  CHECK(refused(database, worker_id, {with_result}).empty());
  CHECK(refused(database, worker_id, plain) == std::map<TaskId, bool>{{ids[0], false}});
  CHECK(refused(database, worker_id, {with_result}) == std::map<TaskId, bool>{{ids[1], false}});
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
  std::map<TaskId, bool> found;
  other.transaction([&] {
    (void)other.run({"lock", "select from dogged.tasks_live where id = $1::bigint for update"},
                    db::Params{}.add(locked));
    found = refused(database, worker_id,
                    {success(counts), stale, success(locked), retry(to_be_cancelled, 1s), retry(expiring, 1h)});
  });

  CHECK(found == std::map<TaskId, bool>{
                     {of_earlier_attempt, false}, {locked, false}, {to_be_cancelled, false}, {expiring, true}});
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
        std::map<TaskId, bool>{{ids[0], false}, {ids[1], false}});
  CHECK(count_attempts(database) == 0);
  CHECK(database.value("select count(*) as value from dogged.tasks_live where status = 'running'") == "2");
}

TEST_CASE("to end a batch of retries meets no report with every other") {
  constexpr std::size_t size = 200;
  TestDatabase database;
  const std::vector<TaskId> ids = database.client().enqueue_many(work, std::vector<nlohmann::json>(size, no_args));
  const std::int64_t worker_id = add_worker(database);
  database.claim_all_for(worker_id);
  std::string id_list, positions;
  for (std::size_t i = 0; i < size; ++i) {
    id_list += (i == 0 ? "" : ",") + std::to_string(ids[i]);
    positions += (i == 0 ? "" : ",") + std::to_string(i + 1);
  }

  // The plan of a worker's session: made once, for whatever comes, by what is known of the table.
  database.run("analyze dogged.tasks_live");
  database.run("set plan_cache_mode = force_generic_plan");
  database.run("set enable_seqscan = off");
  database.run("prepare complete as " + std::string{sql::complete.text});
  const auto all = [](const std::string& element) { return ", " + array_of(size, element); };
  const db::Rows rows =
      database.run("explain (analyze, format json) execute complete (" + std::to_string(worker_id) + ", '{" + id_list +
                   "}'" + all("1") + all("2") + all("1") + ", '{" + positions + "}'" + all("pending") + all("failed") +
                   all("1") + all("0") + all("null") + all("HTTP_503") + all("null") + all("null") + all("fixed") +
                   all("1") + all("1") + all("null") + ")");
  const nlohmann::json explained = nlohmann::json::parse(rows.one().text("QUERY PLAN"));

  CHECK(most_rows(explained.at(0).at("Plan")) <= std::int64_t{size});
  CHECK(database.value("select count(*) as value from dogged.tasks_live where retry_count = 1") ==
        std::to_string(size));
  CHECK(count_attempts(database) == std::int64_t{size});
}

TEST_CASE("a report that is sent again because the connection broke ends its task once") {
  TestDatabase database;
  constexpr Task<Part> scripted{"scripted"};
  Gate failing, waiting;
  const RunningWorker worker{database,
                             {registered(scripted,
                                         [&](Context&, Part part) {
                                           if (part == Part::waits) waiting.wait();
                                           if (part != Part::fails) return;
                                           failing.wait();
                                           throw TaskError{"LISTED", "as the test wants it"};
                                         },
                                         {.retry = fixed(1h), .auto_retry_for = {"LISTED"}})},
                             {.queues = {{"default", 3}}}};
  Client client = database.client();
  const std::vector<TaskId> ids = client.enqueue_many(scripted, {Part::fails, Part::fails});
  const TaskId expired = ids[0], of_later_attempt = ids[1];
  REQUIRE(eventually([&] { return failing.arrived() == 2; }));

  // While a completion waits for this lock, both failures are reported, and go into the next batch.
  TableLock attempts{database, "task_attempts"};
  client.enqueue(scripted, Part::succeeds);
  REQUIRE(eventually([&] { return completer_waits_in(database, "Ends attempts"); }));
  failing.open();
  client.enqueue_many(scripted, {Part::waits, Part::waits, Part::waits});
  REQUIRE(eventually([&] { return waiting.arrived() == 3; }));  // on the threads that have reported
  database.run("update dogged.tasks_live set expires_at = now() where id = $1::bigint", db::Params{}.add(expired));
  database.run("update dogged.tasks_live set attempt = 2 where id = $1::bigint", db::Params{}.add(of_later_attempt));

  // The one is too late, which the batch's answer says. Why the other does not count is asked for, and not answered.
  TableLock workers{database, "workers"};
  attempts.release();
  REQUIRE(eventually([&] { return completer_waits_in(database, "Why reports"); }));
  const std::string before = pid_of_completer(database);
  REQUIRE(test::terminate_connection(database, "completer") == 1);
  REQUIRE(eventually([&] { return pid_of_completer(database) != before; }));
  workers.release();

  CHECK(eventually([&] { return database.status_of(expired) == "expired"; }));
  CHECK(database.history_of(expired) == "1 failed false");
  CHECK(database.value("select count(*) as value from dogged.tasks where name = 'scripted'") == "6");
  waiting.open();
}
