// Snoozes: a handler that cannot go on yet gives its task back, at no cost of a retry.
#include <atomic>
#include <chrono>
#include <string>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::contains;
using test::eventually;
using test::Gate;
using test::no_args;
using test::no_polling;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::wait_for_stop_token;
using test::work;

namespace {

/// A handler that snoozes in its first attempts, so many of them.
detail::RegisteredTask snoozes(int times, milliseconds delay, const TaskOptions& options = {}) {
  return registered(
      work,
      [=](Context& context, const nlohmann::json&) {
        if (context.attempt() <= times) throw Snooze{delay, "not ready"};
      },
      options);
}

std::string standing(TestDatabase& database, TaskId id) {
  return database.value(
      "select concat_ws(' ', status, retry_count, losses, snoozes, error_code) as value from dogged.tasks where id = "
      "$1",
      db::Params{}.add(id));
}

}  // namespace

TEST_CASE("a task that snoozes runs again when its handler has said, and has spent no retry") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {snoozes(2, 30ms)}, no_polling()};
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.history_of(id) == "1 snoozed true, 2 snoozed true, 3 succeeded false");
  CHECK(standing(database, id) == "succeeded 0 0 2");
  CHECK(
      database.value("select concat_ws(' ', outcome, error_message, backoff_ms, delay_ms, next_retry_at - finished_at, "
                     "num_nulls(error_code, error_details, policy, retry_after_ms)) as value "
                     "from dogged.task_attempts where attempt = 1") == "snoozed not ready 30 30 00:00:00.03 4");
  CHECK(database.value("select bool_and(next.started_at >= a.next_retry_at) as value from dogged.task_attempts a "
                       "join dogged.task_attempts next on next.attempt = a.attempt + 1") == "t");
}

TEST_CASE("a task that snoozes more often than it may has failed, and may snooze again once it is replayed") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {snoozes(5, 1ms, {.auto_retry_for = {"*"}, .max_snoozes = 2})}};
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  CHECK(database.history_of(id) == "1 snoozed true, 2 snoozed true, 3 failed false");
  CHECK(standing(database, id) == "failed 0 0 2 SNOOZED_TOO_OFTEN");
  const std::string message = database.value("select error_message as value from dogged.tasks");
  CHECK(contains(message, "snooze for 1ms"));
  CHECK(contains(message, "2 times"));
  CHECK(contains(message, "not ready"));

  CHECK(database.value("select dogged.replay($1::bigint) as value", db::Params{}.add(id)) == "replayed");
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(contains(database.history_of(id), "4 snoozed true, 5 snoozed true, 6 succeeded false"));
  CHECK(standing(database, id) == "succeeded 0 0 2");
}

TEST_CASE("a snooze that is too short, too long or negative fails the attempt, and says so") {
  const milliseconds delay = GENERATE(milliseconds{0}, milliseconds{-1}, milliseconds{365 * 24h} + 1ms);
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {snoozes(1, delay)}};
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  CHECK(database.value("select error_message as value from dogged.tasks") ==
        "a snooze of " + std::to_string(delay.count()) + " ms is not 1 ms to 365 days");
}

TEST_CASE("a task that would snooze beyond its expires_at has expired") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args, {.expires_in = 1h});
  RunningWorker worker{database, {snoozes(1, 2h)}};
  REQUIRE(eventually([&] { return database.status_of(id) == "expired"; }));
  CHECK(database.history_of(id) == "1 snoozed false");
  CHECK(standing(database, id) == "expired 0 0 1");
}

