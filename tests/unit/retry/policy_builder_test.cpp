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

TEST_CASE("a policy built without with_max_retries makes 2 retries") {
  CHECK(max_retries(fixed(1s)) == 2);
  CHECK(max_retries(linear(1s, 0s)) == 2);
  CHECK(max_retries(exponential(1s)) == 2);
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
