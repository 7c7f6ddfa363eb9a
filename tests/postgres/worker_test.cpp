// What a worker promises: tasks run, attempts are recorded, retries come when they are due.
#include <atomic>
#include <stdexcept>

#include <dogged/worker.hpp>

#include "support/catch.hpp"
#include "support/test_database.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::eventually;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;

namespace {

constexpr Task<nlohmann::json, nlohmann::json> echo{"echo"};
constexpr Task<nlohmann::json> work{"work"};

std::string status_of(TestDatabase& database, TaskId id) {
  return database.value("select status::text as value from dogged.tasks where id = $1::bigint", db::Params{}.add(id));
}

}  // namespace

TEST_CASE("an enqueued task runs, and its result and attempt are recorded") {
  TestDatabase database;
  RunningWorker worker{database, {registered(echo, [](Context&, const nlohmann::json& args) { return args; })}};
  Client client = database.client();
  const TaskId id = client.enqueue(echo, {{"said", "hello"}});

  REQUIRE(eventually([&] { return status_of(database, id) == "succeeded"; }));
  const auto rows = database.run("select * from dogged.task_attempts where task_id = $1::bigint", db::Params{}.add(id));
  const auto attempt = rows.one();
  CHECK(attempt.number("attempt") == 1);
  CHECK(attempt.text("outcome") == "succeeded");
  CHECK_FALSE(attempt.boolean("will_retry"));
  CHECK(attempt.number("worker_id") == worker.id());
  CHECK(database.value("select result->>'said' as value from dogged.tasks") == "hello");
}

TEST_CASE("a listed failure is retried when its next_retry_at comes, and not before") {
  TestDatabase database;
  std::atomic<int> runs{0};
  const auto fail_twice = [&](Context&, const nlohmann::json&) {
    if (++runs <= 2) throw TaskError{"HTTP_503", "busy"};
  };
  RunningWorker worker{database,
                       {registered(work, fail_twice,
                                   {.retry = Fixed{.interval = 50ms, .max_retries = 3}, .auto_retry_for = {"HTTP_503"}})}};
  Client client = database.client();
  const TaskId id = client.enqueue(work, nlohmann::json::object());
  REQUIRE(eventually([&] { return status_of(database, id) == "succeeded"; }));
  CHECK(runs == 3);
  CHECK(database.value("select string_agg(attempt || ' ' || outcome || ' ' || will_retry, ', ' order by attempt) as value "
                       "from dogged.task_attempts") == "1 failed true, 2 failed true, 3 succeeded false");
  CHECK(database.value("select bool_and(started_at >= due) as value from (select started_at, lag(next_retry_at) over "
                       "(order by attempt) as due from dogged.task_attempts) a") == "t");
}
