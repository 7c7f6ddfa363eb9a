// When a worker asks for due ticks of schedules.
#include "upkeep/core/tick_agenda.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using dogged::runtime::milliseconds;
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

namespace {

constexpr milliseconds between_ticks{5'000};

/// A worker that asks for due ticks, a schedule in the database, and another worker that fires its ticks as well.
struct AgendaWorld {
  TickAgenda agenda{settings};
  TimePoint now = start;
  std::optional<TimePoint> due_at = {};
  bool comes_first = true;
  bool knows = true;  // the agenda was told of this tick, or of one before it
  std::string trace = {};

  [[nodiscard]] std::optional<milliseconds> due_in() const {
    return due_at ? std::optional{std::chrono::duration_cast<milliseconds>(*due_at - now)} : std::nullopt;
  }

  /// Whether it has fired a tick.
  bool ask(bool is_locked) {
    const bool fires = due_at && *due_at <= now && !is_locked;
    if (fires) due_at = now + between_ticks;
    agenda.on_fired(fires ? 1 : 0, due_in(), now);
    knows = true;
    return fires;
  }

  bool event(int number) {
    switch (number) {
      case 0:
        agenda.on_due(due_in(), comes_first, now);
        knows = true;
        return true;
      case 1:
      case 2:
        if (now < agenda.asks_at()) return false;
        if (!ask(number == 2) && agenda.asks_at() <= now) FAIL("asks at once after it has fired nothing: " << trace);
        return true;
      case 3:
        if (now < agenda.asks_at()) return false;
        agenda.on_refused(now);
        if (agenda.asks_at() <= now) FAIL("asks at once after a refusal: " << trace);
        return true;
      case 4:  // it is busy with other work, or waits
        now += 1s;
        return true;
      case 5:
        if (!due_at || *due_at > now) return false;
        due_at = now + between_ticks;
        return true;
      case 6:
        due_at = now;
        agenda.on_changed(now);
        knows = true;
        return true;
      case 7:
        if (!due_at) return false;
        due_at.reset();
        return true;
      case 8:  // the notification is lost
        if (due_at) return false;
        due_at = now;
        knows = false;
        return true;
      case 9:
        comes_first = !comes_first;
        return true;
      default:
        return false;
    }
  }

  void check() const {
    if (!due_at || !knows) return;
    // The agenda waits from one question to the next, and fires the tick in time.
    AgendaWorld calm = *this;
    const TimePoint latest = std::max(now, *due_at) + settings.again_after_refusal;
    for (int questions = 1; questions <= 3; ++questions) {
      calm.now = std::max(calm.now, calm.agenda.asks_at());
      if (calm.now > latest) break;
      if (calm.ask(false)) return;
      if (calm.agenda.asks_at() <= calm.now) break;
    }
    FAIL("a due tick waits after " << trace);
  }
};

int walk_agenda(const AgendaWorld& world, int length) {
  if (length == 0) return 0;
  int count = 0;
  for (int event = 0; event < 10; ++event) {
    AgendaWorld next = world;
    if (!next.event(event)) continue;
    next.trace += static_cast<char>('a' + event);
    next.check();
    count += 1 + walk_agenda(next, length - 1);
  }
  return count;
}

}  // namespace

TEST_CASE("whatever happens before, a tick that a worker knows of is fired within a second, without asking in a loop",
          "[one_thread]") {
  CHECK(walk_agenda({}, 7) > 100'000);
}
