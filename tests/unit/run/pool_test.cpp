// A queue's threads and tasks: what begins, what is stopped, and what is given up.
#include "run/core/pool.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"
#include "tasks/definition.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using namespace dogged::runtime;
using Next = Pool::Next;
using SlotState = Pool::SlotState;
using dogged::test::start;

namespace {

constexpr milliseconds grace{5s};
constexpr milliseconds timeout{10s};

const Definition& definition(milliseconds timeout_of_it) {
  static const Definition without = [] {
    Definition definition;
    definition.name = "work";
    return definition;
  }();
  static const Definition with = [] {
    Definition definition = without;
    definition.timeout = timeout;
    return definition;
  }();
  return timeout_of_it.count() > 0 ? with : without;
}

ClaimedTask task(TaskId id, milliseconds timeout_of_it = 0ms) {
  ClaimedTask task;
  task.id = id;
  task.attempt = 1;
  task.definition = &definition(timeout_of_it);
  task.claimed_at = start;
  return task;
}

/// A pool with a slot for each attempt that may run at once.
struct Threads {
  explicit Threads(std::size_t concurrency) : pool(concurrency, grace) {
    for (std::size_t i = 0; i < concurrency; ++i) {
      slots.push_back(std::make_shared<Pool::Slot>());
      pool.add(slots.back());
    }
  }
  /// The thread of slot `i` looks for a task.
  Next next(std::size_t i, TimePoint now = start) { return pool.next(*slots[i], now, start + 1h); }
  bool ended(std::size_t i, std::chrono::nanoseconds after = 1s) { return pool.on_ended(*slots[i], after); }
  void report(std::size_t i) {
    REQUIRE(ended(i));
    pool.on_reported(*slots[i]);
  }
  [[nodiscard]] TaskId runs(std::size_t i) const { return slots[i]->run().task.id; }
  [[nodiscard]] SlotState state(std::size_t i) const { return Pool::state(*slots[i]); }
  [[nodiscard]] std::vector<TaskId> held() const {
    std::vector<TaskId> ids;
    for (const Attempt& attempt : pool.held()) ids.push_back(attempt.id);
    return ids;
  }

  Pool pool;
  std::vector<std::shared_ptr<Pool::Slot>> slots;
};

}  // namespace

TEST_CASE("tasks begin in order, and no more at once than the concurrency says") {
  Threads threads{3};
  threads.pool.set_concurrency(2);
  threads.pool.submit({task(1), task(2), task(3)});
  CHECK(threads.next(0) == Next::run);
  CHECK(threads.next(1) == Next::run);
  CHECK(threads.next(2) == Next::wait);
  CHECK(threads.runs(0) == 1);
  CHECK(threads.runs(1) == 2);
  CHECK(threads.held() == std::vector<TaskId>{3, 1, 2});
  threads.report(0);
  CHECK(threads.next(2) == Next::run);
  CHECK(threads.runs(2) == 3);
  CHECK(threads.pool.load() == Pool::Load{.at_once = 2, .busy = 2, .waiting = 0});
}

TEST_CASE("nothing begins once the time of the lease was over, even if the lease is renewed later") {
  Threads threads{1};
  threads.pool.submit({task(1)});
  CHECK(threads.pool.next(*threads.slots[0], start, start) == Next::wait);
  CHECK(threads.pool.next(*threads.slots[0], start, start + 1h) == Next::wait);
  CHECK(threads.held() == std::vector<TaskId>{1});
}

TEST_CASE("a task that expired before it could begin is held until it is taken out") {
  Threads threads{1};
  ClaimedTask late = task(1);
  late.expires_at = start;
  threads.pool.submit({late, task(2)});
  CHECK(threads.next(0) == Next::expired);
  CHECK(threads.held() == std::vector<TaskId>{2, 1});
  CHECK(threads.pool.holds_any());
  CHECK(threads.pool.take_expired().size() == 1);
  CHECK(threads.next(0) == Next::run);
  CHECK(threads.runs(0) == 2);
}

TEST_CASE("an attempt is stopped when its timeout is over, and given up when the stop grace is over as well") {
  Threads threads{1};
  threads.pool.submit({task(1, timeout)});
  REQUIRE(threads.next(0) == Next::run);
  const TimePoint given_up_at = start + timeout + grace;
  CHECK(threads.pool.due(start + timeout - 1ms) == Pool::Due{.next = start + timeout});
  CHECK(threads.pool.due(start + timeout) ==
        Pool::Due{.stops = {{0, StopReason::timeout, given_up_at}}, .next = given_up_at});
  CHECK(threads.pool.due(start + timeout + 1ms) == Pool::Due{.next = given_up_at});
  CHECK(threads.pool.due(given_up_at - 1ms) == Pool::Due{.next = given_up_at});
  CHECK(threads.pool.due(given_up_at) == Pool::Due{.overdue = {0}});
}

