// Reports that wait for the completer, between threads.
#include "report/queue.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using namespace dogged::runtime;
using Resend = ReportBatches::Resend;

namespace {

Report queued(TaskId id) {
  Report one;
  one.id = id;
  one.attempt = 1;
  return one;
}

bool always() { return true; }

std::vector<TaskId> take_ids(ReportQueue& queue) {
  std::vector<TaskId> ids;
  for (const Report& report : queue.take_batch(always, SteadyClock::now)) ids.push_back(report.id);
  return ids;
}

}  // namespace

TEST_CASE("a report is held from when it is added until its batch is written, in flight as well") {
  ReportQueue queue;
  queue.add(queued(1));
  queue.add(queued(2));
  CHECK(queue.size() == 2);
  CHECK(take_ids(queue) == std::vector<TaskId>{1, 2});
  queue.add(queued(3));
  CHECK(queue.size() == 3);
  CHECK(queue.held().size() == 3);
  queue.note_unsettled({{2, 1}});
  CHECK(queue.held().size() == 2);
  CHECK(queue.batch_written({queued(2)}) == Resend::next);
  CHECK(queue.size() == 2);
  CHECK(take_ids(queue) == std::vector<TaskId>{3, 2});
  CHECK_FALSE(queue.wait_empty(SteadyClock::now()));
  CHECK(queue.batch_written({}) == Resend::none);
  CHECK(queue.wait_empty(SteadyClock::now()));
}

TEST_CASE("nothing is sent while it may not be, nor once the queue is finished") {
  ReportQueue queue;
  queue.add(queued(1));
  const TimePoint soon = SteadyClock::now() + 5ms;
  CHECK(queue.take_batch([] { return false; }, [soon] { return soon; }).empty());
  queue.finish();
  CHECK(queue.is_finished());
  CHECK(queue.take_batch(always, [] { return never; }).empty());
  CHECK(queue.size() == 1);  // it stays counted
}

TEST_CASE("a wait for reports ends when the time is asked for again and has come") {
  ReportQueue queue;
  std::promise<void> asked;
  std::atomic<bool> has_come{false};
  auto batch = std::async(std::launch::async, [&, is_first = true]() mutable {
    return queue.take_batch(always, [&] {
      if (std::exchange(is_first, false)) asked.set_value();
      return has_come ? TimePoint{} : never;
    });
  });
  asked.get_future().wait();
  has_come = true;
  queue.ask_again();
  CHECK(batch.get().empty());
}

TEST_CASE("nobody waits for reports of a finished queue, which no thread writes any more") {
  ReportQueue queue;
  queue.add(queued(1));
  queue.finish();
  CHECK_FALSE(queue.wait_empty(never));
}
