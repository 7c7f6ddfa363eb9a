// Schedules that programs declare (TASK_SCHEDULE): which declaration counts where programs differ, and what becomes of
// a schedule that none declares any more.
#include <sstream>

#include <spdlog/sinks/ostream_sink.h>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "tasks/schedules.hpp"
#include "upkeep/declared_schedules.hpp"

using namespace dogged;
using test::contains;
using test::error_of;
using test::RunningWorker;
using test::TestDatabase;

namespace {

constexpr Task<nlohmann::json> report{"report"};

/// A worker whose program declares the schedule `nightly` with this spec.
runtime::WorkerSettings declaring(std::string_view spec, const ScheduleOptions& options = {.task = "report"}) {
  const auto definitions =
      runtime::make_definitions({test::registered(report, [](Context&, const nlohmann::json&) {})});
  return {.schedules = runtime::declarations_of({{"nightly", spec, options}}, definitions)};
}

std::vector<detail::RegisteredTask> reports() {
  return {test::registered(report, [](Context&, const nlohmann::json&) {})};
}

/// A worker that does nothing but declare `nightly`, and what it logs.
class Declaring {
 public:
  Declaring(TestDatabase& database, std::string_view name, std::string_view spec, ScheduleOptions options = {})
      : database_(database), worker_(test::add_worker(database)) {
    options.task = "report";
    const auto definitions =
        runtime::make_definitions({test::registered(report, [](Context&, const nlohmann::json&) {})});
    schedules_ = std::make_unique<runtime::DeclaredSchedules>(
        runtime::declarations_of({{name, spec, options}}, definitions), log_);
  }

  /// The log of the declaration that is made now.
  std::string declare() {
    said_.str("");
    schedules_->declare(database_.connection(), worker_);
    return said_.str();
  }

 private:
  TestDatabase& database_;
  const std::int64_t worker_;
  std::ostringstream said_;
  const std::shared_ptr<spdlog::logger> log_ =
      std::make_shared<spdlog::logger>("kept", std::make_shared<spdlog::sinks::ostream_sink_mt>(said_));
  std::unique_ptr<runtime::DeclaredSchedules> schedules_;
};

std::string spec_in_force(TestDatabase& database) {
  return database.value("select spec as value from dogged.schedules where name = 'nightly'");
}

}  // namespace

TEST_CASE(
    "a worker declares the schedules of its program when it starts, and an operator's change stays until it declares "
    "another") {
  TestDatabase database;
  {
    RunningWorker worker{
        database, reports(),
        declaring(
            "0 3 * * *",
            {.task = "report", .time_zone = "Europe/Berlin", .args = R"({"n": 1})", .overlap = Overlap::allow_all})};
    CHECK(database.value("select concat_ws(' ', task, spec, time_zone, args, overlap, catch_up_ms, catch_up_limit, "
                         "state) as value from dogged.schedule_overview") ==
          R"(report 0 3 * * * Europe/Berlin {"n": 1} allow_all 3600000 1 active)");
  }
  database.run("select dogged.set_schedule('nightly', '{\"spec\": \"0 5 * * *\"}')");
  {
    RunningWorker worker{
        database, reports(),
        declaring(
            "0 3 * * *",
            {.task = "report", .time_zone = "Europe/Berlin", .args = R"({"n": 1})", .overlap = Overlap::allow_all})};
  }
  CHECK(spec_in_force(database) == "0 5 * * *");
  { RunningWorker worker{database, reports(), declaring("0 4 * * *")}; }
  CHECK(spec_in_force(database) == "0 4 * * *");
}

TEST_CASE(
    "of two programs that declare a schedule differently the newer wins, whichever starts last, until none of it is "
    "left") {
  TestDatabase database;
  RunningWorker old_one{database, reports(), declaring("0 3 * * *")};
  {
    RunningWorker new_one{database, reports(), declaring("0 4 * * *")};
    CHECK(spec_in_force(database) == "0 4 * * *");
    RunningWorker old_again{database, reports(), declaring("0 3 * * *")};
    CHECK(spec_in_force(database) == "0 4 * * *");
  }
  RunningWorker old_later{database, reports(), declaring("0 3 * * *")};
  CHECK(spec_in_force(database) == "0 3 * * *");
}

