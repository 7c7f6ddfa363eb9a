// The promises of dogged.replay, dogged.purge, and the export and import of dead letters.
#include <atomic>
#include <future>

#include "claim/statements.hpp"
#include "report/completion.hpp"
#include "support/catch.hpp"
#include "support/everything_of.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::add_worker;
using test::contains;
using test::error_of;
using test::eventually;
using test::everything_of;
using test::TestDatabase;
using test::work;

namespace {

std::vector<TaskId> claim(TestDatabase& database, std::int64_t worker_id, std::size_t how_many = 1) {
  std::vector<TaskId> ids;
  const sql::Claim claim = runtime::claim_of(worker_id, {{.queue = "default", .how_many = how_many}}, {"work"}, 0, {1});
  for (const sql::Claim::Row& task : database.connection().run(claim)) ids.push_back(task.id);
  return ids;
}

/// Reports, as a worker, an attempt that ends its task. True if the report counted.
bool report(TestDatabase& database, std::int64_t worker_id, TaskId id, int attempt, lifecycle::Status status) {
  runtime::Report report;
  report.id = id;
  report.attempt = attempt;
  report.started_at = report.finished_at = runtime::SteadyClock::now();
  report.transition = {.status = status, .outcome = lifecycle::Outcome::succeeded};
  if (status == lifecycle::Status::failed) {
    report.transition.outcome = lifecycle::Outcome::failed;
    report.transition.error_code = ErrorCode{"HTTP_503"};
    report.transition.retry_count = 5;
    report.transition.losses = 1;
    report.error_message = "order 17 is \"late\"";
    report.error_details_json = R"({"status": 503})";
  }
  const sql::Complete batch = runtime::completion_of(worker_id, std::span{&report, 1}, runtime::SteadyClock::now());
  return database.connection().run(batch).empty();
}

/// A task that failed for good in its first attempt, with all of its retries spent.
TaskId dead_letter(TestDatabase& database, std::int64_t worker_id) {
  const TaskId id = database
                        .run(
                            "select dogged.enqueue('work', '{\"n\": 12345678901234567890.5}', priority => -5, "
                            "trace_context => 'trace') as id")
                        .one()
                        .number("id");
  REQUIRE(claim(database, worker_id) == std::vector<TaskId>{id});
  REQUIRE(report(database, worker_id, id, 1, lifecycle::Status::failed));
  return id;
}

std::string replay(TestDatabase& database, TaskId id) {
  return database.value("select dogged.replay($1::bigint) as value", db::Params{}.add(id));
}

/// The results of replay_many or purge_many, by the order of ids: `replayed not_found`.
std::string results(db::Connection& connection, const std::string& call, const std::vector<TaskId>& ids) {
  const std::string sql = "select string_agg(result, ' ' order by id) as value from dogged." + call;
  const test::Rows rows = connection.run({call, sql}, db::Params{}.add(ids));
  return rows.one().maybe_text("value").value_or("");
}

std::string letters_of(TestDatabase& database, TaskId id) {
  return database.value("select letter as value from dogged.export_dead_letters(array[$1::bigint])",
                        db::Params{}.add(id));
}

std::string import_of(TestDatabase& database, const std::string& letter) {
  return database.value("select string_agg(result, ' ') as value from dogged.import_dead_letters(array[$1::jsonb])",
                        db::Params{}.add(letter));
}

}  // namespace

TEST_CASE("a replayed dead letter is pending with its id, its args and its history, and all of its retries again") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const TaskId id = dead_letter(database, worker);
  CHECK(replay(database, id) == "replayed");
  CHECK(database.value(
            "select count(*) as value from dogged.tasks_live where status = 'pending' and attempt = 1 and "
            "retry_count = 0 and losses = 0 and args = '{\"n\": 12345678901234567890.5}' and priority = -5 and "
            "trace_context = 'trace' and error_code = 'HTTP_503' and finished_at is null and not deferred") == "1");
  CHECK(database.count_tasks() == 1);
  CHECK(database.history_of(id) == "1 failed false");

  REQUIRE(claim(database, worker) == std::vector<TaskId>{id});
  REQUIRE(report(database, worker, id, 2, lifecycle::Status::succeeded));
  CHECK(database.history_of(id) == "1 failed false, 2 succeeded false");
}

TEST_CASE("a dead letter is exported and imported with the snoozes that it has spent") {
  TestDatabase database;
  const TaskId id = dead_letter(database, add_worker(database));
  const auto snoozes = [&] {
    return database.value("select snoozes as value from dogged.tasks where id = $1", db::Params{}.add(id));
  };
  const auto put_back = [&] {
    const std::string letter = letters_of(database, id);
    database.run("delete from dogged.tasks_failed");
    CHECK(import_of(database, letter) == "imported");
    return nlohmann::json::parse(letter).at("snoozes").get<int>();
  };
  CHECK(put_back() == 0);
  CHECK(snoozes() == "null");
  database.run("update dogged.tasks set snoozes = 3");
  CHECK(put_back() == 3);
  CHECK(snoozes() == "3");
  nlohmann::json letter = nlohmann::json::parse(letters_of(database, id));
  letter["snoozes"] = -1;
  CHECK_THROWS_WITH(import_of(database, letter.dump()), Catch::Contains("snoozes is negative"));
}

