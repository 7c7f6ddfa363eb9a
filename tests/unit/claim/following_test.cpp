// When the settings of queues are read: every sequence of changes, answers, pauses and seconds.
#include "claim/core/following.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using dogged::test::start;

namespace {

/// The events so far, kept apart from the core.
struct FollowingWorld {
  Following following;
  TimePoint now = start;
  bool changed_since_read = true;
  std::vector<TimePoint> pauses = {};  // of the last answer
  TimePoint asked_at{};

  void step(int event) {
    switch (event) {
      case 0:
        following.on_changed();
        changed_since_read = true;
        break;
      case 1:
        following.on_asked(now);
        changed_since_read = false;
        pauses.clear();
        asked_at = now;
        break;
      case 2:
      case 3:
        following.on_pause(event == 2 ? 1500ms : 2500ms, now);
        pauses.push_back(now + (event == 2 ? 1500ms : 2500ms));
        break;
      default:
        now += 500ms;
    }
  }
};

}  // namespace

TEST_CASE("settings are read after a change, and when the first pause ends, and those older than a second are old") {
  const std::function<void(const FollowingWorld&, int)> walk = [&](const FollowingWorld& world, int depth) {
    const bool a_pause_is_over =
        std::any_of(world.pauses.begin(), world.pauses.end(), [&](TimePoint end) { return world.now >= end; });
    if (world.following.is_due(world.now) != (world.changed_since_read || a_pause_is_over) ||
        world.following.is_old(world.now) != (world.now - world.asked_at >= 1s)) {
      FAIL("changed " << world.changed_since_read << ", a pause is over " << a_pause_is_over);
    }
    if (depth == 0) return;
    for (int event = 0; event < 5; ++event) {
      FollowingWorld next = world;
      next.step(event);
      walk(next, depth - 1);
    }
  };
  walk(FollowingWorld{}, 7);
}

TEST_CASE("a pause that is over already, or never ends, is asked about later and does not overflow") {
  Following following;
  following.on_asked(start);
  following.on_pause(-5s, start);
  CHECK_FALSE(following.is_due(start));
  CHECK(following.is_due(start + 1ms));
  following.on_asked(start);
  following.on_pause(milliseconds::max(), start);
  CHECK(following.resumes_at() == start + longest_ahead);
}
