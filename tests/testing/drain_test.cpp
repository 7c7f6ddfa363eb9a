// dogged::testing::drain, on a real server.
#include <atomic>
#include <memory>
#include <string>

#include <spdlog/sinks/null_sink.h>

#include <dogged/client.hpp>
#include <dogged/testing.hpp>
#include <dogged/transaction.hpp>

#include "db/connection.hpp"
#include "shared_server.hpp"
#include "support/catch.hpp"

using namespace std::chrono_literals;
using dogged::AttemptOutcome;
using dogged::testing::Database;
using dogged::testing::drain;
using dogged::testing::DrainResult;

namespace {

using nlohmann::json;

constexpr dogged::Task<json> work{"work", {.queue = "work"}};
constexpr dogged::Task<json> more{"more", {.queue = "work"}};
constexpr dogged::Task<json> other{"other", {.queue = "other"}};

const json none = json::object();

dogged::Tasks only(std::function<void(dogged::Context&, const json&)> handler,
                   const dogged::TaskOptions& options = {}) {
  dogged::Tasks tasks;
  tasks.add(std::move(handler), work, options);
  return tasks;
}

dogged::WorkerOptions quiet(const Database& database) {
  static const auto log = std::make_shared<spdlog::logger>("quiet", std::make_shared<spdlog::sinks::null_sink_mt>());
  return {.database_url = database.url(), .log = log};
}

dogged::ClientOptions unwarned() { return {.warns_of_undeclared = false}; }

/// what() of the error E that `call` throws; empty if none.
template <class E, class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("drain runs what is ready, tasks that handlers enqueue included, and tells of each attempt") {
  const Database database = server().database();
  dogged::Client client{database.url(), unwarned()};
  const dogged::TaskId id = client.enqueue(work, {{"more", true}});
  std::atomic<int> runs{0};
  dogged::Tasks tasks;
  tasks.add(
      [&](dogged::Context&, const json&) {
        ++runs;
        dogged::Client{database.url(), unwarned()}.enqueue(more, none);
      },
      work);
  tasks.add([&](dogged::Context&, const json&) { throw dogged::TaskError{"NO_LUCK", "not today"}; }, more);

  const DrainResult result = drain(quiet(database), tasks);
  CHECK(runs == 1);
  CHECK(result.waiting == 0);
  REQUIRE(result.attempts.size() == 2);
  CHECK(result.attempts[0].task_id == id);
  CHECK(result.attempts[0].task_name == "work");
  CHECK(result.attempts[0].queue == "work");
  CHECK(result.attempts[0].attempt == 1);
  CHECK(result.attempts[0].outcome == AttemptOutcome::succeeded);
  CHECK(result.attempts[0].error_code.empty());
  CHECK(result.attempts[1].task_name == "more");
  CHECK(result.attempts[1].outcome == AttemptOutcome::failed);
  CHECK(result.attempts[1].error_code == "NO_LUCK");
  CHECK(result.attempts[1].error_message == "not today");
  CHECK_FALSE(result.attempts[1].will_retry);
  CHECK(result.count(AttemptOutcome::succeeded) == 1);
  CHECK(result.count(AttemptOutcome::failed) == 1);
  CHECK(drain(quiet(database), tasks).attempts.empty());
}

TEST_CASE("drain leaves retries and tasks of the future, unless it is told to bring them forward") {
  const Database database = server().database();
  dogged::Client client{database.url(), unwarned()};
  client.enqueue(work, none);
  client.enqueue(work, none, {.delay = 24h});
  const dogged::Tasks tasks = only(
      [](dogged::Context& ctx, const json&) {
        if (ctx.retry_count() < 2) throw dogged::TaskError{"BUSY", "wait"};
      },
      {.retry = dogged::Fixed{.interval = 1h, .max_retries = 5}, .auto_retry_for = {"BUSY"}});

  const DrainResult ready = drain(quiet(database), tasks);
  REQUIRE(ready.attempts.size() == 1);
  CHECK(ready.attempts[0].will_retry);
  CHECK(ready.attempts[0].retry_delay > 30min);
  CHECK(ready.waiting == 2);

  const DrainResult all = drain(quiet(database), tasks, {.with_scheduled = true});
  CHECK(all.waiting == 0);
  CHECK(all.attempts.size() == 5);
  CHECK(all.count(AttemptOutcome::failed) == 3);
  CHECK(all.count(AttemptOutcome::succeeded) == 2);
}

TEST_CASE("retries that are brought forward end at max_retries") {
  const Database database = server().database();
  dogged::Client client{database.url(), unwarned()};
  const dogged::TaskId id = client.enqueue(work, none);
  const dogged::Tasks tasks = only(
      [](dogged::Context&, const json&) {
        throw dogged::TaskError{"BUSY", "wait"};
      },
      {.retry = dogged::Fixed{.interval = 1h, .max_retries = 3}, .auto_retry_for = {"BUSY"}});
  const DrainResult result = drain(quiet(database), tasks, {.with_scheduled = true});
  CHECK(result.count(AttemptOutcome::failed) == 4);
  CHECK_FALSE(result.attempts.back().will_retry);
  CHECK(client.wait(id, 0ms).status == dogged::TaskStatus::failed);
}

TEST_CASE("a handler that drain runs may complete in a transaction") {
  const Database database = server().database();
  dogged::Client client{database.url(), unwarned()};
  const dogged::TaskId id = client.enqueue(work, none);
  drain(quiet(database), only([&](dogged::Context& ctx, const json&) {
          pqxx::connection connection{database.url()};
          pqxx::work transaction{connection};
          ctx.complete_in(transaction);
          transaction.commit();
        }));
  CHECK(client.wait(id, 0ms).status == dogged::TaskStatus::succeeded);
}

TEST_CASE("drain serves the queues that it is given, by default those of its tasks") {
  const Database database = server().database();
  dogged::Client client{database.url(), unwarned()};
  client.enqueue(work, none);
  client.enqueue(other, none);
  dogged::Tasks tasks = only([](dogged::Context&, const json&) {});
  CHECK(drain(quiet(database), tasks).attempts.size() == 1);
  tasks.add([](dogged::Context&, const json&) {}, other);
  client.enqueue(work, none);
  dogged::WorkerOptions options = quiet(database);
  options.queues = {{"other", 1}};
  const DrainResult result = drain(options, tasks);
  REQUIRE(result.attempts.size() == 1);
  CHECK(result.attempts[0].queue == "other");
}

TEST_CASE("drain throws at once, and names the tasks, where it can run none of those that are left") {
  const Database database = server().database();
  dogged::Client client{database.url(), unwarned()};
  const dogged::TaskId id = client.enqueue(more, none);
  const dogged::Tasks tasks = only([](dogged::Context&, const json&) {});
  const std::string unknown = error_of<dogged::testing::DrainError>([&] { drain(quiet(database), tasks); });
  CHECK(contains(unknown, "drain can run none"));  // else it would have waited for its limit
  CHECK(contains(unknown, std::to_string(id) + " more in work: there is no handler"));

  client.cancel(id);
  client.enqueue(work, none);
  dogged::db::Connection connection{{.url = database.url()}};
  connection.run({"pause", "select dogged.pause_queue('work')"});
  CHECK(contains(error_of<dogged::testing::DrainError>([&] { drain(quiet(database), tasks); }), "is paused"));
}

TEST_CASE("drain throws at once where the args of a task are of a later version than its handler takes") {
  const Database database = server().database();
  constexpr dogged::Task<json> newer{"work", {.queue = "work", .version = 2}};
  dogged::Client{database.url(), unwarned()}.enqueue(newer, none);
  const dogged::Tasks tasks = only([](dogged::Context&, const json&) {});
  const std::string message = error_of<dogged::testing::DrainError>([&] { drain(quiet(database), tasks); });
  CHECK(contains(message, "drain can run none"));
  CHECK(contains(message, "its args are of version 2, and the key of its handler has version 1"));
}

TEST_CASE("drain gives up when its time is over, asks handlers to stop, and names what still runs") {
  const Database database = server().database();
  dogged::Client client{database.url(), unwarned()};
  const dogged::TaskId id = client.enqueue(work, none);
  std::atomic<bool> asked{false};
  const dogged::Tasks tasks = only([&](dogged::Context& ctx, const json&) {
    while (ctx.wait_for(1h)) continue;
    asked = ctx.stop_reason() == dogged::StopReason::shutdown;
    throw dogged::TaskError{"STOPPED", "it was asked to stop"};  // interrupted, so the next drain runs it again
  });
  const std::string runs = std::to_string(id) + " work in work: runs";
  // A busy machine may need more than the first limit to begin the handler.
  std::string message;
  for (auto limit = 200ms; !contains(message, runs) && limit < 1min; limit *= 4) {
    message = error_of<dogged::testing::DrainError>([&] { drain(quiet(database), tasks, {.limit = limit}); });
    CHECK(contains(message, "within " + std::to_string(limit.count()) + " ms (1 tasks are left)"));
  }
  CHECK(contains(message, runs));
  CHECK(asked);
}

TEST_CASE("drain refuses options that it cannot keep") {
  const Database database = server().database();
  const dogged::Tasks tasks = only([](dogged::Context&, const json&) {});
  dogged::WorkerOptions named = quiet(database);
  named.name = "mine";
  CHECK(contains(error_of<dogged::InvalidInput>([&] { drain(named, tasks); }), "mine"));
  CHECK_THROWS_AS(drain(quiet(database), tasks, {.limit = 0ms}), dogged::InvalidInput);
  CHECK_THROWS_AS(drain(quiet(database), tasks, {.limit = 25h}), dogged::InvalidInput);
}
