// The actions of a handler that waits: each sequence of answers, pauses and stops.
#include "step/core/wait_plan.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using Answer = WaitPlan::Answer;
using Step = WaitPlan::Step;
using dogged::test::start;

namespace {

struct KnownAnswer {
  Answer answer;
  std::string_view text;
  Step step;  // that follows at once
};

constexpr std::array known_answers{
    KnownAnswer{Answer::over, "over", Step::over},
    KnownAnswer{Answer::suspended, "suspended", Step::suspended},
    KnownAnswer{Answer::cancelled, "cancelled", Step::cancelled},
    KnownAnswer{Answer::at_limit, "at_limit", Step::at_limit},
    KnownAnswer{Answer::busy, "busy", Step::pause},
    KnownAnswer{Answer::lost, "lost", Step::lost},
    KnownAnswer{Answer::other_kind, "other_kind", Step::other_kind},
};
static_assert(known_answers.size() == static_cast<std::size_t>(Answer::other_kind) + 1, "all of them");

/// The step that follows at once.
Step step_after(Answer answer) {
  WaitPlan plan;
  plan.on_answer(answer, start);
  return plan.next(start, false).step;
}

/// Each way on from here: every answer to a question, and a pause that ends or is cut short.
void walk(WaitPlan plan, TimePoint now, int questions, const std::string& trace) {
  INFO(trace);
  const auto [step, until] = plan.next(now, false);
  switch (step) {
    case Step::ask:
      if (questions == 0) return;
      for (const KnownAnswer& known : known_answers) {
        WaitPlan next = plan;
        next.on_answer(known.answer, now);
        walk(next, now, questions - 1, trace + " ask");
      }
      return;
    case Step::pause:
      REQUIRE(until > now);
      REQUIRE(plan.next(until - 1ns, false).step == Step::pause);
      REQUIRE(plan.next(until, false).step == Step::ask);
      REQUIRE(plan.next(now, true).step == Step::stopped);
      REQUIRE(plan.next(until, true).step == Step::stopped);
      return walk(plan, until, questions, trace + " pause");
    case Step::over:
    case Step::suspended:
    case Step::cancelled:
    case Step::at_limit:
    case Step::lost:
    case Step::other_kind:
      for (const TimePoint later : {now, now + 1h}) {
        REQUIRE(plan.next(later, false).step == step);
        REQUIRE(plan.next(later, true).step == step);
      }
      return;
    case Step::stopped:
      FAIL("nobody has asked the handler to stop");
  }
}

}  // namespace

TEST_CASE("a handler asks about its wait until the answer says how the wait stands, and then never again") {
  walk(WaitPlan{}, start, 4, "begin");
}

TEST_CASE("the answer to a wait decides how its handler goes on") {
  for (const KnownAnswer& known : known_answers) CHECK(step_after(known.answer) == known.step);
}

TEST_CASE("a handler that is asked to stop before it comes to a wait asks once all the same") {
  REQUIRE(WaitPlan{}.next(start, true).step == Step::ask);
}

TEST_CASE("each answer to a wait has one text, and no other text is an answer") {
  for (const KnownAnswer& known : known_answers) {
    CHECK(to_text(known.answer) == known.text);
    CHECK(wait_answer_from_text(known.text) == known.answer);
  }
  REQUIRE_THROWS_AS(wait_answer_from_text("waiting"), std::logic_error);
}
