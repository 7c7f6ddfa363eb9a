// The circuit breaker of one process.
#include <atomic>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <dogged/circuit_breaker.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;

namespace {

constexpr CircuitBreakerSettings settings{.failure_threshold = 2, .recovery_timeout = 30s, .success_threshold = 2};

/// A breaker with a clock that stands still and a record of its changes.
struct Bench {
  std::chrono::steady_clock::time_point now{};
  std::vector<std::string> changes = {};
  CircuitBreaker breaker{settings,
                         {.on_change =
                              [this](const CircuitChange& change) {
                                changes.push_back(std::string{to_text(change.from)} + " " +
                                                  std::string{to_text(change.to)} + " " +
                                                  std::to_string(change.number));
                              },
                          .now = [this] { return now; }}};

  void fail() { breaker.acquire().failed(); }
  void open() {
    fail();
    fail();
  }
  void half_open() {
    open();
    now += 30s;
  }
};

struct Expected {
  bool is_good;
  [[nodiscard]] bool has_value() const { return is_good; }
  [[nodiscard]] int operator*() const { return 1; }
  [[nodiscard]] int error() const { return 2; }
};

}  // namespace

TEST_CASE("settings of a breaker out of their limits are refused with the field, the value and the limit") {
  const auto refused = [](const CircuitBreakerSettings& bad, const std::string& field, const std::string& message) {
    try {
      const CircuitBreaker breaker{bad};
      FAIL("was accepted");
    } catch (const InvalidPolicy& error) {
      CHECK(error.field() == field);
      CHECK(error.what() == message);
    }
  };
  refused({.failure_threshold = 0}, "failure_threshold", "failure_threshold is 0; it must be 1 to 1000");
  refused({.failure_threshold = 1001}, "failure_threshold", "failure_threshold is 1001; it must be 1 to 1000");
  refused({.success_threshold = std::numeric_limits<int>::min()}, "success_threshold",
          "success_threshold is -2147483648; it must be 1 to 1000");
  refused({.recovery_timeout = 0ms}, "recovery_timeout", "recovery_timeout is 0ms; it must be 1ms to 24h");
  refused({.recovery_timeout = 24h + 1ms}, "recovery_timeout", "recovery_timeout is 24h1ms; it must be 1ms to 24h");
  CHECK_NOTHROW(CircuitBreaker{{1000, 24h, 1000}});
  CHECK_NOTHROW(CircuitBreaker{{1, 1ms, 1}});
}

TEST_CASE("a breaker opens after its threshold of failures in a row, and not before") {
  Bench bench;
  bench.fail();
  bench.breaker.acquire().succeeded();
  bench.fail();
  CHECK(bench.breaker.state() == CircuitState::closed);
  bench.fail();
  CHECK(bench.breaker.state() == CircuitState::open);
}

TEST_CASE("a breaker that is open lets nothing through, and says for how long") {
  Bench bench;
  bench.open();
  bench.now += 10s;
  const auto permit = bench.breaker.acquire();
  CHECK_FALSE(permit);
  CHECK(permit.retry_after() == 20s);
  int calls = 0;
  try {
    bench.breaker.run([&] { ++calls; });
    FAIL("was let through");
  } catch (const CircuitOpen& refused) {
    CHECK(refused.retry_after() == 20s);
    CHECK(std::string{refused.what()} == "the circuit breaker is open; ask again in 20s");
  }
  CHECK(calls == 0);
}

TEST_CASE("a half-open breaker lets as many probes through at once as have to succeed") {
  Bench bench;
  bench.half_open();
  auto first = bench.breaker.acquire();
  auto second = bench.breaker.acquire();
  CHECK(first);
  CHECK(second);
  CHECK_FALSE(bench.breaker.acquire());
  first.succeeded();
  CHECK(bench.breaker.state() == CircuitState::half_open);
  second.succeeded();
  CHECK(bench.breaker.state() == CircuitState::closed);
}

TEST_CASE("one probe that fails opens a breaker again") {
  Bench bench;
  bench.half_open();
  bench.breaker.acquire().succeeded();
  bench.fail();
  CHECK(bench.breaker.state() == CircuitState::open);
  CHECK(bench.breaker.acquire().retry_after() == 30s);
}

TEST_CASE("a probe that ends without a report gives its place back") {
  Bench bench;
  bench.half_open();
  for (int i = 0; i < 10; ++i) CHECK(bench.breaker.acquire());
  CHECK(bench.breaker.state() == CircuitState::half_open);
}

TEST_CASE("probes that do not report in time do not block a breaker, and are heard while it is half-open") {
  Bench bench;
  bench.half_open();
  auto late = bench.breaker.acquire();
  auto later = bench.breaker.acquire();
  CHECK(bench.breaker.acquire().retry_after() == 30s);
  bench.now += 30s;
  auto probe = bench.breaker.acquire();
  CHECK(probe);
  SECTION("a success") {
    late.succeeded();
    CHECK(bench.breaker.state() == CircuitState::half_open);
    probe.succeeded();
    CHECK(bench.breaker.state() == CircuitState::closed);
    later.failed();
    CHECK(bench.breaker.state() == CircuitState::closed);
  }
  SECTION("a failure") {
    late.failed();
    CHECK(bench.breaker.state() == CircuitState::open);
    probe.succeeded();
    later.succeeded();
    CHECK(bench.breaker.state() == CircuitState::open);
  }
}

