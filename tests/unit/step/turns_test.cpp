// Every sequence of handlers that ask in turn, and every failure.
#include "step/core/turns.hpp"

#include "support/catch.hpp"

using namespace dogged::runtime;
using Entry = Turns::Entry;
using Failure = Turns::Failure;
using Sequel = Turns::Sequel;

namespace {

/// As a handler sees it: whether another one asks, and whether the last try has reached the database.
struct Model {
  bool is_asked = false;
  bool was_away = false;

  [[nodiscard]] Entry next(bool stop_requested) const {
    if (stop_requested && (is_asked || was_away)) return Entry::leave;
    return is_asked ? Entry::wait : Entry::take;
  }
};

void walk(Turns turns, Model model, int events) {
  for (const bool stop_requested : {false, true}) REQUIRE(turns.next(stop_requested) == model.next(stop_requested));
  if (events == 0) return;
  if (!model.is_asked) {
    turns.on_taken();
    return walk(turns, {.is_asked = true, .was_away = model.was_away}, events - 1);
  }
  for (const bool is_away : {false, true}) {
    Turns ended = turns;
    ended.on_ended(is_away);
    walk(ended, {.is_asked = false, .was_away = is_away}, events - 1);
  }
}

}  // namespace

TEST_CASE("one handler asks at a time, and one that is to stop waits neither for another one nor for the database") {
  walk({}, {}, 10);
}

TEST_CASE("a handler tries again for as long as that may help, until it is to stop") {
  CHECK(Turns::after(Failure::connection_lost, false) == Sequel::try_again);
  CHECK(Turns::after(Failure::passes, false) == Sequel::try_again);
  CHECK(Turns::after(Failure::connection_lost, true) == Sequel::fail);
  CHECK(Turns::after(Failure::passes, true) == Sequel::fail);
  for (const bool stop_requested : {false, true}) {
    CHECK(Turns::after(Failure::lasts, stop_requested) == Sequel::fail);
    CHECK(Turns::after(Failure::defect, stop_requested) == Sequel::end_worker);
  }
}
