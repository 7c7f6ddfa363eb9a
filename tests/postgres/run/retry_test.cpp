// The time of a retry: the delays in the database are those of the policy, and no retry starts early.
#include <chrono>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using test::eventually;
using test::no_args;
using test::registered;
using test::RunningWorker;
using test::TestDatabase;
using test::work;

namespace {

/// Runs `count` tasks that fail until their retries are spent, and holds every delay against the policy.
void check_delays(const RetryPolicy& policy, int count) {
  INFO(policy_to_text(policy));
  TestDatabase database;
  RunningWorker worker{database,
                       {registered(work,
                                   [](Context&, const nlohmann::json&) {
                                     throw TaskError{"BUSY", "not now"};
                                   },
                                   {.retry = policy, .auto_retry_for = {"BUSY"}})}};
  database.client().enqueue_many(work, std::vector<nlohmann::json>(static_cast<std::size_t>(count), no_args));
  REQUIRE(eventually(
      [&] { return database.value("select count(*) as value from dogged.dead_letters") == std::to_string(count); }));

  const test::Rows rows = database.run(
      "select attempt, will_retry, backoff_ms, delay_ms, policy, "
      "(extract(epoch from next_retry_at - finished_at) * 1000000)::bigint as until_retry_us, "
      "coalesce(started_at >= lag(next_retry_at) over of_task, true) as is_due "
      "from dogged.task_attempts window of_task as (partition by task_id order by attempt)");
  REQUIRE(rows.size() == static_cast<std::size_t>(count * (max_retries(policy) + 1)));
  for (const test::Row& row : rows) {
    const auto retry = static_cast<int>(row.number("attempt"));
    INFO("retry " << retry);
    CHECK(row.boolean("is_due"));
    const auto range = delay_range(policy, retry);
    REQUIRE(row.boolean("will_retry") == range.has_value());
    if (!range) continue;
    CHECK(row.number("until_retry_us") == row.number("delay_ms") * 1000);
    CHECK(row.number("backoff_ms") == range->backoff.count());
    CHECK(row.number("delay_ms") >= range->shortest.count());
    CHECK(row.number("delay_ms") <= range->longest.count());
    CHECK(row.text("policy") == policy_to_text(policy));
  }
}

}  // namespace

TEST_CASE("the delays of a fixed list are the policy's, within its jitter, in the database") {
  check_delays(Fixed{.intervals = {20ms, 60ms, 40ms}}, 40);
}

TEST_CASE("the delays of an exponential policy are the policy's, cut at max_delay, in the database") {
  check_delays(Exponential{.base = 10ms, .max_retries = 5, .max_delay = 60ms}, 40);
}

TEST_CASE("the delays of a linear policy without jitter are exact in the database") {
  check_delays(Linear{.initial = 5ms, .increment = 10ms, .max_retries = 4, .jitter = Jitter::none()}, 20);
}

TEST_CASE("the delays of full jitter are the policy's in the database") {
  check_delays(Fixed{.interval = 50ms, .max_retries = 2, .jitter = Jitter::full()}, 40);
}

TEST_CASE("tasks that fail together do not come back together") {
  TestDatabase database;
  RunningWorker worker{database,
                       {registered(work,
                                   [](Context&, const nlohmann::json&) {
                                     throw TaskError{"BUSY", "not now"};
                                   },
                                   {.retry = Fixed{.intervals = {10min}}, .auto_retry_for = {"BUSY"}})}};
  database.client().enqueue_many(work, std::vector<nlohmann::json>(100, no_args));
  REQUIRE(eventually([&] { return database.value("select count(*) as value from dogged.task_attempts") == "100"; }));
  CHECK(std::stoi(database.value("select count(distinct delay_ms) as value from dogged.task_attempts")) > 90);
}

TEST_CASE("retry_after replaces the policy's delay exactly, and is recorded") {
  TestDatabase database;
  RunningWorker worker{database,
                       {registered(work,
                                   [](Context& context, const nlohmann::json&) {
                                     if (context.attempt() > 1) return;
                                     throw TaskError{"HTTP_429", "slow down"}.retry_after(123ms);
                                   },
                                   {.retry = Fixed{.intervals = {1h}}, .auto_retry_for = {"HTTP_429"}})}};
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return database.status_of(id) == "succeeded"; }));
  CHECK(database.value("select count(*) as value from dogged.task_attempts where attempt = 1 and will_retry and "
                       "retry_after_ms = 123 and delay_ms = 123 and backoff_ms = 123 and policy is not null and "
                       "next_retry_at - finished_at = interval '123 milliseconds'") == "1");
  CHECK(database.value("select retry_count as value from dogged.tasks") == "1");
}

TEST_CASE("a retry_after beyond the limits is cut to 1 ms and 24 h") {
  TestDatabase database;
  RunningWorker worker{
      database,
      {registered(
          work,
          [](Context& context, const nlohmann::json&) {
            throw TaskError{"HTTP_429", "slow down"}.retry_after(context.attempt() == 1 ? -5ms : milliseconds::max());
          },
          {.retry = Fixed{.interval = 1h, .max_retries = 2}, .auto_retry_for = {"HTTP_429"}})}};
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return database.history_of(id) == "1 failed true, 2 failed true"; }));
  CHECK(database.value("select string_agg((next_retry_at - finished_at)::text, ' ' order by attempt) as value from "
                       "dogged.task_attempts") == "00:00:00.001 1 day");
}

TEST_CASE("retry_after does not retry what the policy would not") {
  TestDatabase database;
  RunningWorker worker{database,
                       {registered(work,
                                   [](Context&, const nlohmann::json&) {
                                     throw TaskError{"HTTP_429", "slow down"}.retry_after(1ms);
                                   },
                                   {.retry = Fixed{.intervals = {1ms}}, .auto_retry_for = {"HTTP_503"}})}};
  const TaskId id = database.client().enqueue(work, no_args);
  REQUIRE(eventually([&] { return database.status_of(id) == "failed"; }));
  CHECK(database.history_of(id) == "1 failed false");
  CHECK(database.value("select retry_after_ms as value from dogged.task_attempts") == "null");
}

TEST_CASE("a task that keeps no dead letters is discarded when it fails for good, and its attempts stay") {
  TestDatabase database;
  const RetryPolicy policy = GENERATE(RetryPolicy{NoRetry{}}, RetryPolicy{Fixed{.intervals = {1ms}}});
  RunningWorker worker{database,
                       {registered(work,
                                   [](Context&, const nlohmann::json&) {
                                     throw TaskError{"BUSY", "not now"};
                                   },
                                   {.retry = policy, .auto_retry_for = {"BUSY"}, .dead_letter = false})}};
  const TaskId id = database.client().enqueue(work, {{"n", 1}});
  REQUIRE(eventually([&] { return database.status_of(id) == "discarded"; }));
  CHECK(database.value("select count(*) as value from dogged.dead_letters") == "0");
  CHECK(database.value("select error_code || ' ' || error_message || ' ' || args as value from dogged.tasks_done") ==
        "BUSY not now {\"n\": 1}");
  CHECK(database.attempts_of(id).size() == static_cast<std::size_t>(max_retries(policy)) + 1);
}
