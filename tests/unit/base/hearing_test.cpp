// Whether notifications arrive on a service's connection.
#include "base/core/hearing.hpp"

#include <stdexcept>
#include <string>

#include "support/catch.hpp"

using dogged::runtime::Hearing;

namespace {

/// A service, and the service's connection as PostgreSQL knows it.
struct HearingWorld {
  bool listens;  // by the service's settings
  Hearing hearing{listens};
  std::string trace = {};
  bool has_listened = false;  // on this connection

  void event(int number) {
    if (number == 0) {  // the connection breaks, and the service connects again
      hearing.on_failure();
      has_listened = false;
    } else if (number == 1 && hearing.is_deaf()) {
      REQUIRE_FALSE(has_listened);
      hearing.on_listening();
      has_listened = true;
    } else if (number == 1) {
      REQUIRE_THROWS_AS(hearing.on_listening(), std::logic_error);
    }
  }

  void check() const {
    INFO(trace);
    REQUIRE((hearing.state() == Hearing::State::polls_only) == !listens);
    REQUIRE((hearing.state() == Hearing::State::listening) == has_listened);
    REQUIRE(hearing.is_deaf() == (listens && !has_listened));  // the service then listens
  }
};

int walk_hearing(const HearingWorld& world, int depth) {
  world.check();
  if (depth == 0) return 1;
  int count = 1;
  for (int event = 0; event < 2; ++event) {
    HearingWorld next = world;
    next.trace += static_cast<char>('0' + event);
    INFO(next.trace);
    next.event(event);
    count += walk_hearing(next, depth - 1);
  }
  return count;
}

}  // namespace

TEST_CASE(
    "in all sequences of failures and attempts to listen, a service listens once on each connection, and one that only "
    "polls never listens") {
  for (const bool listens : {true, false}) CHECK(walk_hearing(HearingWorld{listens}, 10) == 2047);
}