TEST_CASE("a task that expires after a snooze keeps the error of its last failure") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args, {.expires_in = 1h});
  const auto fails_then_snoozes = registered(work,
                                             [](Context& context, const nlohmann::json&) {
                                               if (context.attempt() == 1) throw TaskError{"HTTP_503", "no answer"};
                                               throw Snooze{2h, "not ready"};
                                             },
                                             {.retry = fixed(1ms), .auto_retry_for = {"HTTP_503"}});
  RunningWorker worker{database, {fails_then_snoozes}};
  REQUIRE(eventually([&] { return database.status_of(id) == "expired"; }));
  CHECK(standing(database, id) == "expired 1 0 1 HTTP_503");
  CHECK(database.value("select error_message as value from dogged.tasks") == "no answer");
  CHECK(database.value("select concat_ws(' ', outcome, error_code, error_message) as value from dogged.task_attempts "
                       "where attempt = 2") == "snoozed not ready");
}

TEST_CASE("a snooze counts after a timeout and in a shutdown, and does not after a cancellation") {
  TestDatabase database;
  Gate begun;
  const TaskId id = database.client().enqueue(work, no_args);
  const auto stops = [&](const TaskOptions& options) {
    return registered(
        work,
        [&](Context& context, const nlohmann::json&) {
          begun.open();
          wait_for_stop_token(context);
          throw Snooze{1h};
        },
        options);
  };
  SECTION("a timeout") {
    RunningWorker worker{database, {stops({.timeout = 20ms})}};
    REQUIRE(eventually([&] { return database.history_of(id) == "1 snoozed true"; }));
    CHECK(standing(database, id) == "pending 0 0 1");
    const auto state = [&] { return database.value("select state as value from dogged.task_overview"); };
    CHECK(state() == "snoozes");
    database.run(
        "update dogged.tasks_live set next_retry_at = next_retry_at + interval '1 hour'");  // as a circuit does
    CHECK(state() == "waits for its retry");
  }
  SECTION("a shutdown") {
    RunningWorker worker{database, {stops({})}, {.grace = 0ms, .stop_grace = 20s}};
    begun.wait();
    worker.stop();
    CHECK(database.history_of(id) == "1 snoozed true");
    CHECK(standing(database, id) == "pending 0 0 1");
  }
  SECTION("a cancellation") {
    RunningWorker worker{database, {stops({})}};
    begun.wait();
    CHECK(database.value("select dogged.cancel($1::bigint) as value", db::Params{}.add(id)) == "requested");
    REQUIRE(eventually([&] { return database.status_of(id) == "cancelled"; }));
    CHECK(database.history_of(id) == "1 cancelled false");
    CHECK(standing(database, id) == "cancelled 0 0 CANCELLED");
  }
}

TEST_CASE("a task that snoozes can be cancelled and rescheduled, and keeps its count") {
  TestDatabase database;
  const TaskId id = database.client().enqueue(work, no_args);
  RunningWorker worker{database, {snoozes(1, 1h)}};
  REQUIRE(eventually([&] { return database.history_of(id) == "1 snoozed true"; }));
  SECTION("cancelled") {
    CHECK(database.value("select dogged.cancel($1::bigint) as value", db::Params{}.add(id)) == "cancelled");
    CHECK(standing(database, id) == "cancelled 0 0 1");
  }
  SECTION("rescheduled") {
    database.run("select dogged.reschedule($1::bigint, now())", db::Params{}.add(id));
    REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
    CHECK(standing(database, id) == "succeeded 0 0 1");
  }
}

TEST_CASE("the views say that a task snoozes, and how often the most patient task of a queue has") {
  TestDatabase database;
  Client client = database.client();
  const TaskId id = client.enqueue(work, no_args);
  const auto busy = registered(work, [](Context& context, const nlohmann::json&) {
    throw Snooze{context.attempt() == 1 ? milliseconds{1ms} : milliseconds{1h}};
  });
  RunningWorker worker{database, {busy}};
  REQUIRE(eventually([&] { return database.history_of(id) == "1 snoozed true, 2 snoozed true"; }));
  CHECK(database.value("select state || ' ' || snoozes as value from dogged.task_overview") == "snoozes 2");
  CHECK(database.value("select snoozed || ' ' || most_snoozes as value from dogged.queue_stats "
                       "where queue = 'default'") == "1 2");
  CHECK(client.find(id).value().snoozes == 2);
}
