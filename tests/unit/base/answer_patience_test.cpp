// When a connection is broken because an answer does not come.
#include "base/core/answer_patience.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using dogged::runtime::AnswerPatience;
using dogged::runtime::milliseconds;
using dogged::runtime::TimePoint;
using dogged::test::start;

namespace {

/// A watchdog that looks whenever it was told to, and the thread of a connection.
struct Watched {
  milliseconds patience;
  AnswerPatience core = {};
  TimePoint now = start;
  TimePoint looks_at = start;
  std::string trace = {};
  std::optional<TimePoint> busy_since = {};
  bool is_broken = false;  // the connection of the statement
  bool is_told = false;    // of a break since the last success

  bool event(int number) {
    switch (number) {
      case 0:
        now = looks_at;
        look();
        return true;
      case 1:
        now += (looks_at - now) / 2;
        return true;
      case 2:
        if (busy_since) return false;
        busy_since = now;
        is_broken = false;
        return true;
      case 3:
        if (!busy_since) return false;
        busy_since.reset();
        core.on_success();
        is_told = false;
        return true;
      case 4:  // the thread notices
        if (!busy_since || !is_broken) return false;
        busy_since.reset();
        return true;
      default:
        return false;
    }
  }

  void look() {
    const AnswerPatience::Action action = core.look(busy_since, patience, now);
    const TimePoint over_at = busy_since.value_or(now) + patience;
    if (now < over_at) {
      REQUIRE(action == AnswerPatience::Action{AnswerPatience::Step::wait, over_at});
    } else {
      if (!is_broken) REQUIRE(now == over_at);  // no answer is waited for longer
      const auto step = is_told ? AnswerPatience::Step::give_up_again : AnswerPatience::Step::give_up;
      REQUIRE(action == AnswerPatience::Action{step, now + std::min<milliseconds>(patience, 1s)});
      is_broken = is_told = true;
    }
    looks_at = action.look_again_at;
  }
};

int walk_answers(const Watched& watched, int depth) {
  if (depth == 0) return 0;
  int count = 0;
  for (int event = 0; event < 5; ++event) {
    Watched next = watched;
    next.trace += static_cast<char>('a' + event);
    INFO(next.trace);
    if (!next.event(event)) continue;
    const auto expected = next.is_told ? AnswerPatience::State::gave_up : AnswerPatience::State::patient;
    REQUIRE(next.core.state() == expected);
    count += 1 + walk_answers(next, depth - 1);
  }
  return count;
}

}  // namespace

TEST_CASE(
    "in all sequences of statements, answers and looks, a connection is broken as soon as an answer has taken too "
    "long, again until its thread notices, and that is told once until a success",
    "[one_thread]") {
  for (const milliseconds patience : {400ms, 10'000ms}) CHECK(walk_answers(Watched{patience}, 8) > 10'000);
}

TEST_CASE("a watchdog looks again after a pause, and not at once, also if its patience is over before the statement") {
  for (const milliseconds patience : {0ms, -5ms}) {
    AnswerPatience core;
    CHECK(core.look({}, patience, start).look_again_at == start + 10ms);
    CHECK(core.look(start, patience, start + 10ms) ==
          AnswerPatience::Action{AnswerPatience::Step::give_up, start + 20ms});
  }
}
