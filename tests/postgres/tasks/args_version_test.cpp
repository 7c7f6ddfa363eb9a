// Args that change: tasks of an old and a new program at once, as docs/args.md teaches it.
#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "support/catch.hpp"
#include "support/place_in_call.hpp"
#include "support/test_database.hpp"

using namespace dogged;
using test::contains;
using test::error_of;
using test::eventually;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::worker_is_asleep;

namespace {

/// Whom the handlers have charged, by any program.
std::mutex charged_mutex;
std::vector<std::string> charged;

void note(const std::string& line) {
  const std::scoped_lock lock{charged_mutex};
  charged.push_back(line);
}

std::vector<std::string> sorted_charges() {
  const std::scoped_lock lock{charged_mutex};
  std::vector<std::string> lines = std::move(charged);
  charged.clear();
  std::sort(lines.begin(), lines.end());
  return lines;
}

// The first program.
namespace first {

struct Charge {
  std::string customer;
  std::int64_t cents = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Charge, customer, cents)

inline constexpr dogged::Task<Charge> charge{"card.charge"};

void take_charge(dogged::Context&, const Charge& args) { note(args.customer + " EUR"); }

}  // namespace first

// A member more, with a default.
namespace wider {

struct Charge {
  std::string customer;
  std::int64_t cents = 0;
  std::string currency = "EUR";
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Charge, customer, cents, currency)

}  // namespace wider

// A member renamed.
namespace second {

struct Charge {
  std::string customer_id;
  std::int64_t cents = 0;
  std::string currency = "EUR";
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Charge, customer_id, cents, currency)

inline constexpr dogged::Task<Charge> charge{"card.charge", {.version = 2}};

void take_charge(dogged::Context&, const Charge& args) { note(args.customer_id + " " + args.currency); }

nlohmann::json upgrade_charge(nlohmann::json args, int version) {
  if (version < 2) args["customer_id"] = args.at("customer");
  return args;
}

TASK_REGISTER(take_charge, charge, .upgrade = upgrade_charge);

}  // namespace second

std::vector<detail::RegisteredTask> old_program() { return {registered(first::charge, first::take_charge)}; }
/// By TASK_REGISTER.
std::vector<detail::RegisteredTask> new_program() { return detail::registered_tasks(); }

/// The start-up log of a worker of the first program.
std::string said_at_start(TestDatabase& database) {
  std::ostringstream said;
  const auto log = std::make_shared<spdlog::logger>("kept", std::make_shared<spdlog::sinks::ostream_sink_mt>(said));
  runtime::WorkerSettings settings;
  settings.database = database.settings_of("worker");
  settings.name = "starts";
  const runtime::WakeFd stop;
  const runtime::Worker worker{settings, runtime::make_definitions(old_program()), log, stop};
  database.run("update dogged.workers set stopped_at = now() where id = $1::bigint",
               db::Params{}.add(worker.id().value()));
  return said.str();
}

using Json = Task<nlohmann::json>;

std::string code_after(TestDatabase& database, const TaskOptions& options, const std::string& args = "{}") {
  const RunningWorker worker{database,
                             {registered(
                                 Json{"work", {.version = 3}}, [](Context&, const nlohmann::json&) {}, options)}};
  const TaskId id = database.client().enqueue({"work", args});
  REQUIRE(eventually([&] { return database.status_of(id) == "failed" || database.status_of(id) == "succeeded"; }));
  return database.value(
      "select coalesce(error_code || ': ' || error_message, status::text) as value from dogged.tasks where id = "
      "$1::bigint",
      db::Params{}.add(id));
}

}  // namespace

TEST_CASE("tasks of two versions of a program all succeed with workers of both, and none runs under an older worker") {
  TestDatabase database;
  Client client = database.client();
  const RunningWorker old_worker{database, old_program()};
  const RunningWorker new_worker{database, new_program()};
  std::vector<std::string> expected;
  for (int i = 0; i < 100; ++i) {
    const std::string customer = std::to_string(i);
    client.enqueue(first::charge, {customer, i});
    client.enqueue(second::charge, {customer, i, "SEK"});
    expected.push_back(customer + " EUR");
    expected.push_back(customer + " SEK");
  }
  REQUIRE(eventually([&] {
    return database.value("select count(*) as value from dogged.tasks where status = 'succeeded'") == "200";
  }));
  std::sort(expected.begin(), expected.end());
  CHECK(sorted_charges() == expected);
  CHECK(database.value("select count(*) as value from dogged.task_attempts") == "200");
  CHECK(database.value("select count(*) as value from dogged.tasks t join dogged.task_attempts a on a.task_id = t.id "
                       "where t.args_version = 2 and a.worker_id = $1::bigint",
                       db::Params{}.add(old_worker.id())) == "0");
  CHECK(database.value("select string_agg(distinct coalesce(args_version, 1) || ' ' || (args ? 'customer_id'), ', ') "
                       "as value from dogged.tasks") == "1 false, 2 true");
}