TEST_CASE(
    "a letter that is older than its queue's dead letters are kept is not imported, where the queue keeps them longer "
    "it is") {
  TestDatabase database;
  const TaskId id = dead_letter(database, add_worker(database));
  const std::string letter = database.value(
      "select (l.letter::jsonb || jsonb_build_object('enqueued_at', old.t, 'run_at', old.t, 'claimed_at', old.t, "
      "'failed_at', "
      "old.t))::text as value from dogged.export_dead_letters(array[$1::bigint]) l, (select now() - interval '100 "
      "days' as t) old",
      db::Params{}.add(id));
  database.run("delete from dogged.tasks_failed");
  CHECK(import_of(database, letter) == "too_old");
  CHECK(database.status_of(id) == "none");
  database.run(
      "select dogged.set_queue(queue, '{\"keep_failed_days\": 200}') from (select $1::jsonb ->> 'queue' as queue) l",
      db::Params{}.add(letter));
  CHECK(import_of(database, letter) == "imported");
  CHECK(database.status_of(id) == "failed");
}

TEST_CASE("a late report of the attempt before a replay changes nothing, before the task is claimed again and after") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const TaskId id = dead_letter(database, worker);
  REQUIRE(replay(database, id) == "replayed");
  const std::string before = everything_of(database, id);
  CHECK_FALSE(report(database, worker, id, 1, lifecycle::Status::succeeded));
  CHECK(everything_of(database, id) == before);

  REQUIRE(claim(database, worker) == std::vector<TaskId>{id});  // by the same worker
  const std::string claimed = everything_of(database, id);
  CHECK_FALSE(report(database, worker, id, 1, lifecycle::Status::succeeded));
  CHECK(everything_of(database, id) == claimed);
}

TEST_CASE("replaying what is no dead letter changes nothing and says so") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const TaskId id = dead_letter(database, worker);
  REQUIRE(replay(database, id) == "replayed");
  const std::string before = everything_of(database, id);
  CHECK(replay(database, id) == "not_failed");
  CHECK(replay(database, id + 1000) == "not_found");
  CHECK(everything_of(database, id) == before);
  CHECK(database.value("select count(*) as value from dogged.audit") == "1");
  const auto error = error_of<InvalidInput>([&] { database.run("select dogged.replay(null)"); });
  CHECK(contains(error.message(), "null"));
}

TEST_CASE("a replay rolls back with its transaction") {
  TestDatabase database;
  const TaskId id = dead_letter(database, add_worker(database));
  const std::string before = everything_of(database, id);
  struct Rollback {};
  try {
    database.connection().transaction([&] {
      CHECK(replay(database, id) == "replayed");
      throw Rollback{};
    });
  } catch (const Rollback&) {
  }
  CHECK(everything_of(database, id) == before);
  CHECK(database.value("select count(*) as value from dogged.audit") == "0");
}

TEST_CASE("of two operators that replay the same dead letters at once one passes over what the other has locked") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const std::vector<TaskId> ids{dead_letter(database, worker), dead_letter(database, worker)};
  db::Connection other{database.settings()};
  database.connection().transaction([&] {
    CHECK(results(database.connection(), "replay_many($1::bigint[])", {ids[0]}) == "replayed");
    CHECK(results(other, "replay_many($1::bigint[])", ids) == "locked replayed");
  });
  CHECK(results(other, "replay_many($1::bigint[])", ids) == "not_failed not_failed");
  CHECK(database.value("select count(*) as value from dogged.audit where action = 'replay'") == "2");
}

TEST_CASE("dogged.replay waits for another one under way, and then finds no dead letter") {
  TestDatabase database;
  const TaskId id = dead_letter(database, add_worker(database));
  std::future<std::string> second;
  database.connection().transaction([&] {
    REQUIRE(replay(database, id) == "replayed");
    second = std::async(std::launch::async, [&database, id] {
      db::Connection connection{database.settings()};
      const test::Rows rows = connection.run({"replay", "select dogged.replay($1::bigint) as r"}, db::Params{}.add(id));
      return rows.one().text("r");
    });
    db::Connection observer{database.settings()};
    const std::string waits =
        "select count(*) as n from pg_stat_activity where datname = current_database() and application_name = $1 and "
        "wait_event_type = 'Lock'";
    REQUIRE(eventually([&] {
      const test::Rows rows = observer.run({"waits", waits}, db::Params{}.add(database.settings().application_name));
      return rows.one().number("n") == 1;
    }));
  });
  CHECK(second.get() == "not_failed");
}

