// Retry policies of one's own for tasks: a worker registers them by name.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

#include <spdlog/sinks/ringbuffer_sink.h>

#include <dogged/worker.hpp>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::eventually;
using test::no_args;
using test::TestDatabase;
using test::work;

namespace {

/// The log of a worker, readable while it runs.
struct Log {
  std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(1000);
  std::shared_ptr<spdlog::logger> logger = std::make_shared<spdlog::logger>("test", lines);

  [[nodiscard]] std::string text() const {
    std::string text;
    for (const std::string& line : lines->last_formatted()) text += line;
    return text;
  }
};

WorkerOptions on(const TestDatabase& database, const Log& log, std::map<std::string, DelayFunction> policies) {
  const db::Settings settings = database.settings_of("worker");
  return {.database_url = settings.url,
          .schema = settings.schema,
          .environment = {},
          .policies = std::move(policies),
          .log = log.logger};
}

constexpr TaskOptions patient{.retry = Custom{.name = "patient", .max_retries = 2}, .auto_retry_for = {"BUSY"}};

Tasks failing(const TaskOptions& options = patient) {
  return Tasks{}.add([](Context&, const nlohmann::json&) { throw TaskError{"BUSY", "not now"}; }, work, options);
}

std::string ended(TestDatabase& database, TaskId id) {
  REQUIRE(eventually([&] {
    return database.value("select status as value from dogged.tasks where id = " + std::to_string(id)) == "failed";
  }));
  return database.value(
      "select string_agg(concat_ws(' ', attempt, policy, backoff_ms, delay_ms), '; ' order by attempt) as value "
      "from dogged.task_attempts where task_id = " +
      std::to_string(id));
}

}  // namespace

TEST_CASE("a named policy decides the delays of a task, up to max_retries, and attempts and definition show its name") {
  TestDatabase database;
  Log log;
  std::atomic<int> asked{0};
  const auto policy = [&](int attempt, const FailedAttempt& failure) {
    if (failure.error_code == "BUSY" && failure.error_message == "not now") ++asked;
    return 3ms * attempt;
  };
  Worker worker{on(database, log, {{"patient", policy}}), failing()};
  worker.start();
  const std::string text = "custom name=patient max_retries=2";
  CHECK(ended(database, database.client().enqueue(work, no_args)) ==
        "1 " + text + " 3 3; 2 " + text + " 6 6; 3 " + text);
  CHECK(asked == 2);
  CHECK(database.value("select retry_policy->>'name' as value from dogged.task_definitions") == "patient");
  worker.stop();
}

TEST_CASE("a worker refuses a task whose policy it does not have, and names those that it has") {
  TestDatabase database;
  Log log;
  const auto policy = [](int, const FailedAttempt&) { return 1ms; };
  CHECK_THROWS_WITH(
      (Worker{on(database, log, {{"pateint", policy}, {"quick", policy}}), failing()}),
      "the task work has the retry policy \"patient\", which is not registered here (did you mean "
      "\"pateint\"?); this worker has pateint, quick\nhint: give its function in WorkerOptions::policies, "
      "or name another policy");
  CHECK_THROWS_AS((Worker{on(database, log, {}), failing()}), InvalidInput);
  CHECK_THROWS_AS((Worker{on(database, log, {{"a b", policy}}), failing({})}), InvalidInput);
  CHECK_THROWS_AS((Worker{on(database, log, {{"patient", nullptr}}), failing({})}), InvalidInput);
}

TEST_CASE("a named policy that throws ends the retries, and is in the log") {
  TestDatabase database;
  Log log;
  const auto throws = [](int, const FailedAttempt&) -> milliseconds { throw std::runtime_error{"my mistake"}; };
  Worker worker{on(database, log, {{"patient", throws}}), failing()};
  worker.start();
  CHECK(ended(database, database.client().enqueue(work, no_args)) == "1 custom name=patient max_retries=2");
  worker.stop();
  CHECK(test::contains(
      log.text(), "task work: its retry policy patient threw, so that the failure BUSY is not retried: my mistake"));
}

TEST_CASE("the failures of a task with a named policy open its circuit") {
  TestDatabase database;
  Log log;
  TaskOptions options = patient;
  options.circuit = "payments";
  options.circuit_settings = {.failure_threshold = 2};
  const auto policy = [](int attempt, const FailedAttempt&) {
    return attempt == 1 ? milliseconds{1} : milliseconds{1h};
  };
  Worker worker{on(database, log, {{"patient", policy}}), failing(options)};
  worker.start();
  database.client().enqueue(work, no_args);
  CHECK(eventually([&] { return database.value("select state as value from dogged.circuits") == "open"; }));
  CHECK(database.value("select count(*) as value from dogged.task_attempts") == "2");
  worker.stop();
}

TEST_CASE("a worker keeps its own policy where a later one names a policy that it does not have") {
  TestDatabase database;
  Log log;
  constexpr TaskOptions plain{.retry = Fixed{.interval = 1ms, .max_retries = 1}, .auto_retry_for = {"BUSY"}};
  Log log_of_later;
  Worker later{on(database, log_of_later, {{"patient", [](int, const FailedAttempt&) { return 1ms; }}}), failing()};
  WorkerOptions options = on(database, log, {});
  options.heartbeat = 20ms;
  options.lease = 10s;
  Worker worker{std::move(options), failing(plain)};
  worker.start();
  later.start();
  CHECK(eventually([&] {
    return test::contains(log.text(), "task work: its declaration by a worker of version") &&
           test::contains(log.text(), "the retry policy \"patient\", which is not registered here");
  }));
  later.stop();
  const std::string attempts = ended(database, database.client().enqueue(work, no_args));
  CHECK(test::contains(attempts, "1 fixed interval=1ms max_retries=1"));
  worker.stop();
}
