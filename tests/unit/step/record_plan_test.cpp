// How a step comes on record: each sequence of answers, and of answers that are lost.
#include "step/core/record_plan.hpp"

#include <string>

#include "support/catch.hpp"

using dogged::runtime::RecordPlan;
using RecordStep = RecordPlan::Step;

namespace {

/// An attempt that records one step, and the database.
struct RecordWorld {
  RecordPlan plan = {};
  int records = 0;      // of this attempt, in the database
  bool is_held = true;  // by the worker

  /// The statement is lost before or after it took effect.
  enum class Loss { none, request, answer };

  void send(Loss loss) {
    plan.on_sent();
    if (loss == Loss::request) return;
    if (is_held) REQUIRE(++records == 1);
    if (loss == Loss::none) plan.on_answer(is_held);
  }
  void look(Loss loss) {
    if (loss == Loss::none) plan.on_look(is_held && records > 0);
  }
};

void walk(RecordWorld world, int statements, const std::string& trace) {
  INFO(trace);
  const RecordStep step = world.plan.next();
  switch (step) {
    case RecordStep::recorded:
      REQUIRE(world.records == 1);
      return;
    case RecordStep::lost:
      REQUIRE_FALSE(world.is_held);
      return;
    case RecordStep::record:
    case RecordStep::look:
      break;
  }
  if (statements == 0) return;
  for (const bool is_held : {world.is_held, false}) {
    for (const auto loss : {RecordWorld::Loss::none, RecordWorld::Loss::request, RecordWorld::Loss::answer}) {
      RecordWorld next = world;
      next.is_held = is_held;
      step == RecordStep::record ? next.send(loss) : next.look(loss);
      walk(next, statements - 1, trace + " " + std::string{to_text(step)});
    }
  }
}

}  // namespace

TEST_CASE("a step is recorded once, whatever statements and answers are lost", "[one_thread]") {
  walk({}, 8, "a step:");
}

TEST_CASE("a worker looks before it records a step again, and goes on if the record is there") {
  RecordPlan plan;
  REQUIRE(plan.next() == RecordStep::record);
  plan.on_sent();
  REQUIRE(plan.next() == RecordStep::look);
  RecordPlan unsent = plan;
  plan.on_look(true);
  CHECK(plan.next() == RecordStep::recorded);
  unsent.on_look(false);
  CHECK(unsent.next() == RecordStep::record);
}

TEST_CASE("an attempt that the worker does not hold any more records no step") {
  RecordPlan plan;
  plan.on_sent();
  plan.on_answer(false);
  CHECK(plan.next() == RecordStep::lost);
}