TEST_CASE("a dead letter that was replayed and failed again is not the one that was named with its attempt") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const TaskId id = dead_letter(database, worker);
  REQUIRE(replay(database, id) == "replayed");
  REQUIRE(claim(database, worker) == std::vector<TaskId>{id});
  REQUIRE(report(database, worker, id, 2, lifecycle::Status::failed));
  CHECK(results(database.connection(), "replay_many($1::bigint[], attempts => array[1])", {id}) == "changed");
  CHECK(results(database.connection(), "purge_many($1::bigint[], array[1])", {id}) == "changed");
  CHECK(results(database.connection(), "replay_many($1::bigint[], attempts => array[2])", {id}) == "replayed");
}

TEST_CASE("a rate spreads dead letters in the database, in the order of their ids, from the time that is given") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  std::vector<TaskId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(dead_letter(database, worker));
  CHECK(results(database.connection(), "replay_many($1::bigint[], now() + interval '1 hour', 0.5)", ids) ==
        "replayed replayed replayed replayed");
  CHECK(database.value("select bool_and(deferred)::text as value from dogged.tasks_live") == "true");
  CHECK(database.value(
            "select string_agg(extract(epoch from next_retry_at - first)::int::text, ' ' order by id) as value "
            "from dogged.tasks_live, (select min(next_retry_at) as first from dogged.tasks_live) f") == "0 2 4 6");
  CHECK(claim(database, worker, 10).empty());
}

TEST_CASE("bad options of a replay are refused, and nothing is replayed") {
  TestDatabase database;
  const TaskId id = dead_letter(database, add_worker(database));
  for (const char* call :
       {"replay_many($1::bigint[], per_second => 0)", "replay_many($1::bigint[], per_second => -1)",
        "replay_many($1::bigint[], per_second => 'NaN')", "replay_many($1::bigint[], per_second => 'Infinity')",
        "replay_many($1::bigint[], run_at => 'infinity')",
        "replay_many($1::bigint[], run_at => now() + interval '11 years')",
        "replay_many($1::bigint[], args => array['1', '2']::jsonb[])", "replay_many($1::bigint[], attempts => '{1,2}')",
        "purge_many($1::bigint[], '{1,2}')"}) {
    CAPTURE(call);
    CHECK_THROWS_AS(results(database.connection(), call, {id}), InvalidInput);
  }
  CHECK(database.status_of(id) == "failed");
}

TEST_CASE("new args replace the old ones, which the audit keeps, and such that are too large are refused") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const TaskId id = dead_letter(database, worker);
  database.run("update dogged.settings set max_args_bytes = 100");
  CHECK(results(database.connection(), "replay_many($1::bigint[], args => array[to_jsonb(repeat('x', 100))])", {id}) ==
        "args_too_large");
  CHECK_THROWS_AS(
      database.run("select dogged.replay($1::bigint, args => to_jsonb(repeat('x', 100)))", db::Params{}.add(id)),
      InvalidInput);
  // More text than the server can write.
  const std::string huge = "('[' || repeat('1e131071,', 9999) || '1e131071]')::jsonb";
  CHECK(results(database.connection(), "replay_many($1::bigint[], args => array[" + huge + "])", {id}) ==
        "args_too_large");
  CHECK(contains(error_of<InvalidInput>([&] {
                   database.run("select dogged.replay($1::bigint, args => " + huge + ")", db::Params{}.add(id));
                 }).message(),
                 "the limit is 100"));
  CHECK(database.status_of(id) == "failed");
  CHECK(results(database.connection(), "replay_many($1::bigint[], args => array['{\"n\": 2}'::jsonb])", {id}) ==
        "replayed");
  CHECK(database.value("select args::text as value from dogged.tasks_live") == "{\"n\": 2}");
  CHECK(database.value("select details -> 'args' as value from dogged.audit where details ? 'args'") ==
        "{\"n\": 12345678901234567890.5}");
}

TEST_CASE("a replay wakes a worker that sleeps") {
  TestDatabase database;
  std::promise<void> ran;
  std::atomic<int> runs{0};
  test::RunningWorker worker{database,
                             {test::registered(work,
                                               [&](Context&, const nlohmann::json&) {
                                                 if (++runs == 1) throw TaskError{"HTTP_503", "no"};
                                                 ran.set_value();
                                               },
                                               {.retry = NoRetry{}})},
                             {.poll_interval = 10min}};
  const TaskId id = database.client().enqueue(work, nlohmann::json::object());
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  REQUIRE(test::worker_is_asleep(database, worker.id()));
  REQUIRE(replay(database, id) == "replayed");
  REQUIRE(ran.get_future().wait_for(20s) == std::future_status::ready);
  CHECK(eventually([&] { return database.status_of(id) == "succeeded"; }));
}