TEST_CASE("an older worker goes to sleep beside a task of a later version, which a newer worker then runs") {
  TestDatabase database;
  Client client = database.client();
  const RunningWorker old_worker{database, old_program()};
  const TaskId later = client.enqueue(second::charge, {"1", 100});
  const TaskId earlier = client.enqueue(first::charge, {"2", 100});
  REQUIRE(eventually([&] { return database.status_of(earlier) == "succeeded"; }));
  REQUIRE(worker_is_asleep(database, old_worker.id()));
  CHECK(database.value("select attempt || ' ' || (claimed_at is null) as value from dogged.tasks where id = $1::bigint",
                       db::Params{}.add(later)) == "0 true");
  const std::string state = "select state as value from dogged.task_overview where id = $1::bigint";
  CHECK(database.value(state, db::Params{}.add(later)) ==
        "is due, but its args are of a later version than its workers know");
  const RunningWorker new_worker{database, new_program()};
  CHECK(eventually([&] { return database.status_of(later) == "succeeded"; }));
  sorted_charges();
}

TEST_CASE("a worker says at its start which tasks of its queues wait for a newer one, unless that one is there") {
  TestDatabase database;
  Client client = database.client();
  client.enqueue(second::charge, {"1", 100});
  CHECK(
      contains(said_at_start(database),
               "1 task of card.charge in the queue default waits for a newer worker: their args are of version 2, and "
               "this worker knows version 1"));
  client.enqueue_many(second::charge, std::vector<second::Charge>(2));
  CHECK(contains(said_at_start(database), "3 tasks of card.charge in the queue default wait for a newer worker"));
  runtime::WorkerSettings settings;
  settings.database = database.settings_of("worker");
  settings.name = "newer";
  const runtime::WakeFd stop;
  const runtime::Worker newer{settings, runtime::make_definitions(new_program()),
                              std::make_shared<spdlog::logger>("quiet"), stop};
  CHECK_FALSE(contains(said_at_start(database), "newer worker"));
}

TEST_CASE("an open circuit defers no task whose args the worker does not know") {
  TestDatabase database;
  const TaskOptions options{.auto_retry_for = {"*"}, .circuit = "card"};
  const std::vector<detail::RegisteredTask> tasks{registered(first::charge, first::take_charge, options)};
  test::declare(database, tasks);
  database.run("update dogged.circuits set state = 'open', is_forced = true, since = clock_timestamp()");
  Client client = database.client();
  client.enqueue_many(second::charge, std::vector<second::Charge>(20));
  client.enqueue_many(first::charge, std::vector<first::Charge>(20));
  const RunningWorker worker{database, tasks, {.queues = {{"default", 2}}}};
  REQUIRE(eventually([&] {
    return database.value("select count(*) as value from dogged.tasks where args_version is null and deferred") == "20";
  }));
  CHECK(database.value("select count(*) as value from dogged.tasks where args_version = 2 and not deferred") == "20");
}

TEST_CASE("args of an older version are read as they are where there is no upgrade") {
  TestDatabase database;
  const Task<wider::Charge> charge{"card.charge", {.version = 2}};
  const RunningWorker worker{
      database,
      {registered(charge, [](Context&, const wider::Charge& args) { note(args.customer + " " + args.currency); })}};
  const TaskId older = database.client().enqueue(first::charge, {"1", 100});
  const TaskId own = database.client().enqueue(charge, {"2", 100, "SEK"});
  REQUIRE(eventually([&] { return database.status_of(older) == "succeeded"; }));
  REQUIRE(eventually([&] { return database.status_of(own) == "succeeded"; }));
  CHECK(sorted_charges() == std::vector<std::string>{"1 EUR", "2 SEK"});
}

