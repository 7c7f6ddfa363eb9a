// When spans are sent, and what a collector's answer means.
#include "trace/core/export_plan.hpp"

#include <stdexcept>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"
#include "trace/otlp_json.hpp"
#include "trace/span_queue.hpp"

using namespace std::chrono_literals;
using dogged::runtime::ExportPlan;
using dogged::runtime::never;
using dogged::runtime::rejected_in;
using dogged::runtime::SpanQueue;
using dogged::runtime::Tally;
using dogged::runtime::TimePoint;
using Action = ExportPlan::Action;
using State = ExportPlan::State;
using Step = ExportPlan::Step;
using Verdict = ExportPlan::Verdict;
using dogged::test::start;

namespace {

ExportPlan plan_of_ten() {
  return ExportPlan{{.most_in_batch = 10,
                     .schedule_delay = 5s,
                     .retry = dogged::exponential(1s).with_max_retries(2).with_jitter(dogged::Jitter::none())}};
}

}  // namespace

TEST_CASE("spans wait for a full batch, or until the oldest has waited for the schedule's delay") {
  ExportPlan plan = plan_of_ten();
  CHECK(plan.next({}, start) == Action{.step = Step::wait, .until = never});
  CHECK(plan.next({.spans = 9, .oldest_at = start}, start + 1s) == Action{.step = Step::wait, .until = start + 5s});
  CHECK(plan.next({.spans = 10, .oldest_at = start}, start + 1s).step == Step::take);
  CHECK(plan.next({.spans = 1, .oldest_at = start}, start + 5s).step == Step::take);
}

TEST_CASE("a request that fails for a passing reason is sent again after a growing delay, until its tries are spent") {
  for (const int status : {0, 429, 502, 503, 504}) {
    ExportPlan plan = plan_of_ten();
    CHECK(plan.on_answer({.status = status}, start, 0.5) == Verdict::try_again);
    CHECK(plan.next({.spans = 99, .oldest_at = start}, start) == Action{.step = Step::wait, .until = start + 1s});
    CHECK(plan.next({}, start + 1s).step == Step::send_again);
    CHECK(plan.on_answer({.status = status}, start + 1s, 0.5) == Verdict::try_again);
    CHECK(plan.next({}, start + 1s) == Action{.step = Step::wait, .until = start + 3s});
    CHECK(plan.on_answer({.status = status}, start + 3s, 0.5) == Verdict::failed);
    CHECK(plan.next({}, start + 3s) == Action{.step = Step::wait, .until = never});
    CHECK(plan.on_answer({.status = status}, start + 4s, 0.5) == Verdict::try_again);  // of the next batch
  }
}

TEST_CASE("a collector that says when to come again is asked then") {
  ExportPlan plan = plan_of_ten();
  CHECK(plan.on_answer({.status = 429, .retry_after = 30s}, start, 0.5) == Verdict::try_again);
  CHECK(plan.next({}, start) == Action{.step = Step::wait, .until = start + 30s});
}

TEST_CASE("a success is taken, and every other answer is refused for good") {
  for (const int status : {200, 202}) CHECK(plan_of_ten().on_answer({.status = status}, start, 0.5) == Verdict::taken);
  for (const int status : {301, 400, 401, 404, 413, 500}) {
    ExportPlan plan = plan_of_ten();
    CHECK(plan.on_answer({.status = status}, start, 0.5) == Verdict::refused);
    CHECK(plan.next({}, start) == Action{.step = Step::wait, .until = never});
  }
}

TEST_CASE("a worker that ends waits for nothing: it sends what there is, each once, and ends") {
  ExportPlan plan = plan_of_ten();
  CHECK(plan.on_answer({.status = 503, .retry_after = 24h}, start, 0.5) == Verdict::try_again);
  plan.on_stopping(start + 3s);
  CHECK(plan.next({.spans = 1, .oldest_at = start}, start).step == Step::send_again);
  CHECK(plan.on_answer({.status = 503}, start, 0.5) == Verdict::failed);
  CHECK(plan.next({.spans = 1, .oldest_at = start}, start).step == Step::take);
  CHECK(plan.next({}, start) == Action{.step = Step::end});
  CHECK(plan.state() == State::ended);
  CHECK_THROWS_AS(plan.on_answer({.status = 200}, start, 0.5), std::logic_error);  // to no request
}

TEST_CASE("an exporter that is out of time ends, whatever it has not sent yet") {
  const ExportPlan::Queued queued{.spans = 99, .oldest_at = start};
  ExportPlan plan = plan_of_ten();
  CHECK(plan.on_answer({.status = 503}, start, 0.5) == Verdict::try_again);
  for (const bool is_to_send_again : {true, false}) {
    ExportPlan ending = is_to_send_again ? plan : plan_of_ten();
    ending.on_stopping(start + 3s);
    CHECK(ending.next(queued, start + 2s).step == (is_to_send_again ? Step::send_again : Step::take));
    CHECK(ending.next(queued, start + 3s) == Action{.step = Step::end});
  }
}

TEST_CASE("the queue of spans is bounded: what does not fit, and what comes after the end, is dropped and counted") {
  const auto tally = std::make_shared<Tally>();
  SpanQueue queue{3, 2, tally};
  for (int i = 0; i < 5; ++i) queue.push({.attempt = i}, start + std::chrono::seconds{i});
  CHECK(tally->traces.queue_full == 2);
  CHECK(queue.look().spans == 3);
  const auto taken = queue.take();
  REQUIRE(taken.size() == 2);
  CHECK(taken[1].attempt == 1);
  CHECK(queue.look().oldest_at == start + 2s);
  queue.close();
  queue.push({}, start);
  CHECK(tally->traces.shutdown == 2);
}

TEST_CASE("the first span and a full batch wake the exporter, and neither further spans nor those after the end do") {
  SpanQueue queue{3, 2, std::make_shared<Tally>()};
  const auto wakes = [&queue] {
    queue.push({}, start);
    const bool is_woken = queue.wake().is_readable();
    queue.wake().reset();
    return is_woken;
  };
  for (const bool expected : {true, true, false, false}) CHECK(wakes() == expected);
  REQUIRE(queue.take().size() == 2);
  CHECK(wakes());  // a batch again
  queue.close();
  CHECK_FALSE(wakes());
}

TEST_CASE("a collector's answer tells how many spans it has refused") {
  CHECK(rejected_in(R"({"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}})").count == 3);
  CHECK(rejected_in(R"({"partialSuccess":{"rejectedSpans":3}})").count == 3);
  CHECK(rejected_in(R"({"partialSuccess":{"errorMessage":"too old"}})").why == "too old");
  CHECK(rejected_in(R"({"partialSuccess":{"errorMessage":")" + std::string(999, 'x') + "\"}}").why.size() == 200);
  for (const char* other :
       {"", "ok", "[]", "{}", R"({"partialSuccess":1})", R"({"partialSuccess":{"rejectedSpans":-1}})",
        R"({"partialSuccess":{"rejectedSpans":"x"}})"}) {
    CHECK(rejected_in(other).count == 0);
  }
}
