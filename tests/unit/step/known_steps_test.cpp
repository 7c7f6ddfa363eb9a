// The questions of an attempt before it runs a step.
#include "step/core/known_steps.hpp"

#include <set>
#include <string>

#include "support/catch.hpp"

using dogged::runtime::KnownSteps;
using Ask = KnownSteps::Ask;

namespace {

/// So many names that an attempt does not read all.
std::set<std::string> too_many_names() {
  std::set<std::string> names;
  for (int i = 0; i < KnownSteps::most_names; ++i) names.insert(std::to_string(i));
  return names;
}

/// An attempt with the steps a and b, and the database.
struct StepsWorld {
  std::set<std::string> others = {};  // further steps on record
  KnownSteps steps = {};
  std::string trace = {};
  std::set<std::string> on_record = {};
  std::set<std::string> begun = {};  // by this attempt
  std::set<std::string> read = {};   // on record when the names were asked for
  bool has_names = false;

  void event(int number) {
    const std::string name = number % 2 == 0 ? "a" : "b";
    switch (number) {
      case 0:
      case 1:
        return come_to(name, true);
      case 2:
      case 3:  // the attempt fails at the step, or its record is lost
        return come_to(name, false);
      case 4:
      case 5:  // an earlier attempt's record arrives
        on_record.insert(name);
        return;
      default:
        return;
    }
  }

  void come_to(const std::string& name, bool is_recorded) {
    Ask ask = steps.next(name);
    REQUIRE((ask == Ask::names) == !has_names);  // once
    if (ask == Ask::names) {
      has_names = true;
      read = on_record;
      std::set<std::string> answer = others;
      if (others.empty()) answer = on_record;
      steps.on_names(answer);
      ask = steps.next(name);
    }
    const bool may_be_on_record = read.contains(name) || begun.contains(name) || !others.empty();
    REQUIRE(ask == (may_be_on_record ? Ask::result : Ask::nothing));
    if (ask == Ask::result && on_record.contains(name)) return;  // the attempt has the result
    REQUIRE_FALSE(read.contains(name));
    if (ask == Ask::nothing) steps.note_begun(name);
    begun.insert(name);
    if (is_recorded) on_record.insert(name);
  }

  [[nodiscard]] KnownSteps::State expected_state() const {
    if (!has_names) return KnownSteps::State::unasked;
    return others.empty() ? KnownSteps::State::all_known : KnownSteps::State::some_known;
  }
};

int walk_steps(const StepsWorld& world, int depth) {
  if (depth == 0) return 0;
  int count = 0;
  for (int event = 0; event < 6; ++event) {
    StepsWorld next = world;
    next.trace += static_cast<char>('0' + event);
    INFO(next.trace);
    next.event(event);
    REQUIRE(next.steps.state() == next.expected_state());
    count += 1 + walk_steps(next, depth - 1);
  }
  return count;
}

}  // namespace

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
  steps.on_names(too_many_names());
  CHECK(steps.next("send") == Ask::result);
}

TEST_CASE(
    "in all sequences of steps, losses and late records, an attempt asks once for names, and runs no step that was on "
    "record then or that the attempt has recorded",
    "[one_thread]") {
  CHECK(walk_steps(StepsWorld{}, 6) == 55'986);
  CHECK(walk_steps(StepsWorld{too_many_names()}, 2) == 42);
}
