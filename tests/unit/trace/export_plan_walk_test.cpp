// A walk through the plan for exports: every sequence of spans, answers, pauses and the end of the worker up to a
// length.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"
#include "trace/core/export_plan.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using dogged::test::start;

namespace {

struct ExportWorld {
  static constexpr std::size_t most_in_batch = 2;
  static constexpr int most_tries = 3;
  static constexpr milliseconds schedule_delay{5'000};
  static constexpr milliseconds told_delay{30'000};  // by a collector

  ExportPlan plan{
      {.most_in_batch = most_in_batch,
       .schedule_delay = schedule_delay,
       .retry = dogged::exponential(1s).with_max_retries(most_tries - 1).with_jitter(dogged::Jitter::none())}};
  TimePoint now = start;
  std::string trace = {};
  std::vector<TimePoint> queue = {};  // when each span came
  int tries = 0;                      // of the batch under way; 0: there is none
  bool is_sent = false;               // the batch under way, and not answered
  TimePoint again_at{};
  bool is_stopping = false;
  TimePoint gives_up_at = never;
  bool is_over = false;  // the plan has ended

  bool event(int number) {
    switch (number) {
      case 0:
        if (queue.size() > most_in_batch) return false;
        queue.push_back(now);
        return true;
      case 1:
        return act();
      case 2:
        return answer(200, {}, ExportPlan::Verdict::taken);
      case 3:
        return answer(400, {}, ExportPlan::Verdict::refused);
      case 4:
      case 5: {
        const bool is_last = is_stopping || tries == most_tries;
        const std::optional<milliseconds> told = number == 5 ? std::optional{told_delay} : std::nullopt;
        again_at = now + told.value_or(tries * 1s);
        return answer(503, told, is_last ? ExportPlan::Verdict::failed : ExportPlan::Verdict::try_again);
      }
      case 6:
        if (is_stopping) return false;
        is_stopping = true;
        gives_up_at = now + 4s;
        plan.on_stopping(gives_up_at);
        return true;
      case 7:
        now += 3s;
        return true;
      default:
        return false;
    }
  }

  bool answer(int status, std::optional<milliseconds> retry_after, ExportPlan::Verdict expected) {
    if (!is_sent) return false;
    REQUIRE(plan.on_answer({status, retry_after}, now, 0.5) == expected);
    is_sent = false;
    if (expected != ExportPlan::Verdict::try_again) tries = 0;
    return true;
  }

  /// False if the plan does nothing before a span comes, or had ended.
  bool act() {
    if (is_sent) return false;
    if (is_stopping) plan.on_stopping(now + 4s);  // the first call counts
    const ExportPlan::Action action = plan.next({queue.size(), queue.empty() ? never : queue.front()}, now);
    const bool has_nothing = tries == 0 && queue.empty();
    if (is_over || now >= gives_up_at || (is_stopping && has_nothing)) {
      REQUIRE(action == ExportPlan::Action{.step = ExportPlan::Step::end});
      return !std::exchange(is_over, true);
    }
    if (has_nothing) {
      REQUIRE(action == ExportPlan::Action{});
      return false;
    }
    const TimePoint due = is_stopping ? now : tries > 0 ? again_at : queue.front() + schedule_delay;
    const bool has_batch = tries == 0 && queue.size() >= most_in_batch;
    if (now < due && !has_batch) {
      REQUIRE(action == ExportPlan::Action{.until = due});
      now = due;
      return true;
    }
    REQUIRE(action.step == (tries > 0 ? ExportPlan::Step::send_again : ExportPlan::Step::take));
    if (tries == 0)
      queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(std::min(queue.size(), most_in_batch)));
    ++tries;
    is_sent = true;
    return true;
  }

  [[nodiscard]] ExportPlan::State expected_state() const {
    if (is_over) return ExportPlan::State::ended;
    const bool has_failed = tries > (is_sent ? 1 : 0);  // a request for the batch under way
    if (is_stopping) return has_failed ? ExportPlan::State::trying_last : ExportPlan::State::flushing;
    return has_failed ? ExportPlan::State::trying_again : ExportPlan::State::gathering;
  }

  /// A collector that answers has all spans soon, and of a worker that ends at once, unless the time is over. Spans
  /// that come after the end are dropped.
  void check() const {
    INFO(trace);
    REQUIRE(plan.state() == expected_state());
    REQUIRE(tries <= most_tries);
    ExportWorld calm = *this;
    for (int step = 0; calm.event(2) || calm.act(); ++step) REQUIRE(step < 10);
    REQUIRE((calm.queue.empty() || calm.now >= gives_up_at || is_over));
    REQUIRE(calm.is_over == is_stopping);
    REQUIRE(calm.now <= now + (is_stopping ? 0ms : told_delay + schedule_delay));
  }
};

int walk_exports(const ExportWorld& world, int depth) {
  if (depth == 0) return 0;
  int count = 0;
  for (int event = 0; event < 8; ++event) {
    ExportWorld next = world;
    next.trace += static_cast<char>('a' + event);
    INFO(next.trace);
    if (!next.event(event)) continue;
    next.check();
    count += 1 + walk_exports(next, depth - 1);
  }
  return count;
}

}  // namespace

TEST_CASE(
    "in all sequences of spans, answers and pauses, each batch of spans ends, no span is waited with for too long, and "
    "a worker that ends waits for none",
    "[one_thread]") {
  CHECK(walk_exports(ExportWorld{}, 8) > 20'000);
  ExportWorld has_sent_again;  // a batch was taken at its third try
  for (const int number : {0, 0, 1, 4, 1, 1, 4, 1, 1, 2}) REQUIRE(has_sent_again.event(number));
  CHECK(walk_exports(has_sent_again, 6) > 1'000);
}
