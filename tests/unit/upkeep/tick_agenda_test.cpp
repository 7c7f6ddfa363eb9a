// When a worker asks for due ticks of schedules.
#include "upkeep/tick_agenda.hpp"

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using dogged::runtime::never;
using dogged::runtime::TickAgenda;
using dogged::runtime::TimePoint;
using dogged::test::start;

namespace {
constexpr TickAgenda::Settings settings{.others_later = 300ms, .again_while_locked = 100ms, .again_after_refusal = 1s};
}  // namespace

TEST_CASE("a worker asks for no tick as long as there is no schedule") {
  TickAgenda agenda{settings};
  CHECK(agenda.asks_at() == never);
  agenda.on_due(std::nullopt, true, start);
  CHECK(agenda.asks_at() == never);
}

TEST_CASE("the first workers ask when a tick is due, and the others a little later") {
  TickAgenda agenda{settings};
  agenda.on_due(5s, true, start);
  CHECK(agenda.asks_at() == start + 5s);
  agenda.on_due(5s, false, start);
  CHECK(agenda.asks_at() == start + 5300ms);
  agenda.on_due(-5s, true, start);
  CHECK(agenda.asks_at() == start);
}

TEST_CASE("a worker asks again at once while it finds due ticks, and after a while where others are at them") {
  TickAgenda agenda{settings};
  agenda.on_due(0s, true, start);
  agenda.on_fired(50, -1ms, start);
  CHECK(agenda.asks_at() == start);
  agenda.on_fired(0, -1ms, start);
  CHECK(agenda.asks_at() == start + 100ms);
  agenda.on_fired(1, 7s, start);
  CHECK(agenda.asks_at() == start + 7s);
  agenda.on_fired(1, std::nullopt, start);
  CHECK(agenda.asks_at() == never);
}

TEST_CASE("a worker asks at once when a schedule was set, and again after a refusal") {
  TickAgenda agenda{settings};
  agenda.on_changed(start);
  CHECK(agenda.asks_at() == start);
  agenda.on_refused(start);
  CHECK(agenda.asks_at() == start + 1s);
}
