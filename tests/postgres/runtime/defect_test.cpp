// A mistake of dogged ends the worker with Defect, whichever part of the worker meets the mistake. trouble_test has the
// services' statements.
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <spdlog/sinks/base_sink.h>

#include <dogged/middleware.hpp>
#include <dogged/worker.hpp>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::error_of;
using test::eventually;
using test::no_args;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::wait_for_stop_token;
using test::work;

namespace {

/// Updates of rows of `table` for which `condition` holds fail from now on, as a statement that names a missing column.
void add_mistake(TestDatabase& database, const std::string& table, const std::string& condition) {
  database.script(
      "create function dogged.mistake() returns trigger language plpgsql as $$ begin raise exception "
      "'column \"gone\" does not exist' using errcode = 'undefined_column'; end $$; "
      "create trigger mistake before update on " +
      table + " for each row when (" + condition + ") execute function dogged.mistake()");
}

void check_ends_with_mistake_of(RunningWorker& worker, const std::string& part) {
  const auto error = error_of<Defect>([&] { (void)worker.stop(); });
  CHECK(contains(error.message(), "its " + part + " met"));
  CHECK(contains(error.message(), "does not exist"));
}

struct NoStandardException {};

/// Throws once, at the first line of `event`. spdlog catches a std::exception, and nothing else.
class BrokenSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit BrokenSink(std::string_view event) : event_(event) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (message.source.funcname == event_ && !has_thrown_.exchange(true)) throw NoStandardException{};
  }
  void flush_() override {}

  const std::string_view event_;
  std::atomic<bool> has_thrown_{false};
};

/// Fails after the handler, where dogged logs the failure.
class FailingMiddleware final : public Middleware {
  void on_end(Context& /*context*/, const AttemptEnd& /*end*/) override { throw TaskError{"BROKEN", "on purpose"}; }
};

}  // namespace

TEST_CASE("a mistake of dogged in the last release of claimed tasks ends the worker with the mistake") {
  TestDatabase database;
  std::atomic<int> held{0};
  RunningWorker worker{database,
                       {registered(work,
                                   [&](Context& context, const nlohmann::json& args) {
                                     if (!args.contains("hold")) return;
                                     ++held;
                                     (void)wait_for_stop_token(context);
                                   })},
                       {.queues = {{"default", 1}}, .grace = 20ms, .stop_grace = 20s}};
  Client client = database.client();
  client.enqueue_many(work, std::vector<nlohmann::json>(50, no_args));  // quick ones, so that it takes several at once
  REQUIRE(eventually([&] { return database.value("select count(*) as value from dogged.task_attempts") == "50"; }));
  client.enqueue_many(work, std::vector<nlohmann::json>(3, {{"hold", true}}));
  REQUIRE(eventually([&] {
    return held == 1 && database.value("select count(*) as value from dogged.tasks where status = 'running'") == "3";
  }));
  add_mistake(database, "dogged.tasks_live", "new.status = 'pending' and new.attempt < old.attempt");
  check_ends_with_mistake_of(worker, "claimer");
}

TEST_CASE("a mistake of dogged in a shutdown ends the worker with the mistake") {
  TestDatabase database;
  std::atomic<bool> runs{false};
  RunningWorker worker{database,
                       {registered(work,
                                   [&](Context& context, const nlohmann::json&) {
                                     runs = true;
                                     (void)wait_for_stop_token(context);
                                   })},
                       {.grace = 0ms, .stop_grace = 20s}};
  database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return runs.load(); }));  // a worker that interrupts a task wakes others
  SECTION("as the worker signs off") {
    add_mistake(database, "dogged.workers", "old.stopped_at is null and new.stopped_at is not null");
  }
  SECTION("as the worker wakes others") { database.script("alter table dogged.workers rename column queues to gone"); }
  check_ends_with_mistake_of(worker, "shutdown");
}

TEST_CASE("a mistake of dogged in the withdrawal of a worker that does not start is not hidden by the cause") {
  TestDatabase database;
  add_mistake(database, "dogged.workers", "old.stopped_at is null and new.stopped_at is not null");
  database.script("revoke insert on dogged.task_definitions from dogged_test_worker");
  const auto error = error_of<Defect>([&] {
    RunningWorker worker{database, {registered(work, [](Context&, const nlohmann::json&) {})}};
  });
  CHECK(contains(error.message(), "its start met"));
}

TEST_CASE("a worker that does not start leaves no live worker behind, whatever keeps it from starting") {
  TestDatabase database;
  const db::Settings settings = database.settings_of("worker");
  WorkerOptions options{
      .database_url = settings.url, .schema = settings.schema, .queues = {{"elsewhere", 1}}, .create_queues = true};
  options.log = std::make_shared<spdlog::logger>("broken", std::make_shared<BrokenSink>("queues_not_served"));
  Worker worker{options, Tasks{}.add([](Context&, const nlohmann::json&) {}, work)};
  CHECK_THROWS_AS(worker.start(), NoStandardException);
  CHECK(database.value("select count(*) || ' ' || count(stopped_at) as value from dogged.workers") == "1 1");
}

TEST_CASE("a mistake of dogged on the thread of a handler ends the worker, and no other task is lost") {
  TestDatabase database;
  const db::Settings settings = database.settings_of("worker");
  WorkerOptions options{
      .database_url = settings.url, .schema = settings.schema, .heartbeat = 100ms, .lease = 1s};  // lapses soon
  // Only a handler's thread logs this event.
  options.log = std::make_shared<spdlog::logger>("broken", std::make_shared<BrokenSink>("middleware_failed"));
  options.middleware = {std::make_shared<FailingMiddleware>()};
  const TaskId first = database.client().enqueue(work, no_args);
  Worker worker{options, Tasks{}.add([](Context&, const nlohmann::json&) {}, work)};
  worker.start();
  const auto error = error_of<Defect>([&] { std::rethrow_exception(worker.wait().error); });
  CHECK(contains(error.message(), "its executor met"));
  CHECK(database.value("select count(*) as value from dogged.workers where stopped_at is not null") == "1");
  RunningWorker next{database, {registered(work, [](Context&, const nlohmann::json&) {})}};
  CHECK(eventually([&] { return database.history_of(first) == "1 lost true, 2 succeeded false"; }));
}
