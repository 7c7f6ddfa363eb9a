// Policies built in one expression.
#include <string>
#include <type_traits>

#include <dogged/policy.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;

static_assert(std::is_aggregate_v<Fixed> && std::is_aggregate_v<Linear> && std::is_aggregate_v<Exponential>);

TEST_CASE("a built policy equals the one with designated initialisers") {
  constexpr Exponential built =
      exponential(1s).with_multiplier(3).with_max_delay(60s).with_max_retries(4).with_jitter(Jitter::full());
  CHECK(built ==
        Exponential{.base = 1s, .multiplier = 3, .max_retries = 4, .max_delay = 60s, .jitter = Jitter::full()});
  CHECK(linear(1s, 500ms).with_max_retries(5).with_max_delay(2s).with_jitter(Jitter::none()) ==
        Linear{.initial = 1s, .increment = 500ms, .max_retries = 5, .max_delay = 2s, .jitter = Jitter::none()});
  CHECK(fixed(1s).with_max_retries(5).with_max_delay(2s).with_jitter(Jitter::absolute(5ms)) ==
        Fixed{.interval = 1s, .max_retries = 5, .max_delay = 2s, .jitter = Jitter::absolute(5ms)});
}

TEST_CASE("exponential() makes 5 attempts, from 100 ms doubled to at most 5 min") {
  CHECK(policy_to_text(exponential()) == "exponential base=100ms max_retries=4 max_delay=5m jitter=25%");
  CHECK(exponential().multiplier == 2);
  CHECK(exponential(1s) ==
        Exponential{
            .base = 1s, .multiplier = 2, .max_retries = 4, .max_delay = 5min, .jitter = Jitter::proportional(0.25)});
  CHECK(exponential(10min).max_delay == 10min);  // a base is not cut
  CHECK(exponential(10min).with_max_delay(1min).max_delay == 1min);
}

TEST_CASE("a policy built without with_max_retries makes 4 retries") {
  CHECK(max_retries(fixed(1s)) == 4);
  CHECK(max_retries(linear(1s, 0s)) == 4);
  CHECK(max_retries(exponential(1s)) == 4);
  CHECK_NOTHROW(require_valid(fixed(1s)));
  CHECK_NOTHROW(require_valid(linear(1s, 0s)));
  CHECK_NOTHROW(require_valid(exponential(1s)));
}

TEST_CASE("a with_ function leaves the policy that it is called on as it was") {
  constexpr Exponential policy = exponential(1s);
  CHECK(policy.with_multiplier(5).multiplier == 5);
  CHECK(policy == exponential(1s));
}

TEST_CASE("a built policy that is out of its limits is refused when it is used") {
  CHECK_THROWS_AS(require_valid(exponential(1s).with_max_retries(21)), InvalidPolicy);
  CHECK_THROWS_AS(require_valid(exponential(1s).with_multiplier(0.5)), InvalidPolicy);
  CHECK_THROWS_AS(require_valid(fixed(0ms)), InvalidPolicy);
}