TEST_CASE("the audit names the operator that replayed or purged, one row for each task") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const std::vector<TaskId> ids{dead_letter(database, worker), dead_letter(database, worker)};
  database.run("select set_config('dogged.actor', 'ann@ops', false)");
  REQUIRE(results(database.connection(), "replay_many($1::bigint[])", {ids[0]}) == "replayed");
  REQUIRE(results(database.connection(), "purge_many($1::bigint[])", {ids[1]}) == "purged");
  CHECK(database.value(
            "select string_agg(actor || ' ' || action || ' ' || (details ->> 'error_code'), ', ' order by id) as "
            "value from dogged.audit") == "ann@ops replay HTTP_503, ann@ops purge HTTP_503");
  CHECK(database.count_tasks() == 1);
  CHECK(database.history_of(ids[1]) == "1 failed false");
}

TEST_CASE("a dead letter that was exported and purged is imported as it was, once") {
  TestDatabase database;
  const std::int64_t worker = add_worker(database);
  const TaskId id = dead_letter(database, worker);
  const std::string row = "select (to_jsonb(f) - 'worker_id')::text as value from dogged.tasks_failed f";
  const std::string before = database.value(row);
  const std::string letter = letters_of(database, id);
  CHECK(contains(letter, "12345678901234567890.5"));
  CHECK(contains(letter, "\"error_details\":{\"status\": 503}"));
  CHECK(import_of(database, letter) == "id_taken");
  REQUIRE(database.value("select dogged.purge($1::bigint) as value", db::Params{}.add(id)) == "purged");
  CHECK(import_of(database, letter) == "imported");
  CHECK(import_of(database, letter) == "id_taken");
  CHECK(database.value(row) == before);
  CHECK(database.history_of(id) == "1 failed false");
  CHECK(replay(database, id) == "replayed");
}

TEST_CASE("a dead letter is imported into another database with its attempts, and new tasks do not get its id") {
  TestDatabase from;
  const TaskId id = dead_letter(from, add_worker(from));
  const std::string letter = letters_of(from, id);
  TestDatabase to;
  CHECK(import_of(to, letter) == "imported");
  CHECK(to.history_of(id) == "1 failed false");
  CHECK(to.value("select error_details::text as value from dogged.task_attempts") == "{\"status\": 503}");
  CHECK(to.run("select dogged.enqueue('work') as id").one().number("id") > id);
}

TEST_CASE("a line that is no dead letter is not imported, and the error names its mistake") {
  TestDatabase database;
  const std::string good =
      R"({"id":1,"name":"work","queue":"default","args":{},"enqueued_at":"2026-01-01T00:00:00Z","failed_at":"2026-01-01T00:00:00Z","attempts":1)";
  for (const auto& bad : std::vector<std::pair<std::string, std::string>>{
           {"[]", "a JSON object"},
           {R"({"id":1})", "missing"},
           {good + R"(,"state":"x"})", "\"state\" is no member"},
           {good + R"(,"name":"a b"})", "\"a b\""},
           {good + R"(,"id":0})", "id is 0"},
           {good + R"(,"id":99999999999999})", "2^45"},
           {good + R"(,"attempts":0})", "attempts is 0"},
           {good + R"(,"failed_at":"infinity"})", "infinity"},
           {good + R"(,"history":{}})", "history"},
           {good + R"(,"error_code":"Http 503"})", "error_code \"Http 503\""},
           {good + R"(,"error_code":"HTTP_503","history":[{"error_code":"503"}]})", "error_code \"503\""},
       }) {
    CAPTURE(bad.first);
    CHECK(contains(error_of<InvalidInput>([&] { import_of(database, bad.first); }).message(), bad.second));
  }
  CHECK(import_of(database, good + R"(,"queue":"not there"})") == "no_queue");
  CHECK(database.count_tasks() == 0);
}

TEST_CASE("messages that differ in what is counted, quoted or linked have one fingerprint, and others have not") {
  TestDatabase database;
  const auto fingerprint = [&](const std::string& message) {
    return database.value("select dogged.error_fingerprint($1) as value", db::Params{}.add(message));
  };
  CHECK(fingerprint("GET https://a.example/x?id=1 gave 503") == "GET <url> gave <n>");
  CHECK(fingerprint("no user 'ann' in \"eu 1\"") == "no user <text> in <text>");
  CHECK(fingerprint("can't open file") == "can't open file");
  CHECK(fingerprint("request deadbeef-aaaa-bbbb-cccc-ddddeeeeffff at 0xff") == "request <n> at <n>");
  CHECK(fingerprint("timeout after 30s") != fingerprint("refused after 30s"));
}