TEST_CASE("an upgrade that throws fails the attempt with INVALID_ARGS, or with the code that it throws") {
  TestDatabase database;
  const auto missing = [](nlohmann::json args, int) { return args.at("customer"); };
  CHECK(code_after(database, {.upgrade = missing}) ==
        "INVALID_ARGS: the args do not fit at /customer: key 'customer' not found");
  const auto own = [](nlohmann::json, int version) -> nlohmann::json {
    throw std::runtime_error("no such version: " + std::to_string(version));
  };
  CHECK(code_after(database, {.upgrade = own}) == "INVALID_ARGS: no such version: 1");
  const auto coded = [](nlohmann::json, int) -> nlohmann::json { throw TaskError{"TOO_OLD", "of last year"}; };
  CHECK(code_after(database, {.upgrade = coded}) == "TOO_OLD: of last year");
  const auto memory = [](nlohmann::json, int) -> nlohmann::json { throw std::bad_alloc{}; };
  CHECK(contains(code_after(database, {.upgrade = memory}), "OUT_OF_MEMORY"));
}

TEST_CASE("a worker's row and the definitions say which versions of args it knows") {
  TestDatabase database;
  const RunningWorker old_worker{database, old_program()};
  CHECK(database.value("select args_version as value from dogged.task_definitions") == "1");
  const RunningWorker new_worker{database, new_program()};
  CHECK(database.value("select args_version as value from dogged.task_definitions") == "2");
  CHECK(database.value("select string_agg(coalesce(args_versions::text, 'none'), ', ' order by id) as value from "
                       "dogged.workers") == "none, {\"card.charge\": 2}");
}

TEST_CASE("the version of args is stored by each way in, and version 1 as nothing") {
  TestDatabase database;
  Client client = database.client();
  const auto version_of = [&](TaskId id) {
    return database.value(
        "select coalesce(args_version::text, 'none') as value from dogged.tasks where id = $1::bigint",
        db::Params{}.add(id));
  };
  CHECK(version_of(client.enqueue(first::charge, {})) == "none");
  CHECK(version_of(client.enqueue(second::charge, {})) == "2");
  const auto alike = client.enqueue_many(second::charge, std::vector<second::Charge>(3));
  CHECK(version_of(alike.back()) == "2");
  const auto mixed = client.enqueue_many(
      {{.name = "a", .args_version = 3}, {.name = "a"}, {.name = "b", .args_version = limits::max_args_version}});
  CHECK(version_of(mixed[0]) == "3");
  CHECK(version_of(mixed[1]) == "none");
  CHECK(version_of(mixed[2]) == "32767");
  const auto in_sql = [&](const std::string& call) { return version_of(std::stoll(database.value(call))); };
  CHECK(in_sql("select dogged.enqueue('a', args_version => 2) as value") == "2");
  CHECK(in_sql("select dogged.enqueue('a', args_version => 1) as value") == "none");
  CHECK(in_sql("select (dogged.enqueue_many('{a}', '{1,2}', args_versions => '{2}'))[2] as value") == "2");
  CHECK(in_sql("select (dogged.enqueue_many('{a}', '{1,2}', args_versions => '{2,1}'))[2] as value") == "none");
}

TEST_CASE("a version of args out of range is refused by each way in") {
  TestDatabase database;
  Client client = database.client();
  const auto key = [](int version) { return Json{"work", {.version = version}}; };  // no constant for the compiler
  CHECK_THROWS_AS(key(0), InvalidInput);
  CHECK_THROWS_AS(key(32768), InvalidInput);
  CHECK(contains(error_of<InvalidInput>([&] { client.enqueue({.name = "a", .args_version = 0}); }).message(),
                 "args_version is 0; it must be 1 to 32767"));
  for (const char* call : {"select dogged.enqueue('a', args_version => 32768)",
                           "select dogged.enqueue_many('{a}', '{1,2}', args_versions => '{32768}')",
                           "select dogged.enqueue_many('{a}', '{1,2}', args_versions => '{1,32768}')"}) {
    CHECK(contains(test::without_place(error_of<InvalidInput>([&] { database.run(call); }).message()),
                   "task \"a\": args_version 32768 is not between 1 and 32767"));
  }
}
