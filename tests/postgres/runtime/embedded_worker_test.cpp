// The promises of dogged::Worker to the program around it.
#include <atomic>
#include <csignal>
#include <future>
#include <memory>

#include <spdlog/sinks/null_sink.h>
#include <spdlog/sinks/ringbuffer_sink.h>

#include <dogged/worker.hpp>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::error_of;
using test::eventually;
using test::Gate;
using test::no_args;
using test::TestDatabase;
using test::wait_for_stop_token;
using test::work;

namespace {

/// Options of a worker on this database.
WorkerOptions on(const TestDatabase& database, WorkerOptions options = {}) {
  const db::Settings settings = database.settings_of("worker");
  options.database_url = settings.url;
  options.schema = settings.schema;
  // Not spdlog's default logger, which is destroyed at the end of the process beside threads that were given up.
  options.log = std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
  return options;
}

template <class Handler>
Tasks tasks_of(Handler handler, const TaskOptions& options = {}) {
  return Tasks{}.add(std::move(handler), work, options);
}

}  // namespace

TEST_CASE("a worker inside of a program declares the schedules of its list") {
  TestDatabase database;
  Tasks tasks = tasks_of([](Context&, const nlohmann::json&) {});
  CHECK(error_of<InvalidInput>([&] {
          Worker worker{on(database), Tasks{tasks}.schedule("nightly", "@daily", {.task = "wrok"})};
        }).message() == "the schedule \"nightly\": this program does not register its task \"wrok\"");
  Worker worker{on(database),
                tasks.schedule("nightly", "0 3 * * *", {.task = work.name(), .time_zone = "Europe/Berlin"})};
  worker.start();
  CHECK(database.value(
            "select concat_ws(' ', name, task, spec, time_zone, state) as value from dogged.schedule_overview") ==
        "nightly " + std::string{work.name()} + " 0 3 * * * Europe/Berlin active");
  worker.stop();
}

TEST_CASE("two workers of one process run the tasks of their own lists, and stop in order") {
  TestDatabase database;
  constexpr Task<nlohmann::json, int> other{"other", {.queue = "others"}};
  std::atomic<int> worked{0};
  Worker one{on(database), tasks_of([&](Context&, const nlohmann::json&) { ++worked; })};
  Worker two{on(database), Tasks{}.add([](Context&, const nlohmann::json&) { return 42; }, other)};
  one.start();
  two.start();
  Client client = database.client();
  const TaskId first = client.enqueue(work, no_args);
  const TaskId second = client.enqueue(other, no_args);
  CHECK(client.wait(first, 20s).has_succeeded());
  CHECK(client.wait(other, second, 20s).result == 42);
  CHECK(worked == 1);
  for (Worker* worker : {&one, &two}) {
    const WorkerEnd end = worker->stop();
    CHECK(end.reason == WorkerEnd::Reason::stopped);
    CHECK(end.lease > 0);
    CHECK(end.given_back + end.interrupted + end.left_behind + end.abandoned_threads == 0);
  }
  CHECK(database.value("select count(*) as value from dogged.workers where stopped_at is not null") == "2");
}

TEST_CASE("an embedded worker whose database is not there throws as it starts, and has ended") {
  Worker worker{{.database_url = "host=127.0.0.1 port=1"}, tasks_of([](Context&, const nlohmann::json&) {})};
  CHECK_THROWS_AS(worker.start(), ConnectionError);
  CHECK(worker.wait().reason == WorkerEnd::Reason::failed);
  CHECK_THROWS_AS(worker.start(), InvalidInput);
}

TEST_CASE("an embedded worker runs once, and is told to stop as often as one likes") {
  TestDatabase database;
  Worker worker{on(database), tasks_of([](Context&, const nlohmann::json&) {})};
  CHECK_THROWS_AS(worker.wait(), InvalidInput);
  worker.start();
  CHECK_THROWS_AS(worker.start(), InvalidInput);
  const std::int64_t lease = worker.stop().lease;
  CHECK(worker.stop().lease == lease);
  CHECK(worker.wait().lease == lease);
}

TEST_CASE("a worker that is given a time to stop within sets stop tokens when its stop grace is left of it") {
  TestDatabase database;
  std::atomic<int> started{0};
  Worker worker{on(database, {.grace = 10min, .stop_grace = 20s}),
                tasks_of([&](Context& context, const nlohmann::json&) {
                  ++started;
                  if (wait_for_stop_token(context)) throw TaskError{"CUT_SHORT", "asked to stop"};
                })};
  worker.start();
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return started == 1; }));
  CHECK(worker.stop(20s).abandoned_threads == 0);
  CHECK(database.history_of(id) == "1 interrupted true");
}