TEST_CASE(
    "a schedule that no program declares any more is shown as orphaned, and goes on under a new name that is "
    "declared") {
  TestDatabase database;
  { RunningWorker worker{database, reports(), declaring("0 3 * * *")}; }
  const std::string id = database.value("select id::text as value from dogged.schedules");
  RunningWorker other{database, reports()};
  CHECK(database.value("select state as value from dogged.schedule_overview") == "orphaned");
  const auto definitions = runtime::make_definitions(reports());
  RunningWorker renamed{database,
                        reports(),
                        {.schedules = runtime::declarations_of(
                             {{"daily", "0 3 * * *", {.task = "report", .formerly = "nightly"}}}, definitions)}};
  CHECK(database.value("select concat_ws(' ', id, name, state) as value from dogged.schedule_overview") ==
        id + " daily active");
}

TEST_CASE(
    "where two programs declare a schedule differently, workers of both are told which declaration counts, once") {
  TestDatabase database;
  Declaring old_one{database, "nightly", "0 3 * * *"};
  CHECK(contains(old_one.declare(), "schedule nightly: created, as this worker's program declares it"));
  CHECK(old_one.declare().empty());
  Declaring new_one{database, "nightly", "0 4 * * *"};
  const std::string told = new_one.declare();
  CHECK(contains(told, "schedule nightly: changed"));
  CHECK(contains(told, "workers of an older program declare it otherwise"));
  CHECK(contains(old_one.declare(), "a program that was first seen later declares it otherwise"));
  CHECK(old_one.declare().empty());
  CHECK(new_one.declare().empty());
  CHECK(database.value("select string_agg(details ->> 'outcome', ' ' order by id) as value from dogged.audit") ==
        "created changed");
}

TEST_CASE("a worker of an older program does not create a schedule again that a newer program has renamed") {
  TestDatabase database;
  Declaring old_one{database, "nightly", "0 3 * * *"};
  (void)old_one.declare();
  Declaring new_one{database, "daily", "0 3 * * *", {.formerly = "nightly"}};
  (void)new_one.declare();
  CHECK(contains(old_one.declare(), R"("name": "daily")"));
  CHECK(database.value("select string_agg(name, ' ') as value from dogged.schedules") == "daily");
  Declaring newest{database, "nightly", "0 5 * * *"};
  (void)newest.declare();
  CHECK(database.value("select string_agg(name, ' ' order by name) as value from dogged.schedules") == "daily nightly");
}

TEST_CASE("a rollback to a program from before a rename gives the schedule its former name back") {
  TestDatabase database;
  const std::string schedule = "select id || ' ' || name as value from dogged.schedules";
  Declaring old_one{database, "nightly", "0 3 * * *"};
  (void)old_one.declare();
  const std::string before = database.value(schedule);
  Declaring new_one{database, "daily", "0 3 * * *", {.formerly = "nightly"}};
  (void)new_one.declare();
  database.run("update dogged.workers set stopped_at = now() where schedules ? 'daily'");
  CHECK(contains(old_one.declare(), "schedule nightly: changed"));
  CHECK(database.value(schedule) == before);
  CHECK(database.value("select string_agg(details ->> 'outcome', ' ' order by id) as value from dogged.audit") ==
        "created changed changed");
}

TEST_CASE("a schedule's former name is known also where later programs do not name it any more") {
  TestDatabase database;
  const std::string schedule = "select string_agg(id || ' ' || name, ', ') as value from dogged.schedules";
  Declaring old_one{database, "nightly", "0 3 * * *"};
  (void)old_one.declare();
  const std::string before = database.value(schedule);
  Declaring new_one{database, "daily", "0 3 * * *", {.formerly = "nightly"}};
  (void)new_one.declare();
  Declaring newest{database, "daily", "0 4 * * *"};
  (void)newest.declare();
  CHECK(contains(old_one.declare(), R"("name": "daily")"));
  database.run("update dogged.workers set stopped_at = now() where schedules ? 'daily'");
  CHECK(contains(old_one.declare(), "schedule nightly: changed"));
  CHECK(database.value(schedule) == before);
}