TEST_CASE("the first reason to stop counts, and only a timeout or a cancellation gives a handler up by itself") {
  const auto stop = [](const std::function<void(Threads&)>& first) {
    Threads threads{1};
    threads.pool.submit({task(1, timeout)});
    REQUIRE(threads.next(0) == Next::run);
    first(threads);
    static_cast<void>(threads.pool.stop_all(StopReason::shutdown, start + timeout + 1s));
    return threads.pool.stop_all(StopReason::lease_lost, start + timeout + 2s).at(0);
  };
  CHECK(stop([](Threads& threads) { static_cast<void>(threads.pool.due(start + timeout)); }) ==
        Pool::Stop{0, StopReason::timeout, start + timeout + grace});
  CHECK(stop([](Threads& threads) { static_cast<void>(threads.pool.cancel(1, 1, start + 1s)); }) ==
        Pool::Stop{0, StopReason::cancelled, start + 1s + grace});
  CHECK(stop([](Threads&) {}) == Pool::Stop{0, StopReason::shutdown, never});
}

TEST_CASE("a cancellation reaches the attempt that it names, whether it waits or runs, and no other") {
  Threads threads{1};
  threads.pool.submit({task(1), task(2)});
  REQUIRE(threads.next(0) == Next::run);
  CHECK_FALSE(threads.pool.cancel(1, 2, start));
  CHECK_FALSE(threads.pool.cancel(2, 1, start));
  CHECK(threads.state(0) == SlotState::running);
  REQUIRE(threads.pool.cancel(1, 1, start));
  CHECK(threads.state(0) == SlotState::stopping);
  threads.report(0);
  CHECK(threads.next(0) == Next::cancelled);
  CHECK(threads.runs(0) == 2);
}

TEST_CASE("a task that is cancelled while it waits has no handler to stop or to give up, and is held until reported") {
  Threads threads{1};
  threads.pool.submit({task(1, timeout)});
  CHECK_FALSE(threads.pool.cancel(1, 1, start));
  REQUIRE(threads.next(0) == Next::cancelled);
  CHECK(threads.state(0) == SlotState::reporting);
  CHECK(threads.runs(0) == 1);
  CHECK(threads.pool.due(start + timeout + grace).next == never);
  CHECK(threads.pool.stop_all(StopReason::shutdown, start).empty());
  CHECK(threads.pool.busy_any());
  CHECK(threads.held() == std::vector<TaskId>{1});
  threads.pool.on_reported(*threads.slots[0]);
  CHECK_FALSE(threads.pool.holds_any());
}

TEST_CASE("a handler that was given up ends without a report, and its place is free at once") {
  Threads threads{2};
  threads.pool.submit({task(1), task(2), task(3)});
  REQUIRE(threads.next(0) == Next::run);
  REQUIRE(threads.next(1) == Next::run);
  REQUIRE(threads.pool.cancel(1, 1, start));
  const auto [run, reason] = threads.pool.give_up(0);
  CHECK(run.task.id == 1);
  CHECK(reason == StopReason::cancelled);
  threads.pool.remove(0);
  CHECK(threads.held() == std::vector<TaskId>{3, 2});
  CHECK_FALSE(threads.ended(0));
  threads.pool.add(std::make_shared<Pool::Slot>());
  CHECK(threads.pool.with_handler() == std::vector<std::size_t>{0});  // slot 1 took the index of the slot that is gone
  CHECK(threads.pool.demand() == 0);
}

TEST_CASE("an attempt whose thread broke stays held, is neither stopped nor given up, and nothing waits for it") {
  const auto breaks = [](const std::function<void(Threads&)>& first) {
    Threads threads{2};
    threads.pool.submit({task(1, timeout), task(2)});
    first(threads);
    CHECK(threads.pool.on_broken(*threads.slots[0]));
    CHECK(threads.state(0) == SlotState::broken);
    CHECK_FALSE(threads.pool.busy_any());
    CHECK(threads.pool.demand() == 1);
    CHECK(threads.held() == std::vector<TaskId>{2, 1});
    CHECK(threads.pool.due(start + timeout + grace).stops.empty());
    CHECK(threads.pool.stop_all(StopReason::shutdown, start).empty());
    CHECK(threads.pool.with_handler().empty());
  };
  const auto begin = [](Threads& threads) { REQUIRE(threads.next(0) == Next::run); };
  SECTION("while its handler runs") { breaks(begin); }
  SECTION("after its stop token was set") {
    breaks([&](Threads& threads) {
      begin(threads);
      REQUIRE(threads.pool.cancel(1, 1, start));
    });
  }
  SECTION("before its report was handed on") {
    breaks([&](Threads& threads) {
      begin(threads);
      REQUIRE(threads.ended(0));
    });
  }
}

