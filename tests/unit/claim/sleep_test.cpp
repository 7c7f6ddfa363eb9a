// When the claimer's row says that it sleeps, and when it looks without having been told.
#include "claim/core/sleep.hpp"

#include <chrono>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using Ask = Sleep::Ask;
using Look = Sleep::Look;
using State = Sleep::State;
using dogged::test::start;

namespace {

constexpr milliseconds poll_interval = 10s;

/// A sleeper that has set its flag while transactions from `oldest` on were open.
Sleep sleeper(std::int64_t oldest, std::int64_t next) {
  Sleep sleep{true, poll_interval, start};
  REQUIRE(sleep.before_wait(start, true) == Ask::fall_asleep);
  sleep.on_asleep({oldest, next}, start);
  sleep.on_look_everywhere(start);
  return sleep;
}

void notify_often(Sleep& sleep, TimePoint now) {
  for (int i = 0; i < 20; ++i) sleep.on_notified(1, now);
}

}  // namespace

TEST_CASE("a claimer with more than it can take stays awake, and one with an empty queue asks to fall asleep") {
  Sleep sleep{true, poll_interval, start};
  CHECK(sleep.before_wait(start, false) == Ask::nothing);
  CHECK(sleep.state() == State::busy);
  CHECK(sleep.before_wait(start, true) == Ask::fall_asleep);
  CHECK_FALSE(sleep.row_says_asleep());
}

TEST_CASE("a claimer that hears no notifications asks for none, and looks each poll_interval interval") {
  Sleep sleep{false, poll_interval, start};
  CHECK(sleep.before_wait(start, true) == Ask::nothing);
  CHECK(sleep.looks_at() == start + poll_interval);
  CHECK(sleep.take_look(start + poll_interval - 1ms) == Look::nowhere);
  CHECK(sleep.take_look(start + poll_interval) == Look::everywhere);
  CHECK(sleep.take_look(start + poll_interval) == Look::nowhere);
}

TEST_CASE("a claimer is asleep at once where no transaction is open that could have missed its flag") {
  Sleep sleep = sleeper(7, 7);
  CHECK(sleep.state() == State::asleep);
  CHECK(sleep.before_wait(start, true) == Ask::nothing);
  CHECK(sleep.looks_at() == start + poll_interval);
  CHECK(sleep.take_look(start + poll_interval) == Look::for_missed);
}

TEST_CASE("a claimer that falls asleep looks again and again until all transactions have ended that were open before") {
  Sleep sleep = sleeper(5, 7);
  TimePoint now = start;
  TimePoint last = now;
  for (int i = 0; i < 8; ++i) {
    CHECK(sleep.state() == State::looked_again);
    CHECK(sleep.before_wait(now, true) == Ask::oldest_transaction);
    sleep.on_oldest_transaction(6, now);
    CHECK(sleep.state() == State::falling_asleep);
    CHECK(sleep.before_wait(now, true) == Ask::nothing);  // one question for each look
    CHECK(sleep.looks_at() > now);
    CHECK(sleep.looks_at() - now <= std::max<SteadyClock::duration>(2ms, 2 * (now - start)));
    last = now;
    now = sleep.looks_at();
    CHECK(sleep.take_look(now) == Look::everywhere);
    sleep.on_look_everywhere(now);
  }
  CHECK(now - last > 100ms);  // it waits longer and longer
  CHECK(sleep.before_wait(now, true) == Ask::oldest_transaction);
  sleep.on_oldest_transaction(7, now);
  CHECK(sleep.state() == State::asleep);
  CHECK(sleep.looks_at() == now);  // the last of them may have committed after the last look
  CHECK(sleep.take_look(now) == Look::for_missed);
  CHECK(sleep.looks_at() == now + poll_interval);
}

TEST_CASE("a sleeper wakes for what it cannot take at once, before it waits again") {
  for (Sleep sleep : {sleeper(7, 7), sleeper(5, 7)}) {
    CHECK(sleep.row_says_asleep());
    CHECK(sleep.before_wait(start, false) == Ask::wake_up);
    sleep.on_awake();
    CHECK(sleep.state() == State::busy);
    CHECK(sleep.before_wait(start, false) == Ask::nothing);
  }
}

TEST_CASE(
    "a claimer that is notified often looks by itself, rarer and rarer, until it has found nothing for a second") {
  Sleep sleep = sleeper(7, 7);
  notify_often(sleep, start);
  CHECK(sleep.before_wait(start, true) == Ask::wake_up);
  sleep.on_awake();
  TimePoint now = start;
  for (const milliseconds wait : {2ms, 4ms, 8ms, 16ms, 16ms}) {
    CHECK(sleep.before_wait(now, true) == Ask::nothing);
    CHECK(sleep.state() == State::self_polling);
    CHECK(sleep.looks_at() == now + wait);
    now += wait;
    CHECK(sleep.take_look(now) == Look::in_queues);
  }
  sleep.on_found(now);
  CHECK(sleep.before_wait(now, true) == Ask::nothing);
  CHECK(sleep.looks_at() == now + 2ms);
  CHECK(sleep.before_wait(now + 999ms, true) == Ask::nothing);
  CHECK(sleep.before_wait(now + 1s, true) == Ask::fall_asleep);
}

TEST_CASE("notifications that are spread over time leave a claimer asleep") {
  Sleep sleep = sleeper(7, 7);
  TimePoint now = start;
  for (int i = 0; i < 100; ++i) {
    now += 11ms;
    sleep.on_notified(1, now);
    CHECK(sleep.before_wait(now, true) == Ask::nothing);
  }
  CHECK(sleep.state() == State::asleep);
}

TEST_CASE("after a failure the claimer takes nothing for granted that its row says") {
  for (Sleep sleep : {sleeper(7, 7), sleeper(5, 7)}) {
    sleep.on_failure();
    CHECK(sleep.state() == State::busy);
    CHECK(sleep.before_wait(start, true) == Ask::fall_asleep);
  }
}

TEST_CASE("a claimer that polls by itself looks in time, however often it is about to wait before that") {
  Sleep sleep = sleeper(7, 7);
  notify_often(sleep, start);
  CHECK(sleep.before_wait(start, true) == Ask::wake_up);
  sleep.on_awake();
  CHECK(sleep.before_wait(start, true) == Ask::nothing);
  CHECK(sleep.before_wait(start + 1ms, true) == Ask::nothing);
  CHECK(sleep.looks_at() == start + 2ms);
  CHECK(sleep.take_look(start + 2ms) == Look::in_queues);
}
