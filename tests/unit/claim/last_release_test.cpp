// How the claimer gives back what has not begun: each sequence of answers, failures, locked rows and time.
#include "claim/core/last_release.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using namespace dogged::runtime;
using Step = LastRelease::Step;
using dogged::test::start;

namespace {

constexpr TimePoint until = start + 5s;
constexpr TaskId task = 1;
constexpr TaskId unknown = 2;  // of a claim whose answer was lost

/// The tasks that the worker holds in the database, and what the claimer knows of them.
struct ReleasingWorld {
  explicit ReleasingWorld(bool has_tasks, bool in_doubt)
      : release(has_tasks, until), has_task(has_tasks), has_unknown(in_doubt) {
    if (in_doubt) certainty.on_failure();
  }

  Certainty certainty;
  LastRelease release;
  TimePoint now = start;
  bool has_task;
  bool has_unknown;
  bool has_session = false;  // since the doubt
  int releases = 0;
  std::string trace = {};

  [[nodiscard]] Step step() const { return release.next(certainty, now).step; }
  [[nodiscard]] bool has_ended() const { return step() == Step::given_back || step() == Step::given_up; }

  /// One step, with which the database does what it is asked. `locked`: another session has locked the rows.
  void act(bool locked) {
    switch (step()) {
      case Step::begin_session:
        has_session = true;
        certainty.on_session_begun();
        return;
      case Step::release:
        REQUIRE(++releases == 1);
        REQUIRE((!has_unknown || has_session));  // a claim that arrives late changes nothing
        release.on_released();
        has_task = locked;
        if (locked) certainty.on_locked(task, now);
        return;
      case Step::give_back_unknown: {
        std::vector<TaskId> left;
        if (locked && has_task) left.push_back(task);
        if (locked && has_unknown) left.push_back(unknown);
        if (!locked) has_task = has_unknown = false;
        certainty.on_given_back(left, now);
        return;
      }
      case Step::wait: {
        const TimePoint later = release.next(certainty, now).until;
        REQUIRE(later > now);
        REQUIRE(later <= until);
        now = later;
        return;
      }
      case Step::given_back:
        REQUIRE_FALSE(has_task);
        REQUIRE_FALSE(has_unknown);
        return;
      case Step::given_up:
        REQUIRE(now >= until);
        return;
    }
  }
};

/// In each step the database answers, has locked rows, or does not answer for a while.
int walk(const ReleasingWorld& world, int depth) {
  INFO(world.trace);
  if (world.has_ended()) {
    ReleasingWorld last = world;
    last.act(false);
    return 1;
  }
  if (depth == 0) return 0;
  int ends = 0;
  for (int event = 0; event < 4; ++event) {
    ReleasingWorld next = world;
    next.trace += static_cast<char>('a' + event);
    if (event < 2) next.act(event == 1);
    if (event == 2) next.now += 100ms;
    if (event == 3) next.now += 4s;
    ends += walk(next, depth - 1);
  }
  return ends;
}

}  // namespace

TEST_CASE("in all sequences, what has not begun is released once, and nothing is left unless the time is over") {
  int ends = 0;
  for (const bool has_tasks : {true, false}) {
    for (const bool in_doubt : {true, false}) {
      CAPTURE(has_tasks, in_doubt);
      ends += walk(ReleasingWorld{has_tasks, in_doubt}, 8);
    }
  }
  CHECK(ends > 10'000);
}

TEST_CASE("a release that fails is tried again until the time is over") {
  const ReleasingWorld world{true, false};
  CHECK(world.release.next(world.certainty, start) == LastRelease::Action{Step::release});
  CHECK(world.release.next(world.certainty, until - 1ms) == LastRelease::Action{Step::release});
  CHECK(world.release.next(world.certainty, until) == LastRelease::Action{Step::given_up});
}

TEST_CASE("locked rows are tried again, not at once, and no later than the time is over") {
  ReleasingWorld world{true, false};
  world.act(true);
  const LastRelease::Action waits = world.release.next(world.certainty, start);
  CHECK(waits.step == Step::wait);
  CHECK(waits.until > start);
  CHECK(world.release.next(world.certainty, waits.until).step == Step::give_back_unknown);
  CHECK(world.release.next(world.certainty, until - 1ms).step == Step::give_back_unknown);
}

TEST_CASE("a wait for locked rows ends when the time is over") {
  Certainty certainty;
  certainty.on_locked(task, start);
  const TimePoint soon = certainty.asks_at() - 1ms;
  const LastRelease release{false, soon};
  CHECK(release.next(certainty, start) == LastRelease::Action{Step::wait, soon});
  CHECK(release.next(certainty, soon) == LastRelease::Action{Step::given_up});
}