TEST_CASE("a handler that ignores its stop token is left behind, and may end after its worker is gone",
          "[own_process]") {
  TestDatabase database;
  const auto gate = std::make_shared<Gate>();
  const auto ended = std::make_shared<std::promise<void>>();
  {
    Worker worker{on(database, {.stop_grace = 20ms}), tasks_of([=](Context& context, const nlohmann::json&) {
                    gate->wait();
                    context.log().info("still here");
                    ended->set_value();
                  })};
    worker.start();
    const TaskId id = database.client().enqueue(work, no_args);
    REQUIRE(eventually([&] { return gate->arrived() == 1; }));
    const WorkerEnd end = worker.stop(20ms);
    CHECK(end.interrupted == 1);
    CHECK(end.abandoned_threads == 1);
    CHECK(database.history_of(id) == "1 interrupted true");
  }
  gate->open();
  CHECK(ended->get_future().wait_for(20s) == std::future_status::ready);
}

TEST_CASE("a handler may ask its own worker to stop") {
  TestDatabase database;
  Worker* asked = nullptr;
  Worker worker{on(database), tasks_of([&](Context&, const nlohmann::json&) { asked->request_stop(); })};
  asked = &worker;
  worker.start();
  const TaskId id = database.client().enqueue(work, no_args);
  CHECK(worker.wait().reason == WorkerEnd::Reason::stopped);
  CHECK(database.status_of(id) == "succeeded");
}

TEST_CASE("a worker that carries too many abandoned threads ends by itself, and tells its program", "[own_process]") {
  TestDatabase database;
  const auto gate = std::make_shared<Gate>();
  std::promise<WorkerEnd> told;
  Worker worker{on(database, {.stop_grace = 20ms,
                              .max_abandoned_threads = 0,
                              .on_end = [&](const WorkerEnd& end) { told.set_value(end); }}),
                tasks_of([=](Context&, const nlohmann::json&) { gate->wait(); }, {.timeout = 10ms})};
  worker.start();
  static_cast<void>(database.client().enqueue(work, no_args));
  auto future = told.get_future();
  REQUIRE(future.wait_for(20s) == std::future_status::ready);
  CHECK(future.get().reason == WorkerEnd::Reason::too_many_abandoned_threads);
  CHECK(worker.wait().abandoned_threads == 1);
  gate->open();
}

TEST_CASE("an embedded worker leaves the signal handlers of its program alone", "[own_process]") {
  TestDatabase database;
  const auto action_of = [](int signal) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    return action.sa_handler;
  };
  std::signal(SIGTERM, SIG_IGN);
  const auto pipe_before = action_of(SIGPIPE);
  const auto interrupt_before = action_of(SIGINT);
  Worker worker{on(database, {.metrics_listen = "127.0.0.1:0"}), tasks_of([](Context&, const nlohmann::json&) {})};
  worker.start();
  CHECK(action_of(SIGTERM) == SIG_IGN);
  CHECK(action_of(SIGPIPE) == pipe_before);
  CHECK(action_of(SIGINT) == interrupt_before);
  worker.stop();
  std::signal(SIGTERM, SIG_DFL);
}

TEST_CASE("an embedded worker whose name is in use throws as it starts") {
  TestDatabase database;
  const WorkerOptions options = on(database, {.name = "one", .heartbeat = 10ms});
  Worker first{options, tasks_of([](Context&, const nlohmann::json&) {})};
  Worker second{options, tasks_of([](Context&, const nlohmann::json&) {})};
  first.start();
  const auto error = error_of<InvalidInput>([&] { second.start(); });
  CHECK(test::contains(error.what(), "the name \"one\" is in use"));
}

TEST_CASE("a worker that was told to stop before it starts claims nothing") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  const auto lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(100);
  WorkerOptions options = on(database);
  options.log = std::make_shared<spdlog::logger>("kept", lines);
  Worker worker{options, tasks_of([](Context&, const nlohmann::json&) {})};
  worker.request_stop();
  worker.start();
  CHECK(worker.wait().reason == WorkerEnd::Reason::stopped);
  for (const std::string& line : lines->last_formatted()) CHECK_FALSE(test::contains(line, "ready"));
  CHECK(database.value("select attempt as value from dogged.tasks where id = $1::bigint", db::Params{}.add(id)) == "0");
  CHECK(database.value("select count(*) as value from dogged.workers where stopped_at is not null") == "1");
}
