// A worker's view of its own lease.
#include "lease/core/lease.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using runtime::Lease;
using test::start;

TEST_CASE("a lease is renewed steadily while no gap is longer than half of it, and again after the next renewal") {
  Lease lease{1, 20s, start};
  CHECK(lease.is_renewed_steadily(start, 5s));
  CHECK(lease.is_renewed_steadily(start + 10s, 5s));
  CHECK_FALSE(lease.is_renewed_steadily(start + 11s, 5s));
  (void)lease.note_renewed(start + 5s, start + 5s);
  CHECK(lease.is_renewed_steadily(start + 15s, 5s));
  (void)lease.note_renewed(start + 16s, start + 16s);  // it stood still
  CHECK_FALSE(lease.is_renewed_steadily(start + 16s, 5s));
  (void)lease.note_renewed(start + 21s, start + 21s);
  CHECK(lease.is_renewed_steadily(start + 21s, 5s));
}

TEST_CASE("a renewal at once after a long gap does not hide the gap until the next heartbeat") {
  Lease lease{1, 30s, start};
  (void)lease.note_renewed(start + 20s, start + 20s);
  (void)lease.note_renewed(start + 20s + 4ms, start + 20s + 4ms);
  CHECK_FALSE(lease.is_renewed_steadily(start + 20s + 5ms, 5s));
  (void)lease.note_renewed(start + 25s + 4ms, start + 25s + 4ms);
  CHECK(lease.is_renewed_steadily(start + 25s + 4ms, 5s));
}

TEST_CASE("a lease is not renewed steadily after three heartbeats without a renewal, however long it is") {
  const Lease lease{1, 1h, start};
  CHECK(lease.is_renewed_steadily(start + 15s, 5s));
  CHECK_FALSE(lease.is_renewed_steadily(start + 16s, 5s));
}

TEST_CASE("a worker that holds no task renews its lease half as often, but three times in the lease's length") {
  const Lease lease{1, 30s, runtime::SteadyClock::time_point{}};
  CHECK(lease.until_next_renewal(5s, true) == 5s);
  CHECK(lease.until_next_renewal(5s, false) == 10s);
  CHECK(lease.until_next_renewal(1s, false) == 2s);
  CHECK(lease.until_next_renewal(7s, false) == 10s);
  CHECK(lease.until_next_renewal(10s, false) == 10s);
  CHECK(lease.until_next_renewal(10s, true) == 10s);
}

namespace {

using State = Lease::State;
using Turn = Lease::Turn;

/// An event of a lease: the answer to a renewal asked for `asked_ago` before, the end of the lease, or a look at the
/// time.
struct Event {
  enum class What { renewed, ended, looked } what;
  std::chrono::seconds asked_ago{0};
};

/// A second implementation of a lease of 10 s, by the times and answers alone.
struct Expected {
  State state = State::held;
  std::chrono::seconds held_until{10};

  [[nodiscard]] bool may_lapse() const { return state == State::held || state == State::regained; }

  Turn on(const Event& event, std::chrono::seconds now) {
    if (state == State::ended) return Turn::none;
    switch (event.what) {
      case Event::What::ended:
        state = State::ended;
        return Turn::ended;
      case Event::What::looked:
        if (now < held_until || !may_lapse()) return Turn::none;
        state = State::lapsed;
        return Turn::lapsed;
      case Event::What::renewed:
        break;
    }
    const bool was_lapsed = state == State::lapsed || now >= held_until;
    if (was_lapsed) state = State::regained;
    held_until = std::max(held_until, now - event.asked_ago + 10s);
    return was_lapsed ? Turn::regained : Turn::none;
  }
};

}  // namespace

TEST_CASE("a lease lapses by time alone, is never held again once it has ended, and counts from when it was asked",
          "[one_thread]") {
  const std::vector<Event> events{{Event::What::renewed, 0s},
                                  {Event::What::renewed, 3s},
                                  {Event::What::renewed, 12s},
                                  {Event::What::ended},
                                  {Event::What::looked}};
  const std::vector<std::chrono::seconds> steps{0s, 4s, 10s, 11s};
  struct Walked {
    Event event;
    std::chrono::seconds after;
  };
  std::size_t walks = 0;
  const std::function<void(std::vector<Walked>&)> walk = [&](std::vector<Walked>& path) {
    Lease lease{1, 10s, start};
    Expected expected;
    std::chrono::seconds now{0};
    for (const Walked& step : path) {
      now += step.after;
      Turn turn = Turn::none;
      switch (step.event.what) {
        case Event::What::renewed:
          turn = lease.note_renewed(start + now - step.event.asked_ago, start + now);
          break;
        case Event::What::ended:
          turn = lease.note_ended();
          break;
        case Event::What::looked:
          turn = lease.lapse_if_due(start + now);
          break;
      }
      const Turn expected_turn = expected.on(step.event, now);
      const auto lapses_at = expected.may_lapse() ? start + expected.held_until : runtime::never;
      if (turn != expected_turn || lease.state() != expected.state ||
          lease.held_until() != start + expected.held_until || lease.lapses_at() != lapses_at) {
        FAIL("after a path of " << path.size() << " steps, at " << now.count() << " s");
      }
    }
    ++walks;
    if (path.size() == 4) return;
    for (const Event& event : events) {
      for (const auto after : steps) {
        path.push_back({event, after});
        walk(path);
        path.pop_back();
      }
    }
  };
  std::vector<Walked> path;
  walk(path);
  CHECK(walks == 1 + 20 + 400 + 8000 + 160000);
}

TEST_CASE("handlers stop when their lease lapses or ends, and reports are written once the database has decided") {
  CHECK_FALSE(stops_handlers(Turn::none));
  CHECK(stops_handlers(Turn::lapsed));
  CHECK_FALSE(stops_handlers(Turn::regained));
  CHECK(stops_handlers(Turn::ended));
  CHECK_FALSE(frees_reports(Turn::none));
  CHECK_FALSE(frees_reports(Turn::lapsed));
  CHECK(frees_reports(Turn::regained));
  CHECK(frees_reports(Turn::ended));
}
