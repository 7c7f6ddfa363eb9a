// Reports that wait for the completer.
#include "report/queue.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using namespace dogged::runtime;

namespace {

Report report(TaskId id, std::size_t bytes = 0) {
  Report one;
  one.id = id;
  one.attempt = 1;
  one.result_json = std::string(bytes, '1');
  return one;
}

std::vector<TaskId> ids_of(const std::vector<Report>& reports) {
  std::vector<TaskId> ids;
  for (const Report& one : reports) ids.push_back(one.id);
  return ids;
}

std::vector<TaskId> held_ids(const ReportQueue& queue) {
  std::vector<TaskId> ids;
  for (const Attempt& attempt : queue.held()) ids.push_back(attempt.id);
  return ids;
}

bool always() { return true; }

std::vector<Report> take(ReportQueue& queue) { return queue.take_batch(SteadyClock::now(), always); }

}  // namespace

TEST_CASE("a report is held from when it is added until its batch is written, in flight as well") {
  ReportQueue queue;
  queue.add(report(1));
  queue.add(report(2));
  CHECK(queue.size() == 2);
  CHECK(ids_of(take(queue)) == std::vector<TaskId>{1, 2});
  queue.add(report(3));
  CHECK(queue.size() == 3);
  CHECK(queue.held().size() == 3);
  CHECK(queue.batch_written({report(2)}));
  CHECK(queue.size() == 2);
  CHECK(ids_of(take(queue)) == std::vector<TaskId>{3, 2});
  CHECK_FALSE(queue.batch_written({}));
  CHECK(queue.wait_empty(SteadyClock::now()));
}

TEST_CASE("an attempt that is on record already is not held, neither while it waits nor in flight") {
  ReportQueue queue;
  Report suspended = report(1);
  suspended.is_on_record = true;
  queue.add(std::move(suspended));
  queue.add(report(2));
  CHECK(held_ids(queue) == std::vector<TaskId>{2});
  CHECK(ids_of(take(queue)) == std::vector<TaskId>{1, 2});
  CHECK(held_ids(queue) == std::vector<TaskId>{2});
}

TEST_CASE("an attempt is not held once a part of its batch has recorded it") {
  ReportQueue queue;
  for (const TaskId id : {1, 2, 3}) queue.add(report(id));
  CHECK(take(queue).size() == 3);
  queue.add(report(4));
  queue.note_unsettled({{2, 1}, {3, 1}});
  CHECK(held_ids(queue) == std::vector<TaskId>{2, 3, 4});
  CHECK(queue.size() == 3);
}

TEST_CASE("a batch has at most a thousand reports, and no more of what handlers gave than a statement can carry") {
  ReportQueue many;
  for (TaskId id = 1; id <= 1001; ++id) many.add(report(id));
  CHECK(take(many).size() == ReportQueue::max_batch);

  ReportQueue large;
  for (TaskId id = 1; id <= 3; ++id) large.add(report(id, ReportQueue::max_batch_bytes / 2));
  CHECK(take(large).size() == 2);
  CHECK_FALSE(large.batch_written({}));

  ReportQueue too_large;
  too_large.add(report(1, 2 * ReportQueue::max_batch_bytes));
  too_large.add(report(2));
  CHECK(take(too_large).size() == 1);
}

TEST_CASE(
    "a batch has one report of each task, also where a task was claimed again before an earlier report is sent again") {
  ReportQueue queue;
  queue.add(report(1));
  queue.add(report(2));
  CHECK(ids_of(take(queue)) == std::vector<TaskId>{1, 2});
  queue.add(report(3));
  queue.add(report(2));
  queue.add(report(4));
  CHECK_FALSE(queue.batch_written({report(1), report(2)}));
  CHECK(ids_of(take(queue)) == std::vector<TaskId>{3, 2, 4});
  CHECK_FALSE(queue.batch_written({}));
  CHECK(ids_of(take(queue)) == std::vector<TaskId>{1, 2});
  CHECK(queue.batch_written({report(1)}));
  queue.add(report(5));
  queue.add(report(1));
  CHECK(ids_of(take(queue)) == std::vector<TaskId>{1, 5});
  CHECK_FALSE(queue.batch_written({}));
  CHECK(ids_of(take(queue)) == std::vector<TaskId>{1});
}

TEST_CASE(
    "a batch has no more of what handlers gave than a statement can carry, also with reports that are sent again") {
  constexpr std::size_t half = ReportQueue::max_batch_bytes / 2;
  ReportQueue queue;
  queue.add(report(1, half));
  CHECK(ids_of(take(queue)) == std::vector<TaskId>{1});
  queue.add(report(2, half + 1));
  CHECK_FALSE(queue.batch_written({report(1, half)}));
  CHECK(ids_of(take(queue)) == std::vector<TaskId>{2});
  CHECK_FALSE(queue.batch_written({}));
  queue.add(report(3, half + 1));
  CHECK(ids_of(take(queue)) == std::vector<TaskId>{1});
}

TEST_CASE(
    "reports that are sent again and again do not hold up the others, nor the others them, if no batch has room") {
  constexpr TaskId last_locked = ReportQueue::max_batch;
  ReportQueue queue;
  for (TaskId id = 1; id <= last_locked; ++id) queue.add(report(id));
  std::vector<Report> locked = take(queue);
  REQUIRE(locked.size() == ReportQueue::max_batch);
  TaskId last = last_locked;
  for (int sendings = 0; sendings < 6; ++sendings) {
    while (last < last_locked + 1000 * (sendings + 2)) queue.add(report(++last));
    CHECK_FALSE(queue.batch_written(std::exchange(locked, {})));
    CHECK(queue.held().size() == queue.size());
    std::vector<Report> batch = take(queue);
    CHECK(batch.size() == ReportQueue::max_batch);
    const bool is_resent = sendings % 2 == 1;
    CHECK(std::all_of(batch.begin(), batch.end(),
                      [&](const Report& one) { return (one.id <= last_locked) == is_resent; }));
    if (is_resent) locked = std::move(batch);
  }
}

TEST_CASE("nothing is sent while it may not be, nor once the queue is finished") {
  ReportQueue queue;
  queue.add(report(1));
  CHECK(queue.take_batch(SteadyClock::now() + 5ms, [] { return false; }).empty());
  queue.finish();
  CHECK(queue.is_finished());
  CHECK(queue.take_batch(never, always).empty());
  CHECK(queue.size() == 1);  // it stays counted
}

TEST_CASE("nobody waits for reports of a finished queue, which no thread writes any more") {
  ReportQueue queue;
  queue.add(report(1));
  queue.finish();
  CHECK_FALSE(queue.wait_empty(never));
}
