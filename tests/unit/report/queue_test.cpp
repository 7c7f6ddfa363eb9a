// Reports that wait for the completer, between threads.
#include "report/queue.hpp"

#include <functional>
#include <future>
#include <string>
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

std::vector<TaskId> take_ids(ReportQueue& queue) {
  std::vector<TaskId> ids;
  for (const Report& report : queue.take()) ids.push_back(report.id);
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

TEST_CASE("a wait for news ends by what happens after the look, whether before the wait or during it") {
  const auto [name, cause] = GENERATE(table<std::string, std::function<void(ReportQueue&)>>({
      {"a report", [](ReportQueue& queue) { queue.add(queued(1)); }},
      {"other news", [](ReportQueue& queue) { queue.note_news(); }},
      {"the end", [](ReportQueue& queue) { queue.finish(); }},
  }));
  CAPTURE(name);
  ReportQueue queue;
  (void)queue.look();
  cause(queue);
  queue.wait_for_news(never);
  (void)queue.look();
  auto wait = std::async(std::launch::async, [&] { queue.wait_for_news(never); });
  cause(queue);
  wait.get();
  (void)queue.look();
  queue.wait_for_news(SteadyClock::now());  // nothing has happened since: only the time ends the wait
}

TEST_CASE("a look tells of reports that wait, and of the end") {
  ReportQueue queue;
  CHECK_FALSE(queue.look().has_waiting);
  queue.add(queued(1));
  CHECK(queue.look().has_waiting);
  (void)queue.take();
  CHECK_FALSE(queue.look().has_waiting);
  CHECK_FALSE(queue.look().is_finished);
  queue.finish();
  CHECK(queue.look().is_finished);
  CHECK(queue.size() == 1);  // it stays counted
}

TEST_CASE("nobody waits for reports of a finished queue, which no thread writes any more") {
  ReportQueue queue;
  queue.add(queued(1));
  queue.finish();
  CHECK_FALSE(queue.wait_empty(never));
}