TEST_CASE("a thread that breaks without an attempt, or after its attempt was given up, leaves the running ones alone") {
  Threads threads{2};
  threads.pool.submit({task(1)});
  REQUIRE(threads.next(0) == Next::run);
  CHECK(threads.pool.on_broken(*threads.slots[1]));
  CHECK(threads.pool.load().busy == 1);
  (void)threads.pool.give_up(0);
  CHECK_FALSE(threads.pool.on_broken(*threads.slots[0]));
  CHECK(threads.pool.load().busy == 0);
}

TEST_CASE("tasks that wait for longer than foreseen are taken back, and none is claimed ahead of busy threads again") {
  Threads threads{2};
  threads.pool.submit({task(1), task(2), task(3)});
  REQUIRE(threads.next(0) == Next::run);
  REQUIRE(threads.ended(0, 1us));
  threads.pool.on_reported(*threads.slots[0]);
  CHECK(threads.pool.demand() > 2);
  CHECK(threads.pool.take_back_older_than(1s, start + 1s - 1ms).empty());
  CHECK(threads.pool.take_back_older_than(1s, start + 1s).size() == 2);
  CHECK(threads.pool.demand() == 2);
}

TEST_CASE("a thread that reports counts as free for the next claim") {
  Threads threads{1};
  threads.pool.submit({task(1)});
  REQUIRE(threads.next(0) == Next::run);
  CHECK(threads.pool.demand() == 0);
  REQUIRE(threads.ended(0));
  CHECK(threads.pool.demand() == 1);
}

namespace {

/// All tasks of a walk, and where each of them went.
struct Walk {
  explicit Walk(const std::vector<int>& events) {
    for (const int event : events) step(event);
  }

  static constexpr int number_of_events = 9;

  void step(int event) {
    now += 1s;
    switch (event) {
      case 0:
        ++submitted;
        threads.pool.submit({task(submitted, submitted % 2 == 0 ? timeout : 0ms)});
        break;
      case 1:
      case 2:
        look(static_cast<std::size_t>(event - 1));
        break;
      case 3:
      case 4:
        end(static_cast<std::size_t>(event - 3));
        break;
      case 5:
        static_cast<void>(threads.pool.cancel(submitted, 1, now));
        break;
      case 6:
        now += timeout + grace;
        give_up(threads.pool.due(now).overdue);
        break;
      case 7:
        gone += threads.pool.take_back().size();
        break;
      case 8:
        static_cast<void>(threads.pool.stop_all(StopReason::shutdown, now));
        closed = true;
        break;
      default:
        break;
    }
  }

  /// Thread `i` looks for a task, if it has none.
  void look(std::size_t i) {
    if (threads.state(i) != SlotState::idle) return;
    const Next next = threads.pool.next(*threads.slots[i], now, never);
    if (closed) CHECK(next == Next::wait);
    if (next != Next::cancelled) return;
    threads.pool.on_reported(*threads.slots[i]);
    ++gone;
  }

  /// The handler of thread `i` ends, if one runs, and its report is handed on.
  void end(std::size_t i) {
    if (threads.state(i) == SlotState::idle) return;
    if (!threads.pool.on_ended(*threads.slots[i], 1s)) {
      threads.slots[i] = std::make_shared<Pool::Slot>();  // the thread that took its place
      threads.pool.add(threads.slots[i]);
      return;
    }
    threads.pool.on_reported(*threads.slots[i]);
    ++gone;
  }

  void give_up(const std::vector<std::size_t>& overdue) {
    for (const std::size_t index : overdue) {
      CHECK(threads.pool.give_up(index).second != StopReason::shutdown);
      threads.pool.remove(index);
      ++gone;  // reported without its handler
    }
  }

  Threads threads{2};
  TimePoint now = start;
  TaskId submitted = 0;
  std::size_t gone = 0;
  bool closed = false;
};

}  // namespace

TEST_CASE("each task of every sequence of events is in one place until it is reported or taken back once",
          "[one_thread]") {
  std::size_t walks = 0;
  std::vector<int> events;
  const std::function<void()> walk = [&] {
    ++walks;
    const Walk walked{events};
    const std::vector<TaskId> held = walked.threads.held();
    const bool once =
        std::all_of(held.begin(), held.end(), [&](TaskId id) { return std::count(held.begin(), held.end(), id) == 1; });
    const std::size_t running = walked.threads.pool.with_handler().size();
    if (!once || held.size() + walked.gone != static_cast<std::size_t>(walked.submitted) || running > 2 ||
        running != walked.threads.pool.load().busy) {
      INFO("events: " << Catch::Detail::stringify(events));
      FAIL("held " << held.size() << ", gone " << walked.gone << ", submitted " << walked.submitted << ", running "
                   << running);
    }
    if (events.size() == 5) return;
    for (int event = 0; event < Walk::number_of_events; ++event) {
      events.push_back(event);
      walk();
      events.pop_back();
    }
  };
  walk();
  CHECK(walks == 1 + 9 + 81 + 729 + 6561 + 59049);
}
