// How long workers wait before they try again to reach a server that is away.
#include "db/reconnect_backoff.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "support/catch.hpp"

using namespace dogged;
using namespace std::chrono_literals;

namespace {

/// The jitter of a policy that says nothing of it.
bool is_within_a_quarter(milliseconds delay, milliseconds of) { return delay >= of * 3 / 4 && delay <= of * 5 / 4; }

}  // namespace

TEST_CASE("the waits of a reconnection double from 100 ms, each within a quarter of it") {
  for (int i = 0; i < 100; ++i) {
    db::ReconnectBackoff backoff{1h};
    for (const milliseconds middle : {100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms}) {
      const milliseconds wait = backoff.next();
      CAPTURE(wait.count(), middle.count());
      CHECK(is_within_a_quarter(wait, middle));
    }
  }
}

TEST_CASE("however often a reconnection fails, it waits no longer than its longest wait, and goes on waiting") {
  for (const milliseconds longest : {60s, 5s, 1s}) {
    db::ReconnectBackoff backoff{longest};
    for (int i = 0; i < 11; ++i) static_cast<void>(backoff.next());
    for (int i = 0; i < 1000; ++i) {
      const milliseconds wait = backoff.next();
      REQUIRE(wait <= longest);
      REQUIRE(wait >= longest * 3 / 4);
    }
  }
  CHECK(db::ReconnectBackoff{}.next() <= 125ms);
}

TEST_CASE("a longest wait below 100 ms bounds the first wait of a reconnection as well") {
  db::ReconnectBackoff backoff{10ms};
  for (int i = 0; i < 100; ++i) {
    const milliseconds wait = backoff.next();
    REQUIRE(wait <= 10ms);
    REQUIRE(wait >= 7ms);
  }
}

TEST_CASE("workers that lose the server together do not wait equally long") {
  std::set<milliseconds> waits;
  for (int i = 0; i < 100; ++i) waits.insert(db::ReconnectBackoff{}.next());
  CHECK(waits.size() > 10);  // of the 51 from 75 to 125 ms
  CHECK(*waits.rbegin() - *waits.begin() > 25ms);
}

TEST_CASE("after the server has answered, the waits of a reconnection begin anew") {
  db::ReconnectBackoff backoff;
  for (int i = 0; i < 20; ++i) static_cast<void>(backoff.next());
  backoff.reset();
  CHECK(is_within_a_quarter(backoff.next(), 100ms));
}