TEST_CASE("a call that was let through before a breaker opened is not taken for a probe") {
  Bench bench;
  auto early = bench.breaker.acquire();
  bench.half_open();
  auto probe = bench.breaker.acquire();
  early.failed();
  CHECK(bench.breaker.state() == CircuitState::half_open);
}

TEST_CASE("a permit reports once, and a moved one through its new owner") {
  Bench bench;
  auto permit = bench.breaker.acquire();
  auto owner = std::move(permit);
  permit.failed();  // NOLINT(bugprone-use-after-move): that it does nothing is the promise
  owner.failed();
  owner.failed();
  CHECK(bench.breaker.state() == CircuitState::closed);
  owner = bench.breaker.acquire();
  owner.failed();
  CHECK(bench.breaker.state() == CircuitState::open);
}

TEST_CASE("run counts exceptions and results without a value as failures, and passes both on") {
  Bench bench;
  CHECK(bench.breaker.run([] { return 7; }) == 7);
  CHECK_THROWS_AS(bench.breaker.run([]() -> int { throw std::out_of_range{"x"}; }), std::out_of_range);
  CHECK(bench.breaker.run([] { return Expected{false}; }).error() == 2);
  CHECK(bench.breaker.state() == CircuitState::open);
}

TEST_CASE("run counts a success") {
  Bench bench;
  bench.half_open();
  bench.breaker.run([] {});
  CHECK(*bench.breaker.run([] { return Expected{true}; }) == 1);
  CHECK(bench.breaker.state() == CircuitState::closed);
}

TEST_CASE("a breaker that was forced open stays so until it is reset") {
  Bench bench;
  bench.breaker.force_open();
  bench.now += 24h;
  CHECK_FALSE(bench.breaker.acquire());
  CHECK(bench.breaker.acquire().retry_after() == std::nullopt);
  bench.breaker.reset();
  CHECK(bench.breaker.acquire());
}

TEST_CASE("a reset forgets the failures, and those of calls that are under way") {
  Bench bench;
  bench.fail();
  auto under_way = bench.breaker.acquire();
  bench.breaker.reset();
  under_way.failed();
  bench.fail();
  CHECK(bench.breaker.state() == CircuitState::closed);
}

TEST_CASE("each change of state is told once, with its number") {
  Bench bench;
  bench.half_open();
  bench.breaker.acquire().succeeded();
  bench.breaker.acquire().succeeded();
  bench.breaker.force_open();
  bench.breaker.force_open();
  bench.breaker.reset();
  bench.breaker.reset();
  CHECK(bench.changes == std::vector<std::string>{"closed open 1", "open half_open 2", "half_open closed 3",
                                                  "closed open 4", "open closed 5"});
}

TEST_CASE("a callback may call its breaker") {
  CircuitBreaker* self = nullptr;
  CircuitBreaker breaker{{.failure_threshold = 1}, {.on_change = [&](const CircuitChange& change) {
                           if (change.to == CircuitState::open) self->reset();
                         }}};
  self = &breaker;
  breaker.acquire().failed();
  CHECK(breaker.state() == CircuitState::closed);
}

TEST_CASE("a callback that throws changes nothing for the call, and its exception is kept") {
  CircuitBreaker breaker{{.failure_threshold = 1},
                         {.on_change = [](const CircuitChange&) { throw std::runtime_error{"callback"}; }}};
  CHECK(breaker.callback_error() == nullptr);
  CHECK_THROWS_AS(breaker.run([] { throw std::out_of_range{"call"}; }), std::out_of_range);
  CHECK(breaker.state() == CircuitState::open);
  CHECK_THROWS_WITH(std::rethrow_exception(breaker.callback_error()), "callback");
}

TEST_CASE("a closed breaker asks no clock for what succeeds") {
  CircuitBreaker breaker{{},
                         {.now = []() -> std::chrono::steady_clock::time_point { throw std::logic_error{"asked"}; }}};
  CHECK_NOTHROW(breaker.acquire().succeeded());
}

TEST_CASE("threads that share a half-open breaker never have more probes out than it allows") {
  std::atomic<std::int64_t> now_s{0};
  CircuitBreaker breaker{
      settings, {.now = [&] { return std::chrono::steady_clock::time_point{std::chrono::seconds{now_s.load()}}; }}};
  breaker.acquire().failed();
  breaker.acquire().failed();
  now_s = 30;
  std::atomic<int> out{0};
  std::atomic<int> most{0};
  std::atomic<int> probes{0};
  const auto ask = [&] {
    for (int i = 0; i < 2000; ++i) {
      auto permit = breaker.acquire();
      if (!permit) continue;
      const int now_out = ++out;
      for (int seen = most; now_out > seen && !most.compare_exchange_weak(seen, now_out);) {
      }
      ++probes;
      std::this_thread::yield();
      --out;
      permit.abandon();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(ask);
  for (std::thread& thread : threads) thread.join();
  CHECK(probes > 0);
  CHECK(most <= settings.success_threshold);
  CHECK(breaker.state() == CircuitState::half_open);
}
