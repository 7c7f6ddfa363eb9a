// The questions of an attempt before it runs a step.
#include "step/core/known_steps.hpp"

#include "support/catch.hpp"

using dogged::runtime::KnownSteps;
using Ask = KnownSteps::Ask;

TEST_CASE("an attempt asks once for the names of recorded steps, and then only for the results of those") {
  KnownSteps steps;
  CHECK(steps.next("sum") == Ask::names);
  steps.on_names({"sum"});
  CHECK(steps.next("sum") == Ask::result);
  CHECK(steps.next("send") == Ask::nothing);
  CHECK(steps.next("send") == Ask::nothing);
}

TEST_CASE("an attempt that comes to a step again asks whether the step is on record meanwhile") {
  KnownSteps steps;
  steps.on_names({});
  REQUIRE(steps.next("charge") == Ask::nothing);
  steps.note_begun("charge");
  CHECK(steps.next("charge") == Ask::result);
  CHECK(steps.next("send") == Ask::nothing);
}

TEST_CASE("where more names are on record than are read, each step asks for itself") {
  KnownSteps steps;
  std::set<std::string> names;
  for (int i = 0; i < KnownSteps::most_names; ++i) names.insert(std::to_string(i));
  steps.on_names(names);
  CHECK(steps.next("send") == Ask::result);
}