TEST_CASE("a schedule that another transaction has locked is declared later, and the worker waits hardly for it") {
  TestDatabase database;
  Declaring program{database, "nightly", "0 3 * * *"};
  (void)program.declare();
  Declaring newer{database, "nightly", "0 4 * * *"};
  db::Connection operator_session{database.settings()};
  operator_session.transaction([&] {
    operator_session.run({"pause", "select " + database.schema() + ".pause_schedule('nightly')"});
    database.run("set statement_timeout = '5s'");
    CHECK(contains(newer.declare(), "another transaction has locked a schedule"));
    CHECK(newer.declare().empty());  // it is said once
    CHECK(spec_in_force(database) == "0 3 * * *");
  });
  CHECK(contains(newer.declare(), "schedule nightly: changed"));
  CHECK(spec_in_force(database) == "0 4 * * *");
}

TEST_CASE("a worker whose lease was ended declares nothing, and no error comes of it") {
  TestDatabase database;
  Declaring worker{database, "nightly", "0 3 * * *"};
  database.run("update dogged.workers set lease_ended_at = now()");
  CHECK(worker.declare().empty());
  CHECK(database.value("select count(*) as value from dogged.schedules") == "0");
}

TEST_CASE("a program that declares a schedule and another one that was formerly called so has two schedules") {
  TestDatabase database;
  const auto definitions =
      runtime::make_definitions({test::registered(report, [](Context&, const nlohmann::json&) {})});
  RunningWorker worker{database,
                       reports(),
                       {.schedules = runtime::declarations_of({{"a", "0 3 * * *", {.task = "report"}},
                                                               {"b", "0 4 * * *", {.task = "report", .formerly = "a"}}},
                                                              definitions)}};
  CHECK(database.value("select string_agg(name, ' ' order by name) as value from dogged.schedules") == "a b");
}

TEST_CASE("a schedule that the program of a live worker declares is neither deleted nor renamed, and can be paused") {
  TestDatabase database;
  const auto refused = [&](const std::string& sql) {
    return error_of<InvalidInput>([&] { database.run(sql); }).message();
  };
  {
    RunningWorker worker{database, reports(), declaring("0 3 * * *")};
    CHECK(contains(refused("select dogged.delete_schedule('nightly')"), "declares it"));
    CHECK(contains(refused("select dogged.rename_schedule('nightly', 'daily')"), "declares it"));
    database.run("select dogged.pause_schedule('nightly')");
  }
  { RunningWorker worker{database, reports(), declaring("0 4 * * *")}; }
  CHECK(database.value("select state as value from dogged.schedule_overview") == "paused");
  database.run("select dogged.delete_schedule('nightly')");
}

TEST_CASE("a worker does not log args of a schedule that the task redacts") {
  TestDatabase database;
  test::declare(database, {test::registered(report, [](Context&, const nlohmann::json&) {}, {.redact = {"/key"}})});
  Declaring worker{database, "nightly", "0 3 * * *", {.args = R"({"key": "secret", "n": 1})"}};
  const std::string told = worker.declare();
  CHECK(contains(told, R"("n": 1)"));
  CHECK_FALSE(contains(told, "secret"));
  CHECK(database.value("select args ->> 'key' as value from dogged.schedules") == "secret");
}

TEST_CASE(
    "a worker whose program declares a schedule that the database refuses does not start, changes no declaration and "
    "does not look alive") {
  TestDatabase database;
  const RunningWorker running{database, reports(), {}};
  const auto declarations = [&] {
    return database.value("select jsonb_agg(d order by d.name)::text as value from dogged.task_definitions d");
  };
  const std::string before = declarations();
  std::vector<detail::RegisteredTask> otherwise = reports();
  otherwise.front().options.retry = fixed(milliseconds{7});
  const InvalidInput error = error_of<InvalidInput>([&] {
    RunningWorker worker{database, otherwise, declaring("0 0 30 2 *")};
  });
  CHECK(contains(error.message(), "its spec \"0 0 30 2 *\" never fires"));
  CHECK(declarations() == before);
  CHECK(database.value("select count(*) as value from dogged.workers where stopped_at is null") == "1");
  CHECK(database.value("select count(*) as value from dogged.workers") == "2");
}
