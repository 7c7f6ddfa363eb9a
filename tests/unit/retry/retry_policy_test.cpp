// Policies without a database: their limits, their delays by the formulas, and the range that jitter may use.
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <dogged/detail/policy_rules.hpp>
#include <dogged/error.hpp>
#include <dogged/policy.hpp>

#include "refused_numbers.hpp"
#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using dogged::test::infinity;
using dogged::test::not_a_number;

namespace {

Intervals many_intervals(std::size_t count) {
  Intervals intervals;
  for (std::size_t i = 0; i < count; ++i) intervals.push_back(1s);
  return intervals;
}

struct Refused {
  RetryPolicy policy;
  std::string field;
  std::string message;
};

Refused bad_base(milliseconds base, const std::string& text) {
  return {Exponential{.base = base, .max_retries = 5}, "base", "base is " + text + "; it must be 1ms to 24h"};
}

Refused bad_multiplier(double multiplier, const std::string& text) {
  return {Exponential{.base = 1s, .multiplier = multiplier, .max_retries = 5}, "multiplier",
          "multiplier is " + text + "; it must be 1 to 100"};
}

Refused bad_max_retries(int max_retries) {
  return {Exponential{.base = 1s, .max_retries = max_retries}, "max_retries",
          "max_retries is " + std::to_string(max_retries) + "; it must be 1 to 20"};
}

Refused bad_proportion(double proportion, const std::string& text) {
  return {Fixed{.intervals = {60s}, .jitter = Jitter::proportional(proportion)}, "jitter",
          "jitter has the proportion " + text + "; it must be above 0 and up to 1 (100%)"};
}

Refused bad_amount(milliseconds amount, const std::string& text) {
  return {Fixed{.intervals = {60s}, .jitter = Jitter::absolute(amount)}, "jitter",
          "jitter has the amount " + text + "; it must be 1ms to 24h"};
}

std::vector<Refused> refused_policies() {
  return {
      bad_base(0ms, "0ms"),
      bad_base(-1ms, "-1ms"),
      bad_base(24h + 1ms, "24h1ms"),
      bad_base(milliseconds::min(), "-2562047788015h12m55s808ms"),
      bad_multiplier(0.999, "0.999"),
      bad_multiplier(100.5, "100.5"),
      bad_multiplier(-2, "-2"),
      bad_multiplier(0, "0"),
      bad_multiplier(not_a_number, "nan"),
      bad_multiplier(infinity, "inf"),
      bad_multiplier(-infinity, "-inf"),
      bad_max_retries(0),
      bad_max_retries(-1),
      bad_max_retries(21),
      bad_max_retries(std::numeric_limits<int>::min()),
      bad_proportion(0, "0"),
      bad_proportion(-0.25, "-0.25"),
      bad_proportion(1.01, "1.01"),
      bad_proportion(not_a_number, "nan"),
      bad_proportion(infinity, "inf"),
      bad_amount(0ms, "0ms"),
      bad_amount(-50ms, "-50ms"),
      bad_amount(25h, "25h"),
      {Linear{.initial = 0s, .max_retries = 3}, "initial", "initial is 0ms; it must be 1ms to 24h"},
      {Linear{.initial = 25h, .max_retries = 3}, "initial", "initial is 25h; it must be 1ms to 24h"},
      {Linear{.initial = 1s, .increment = -1s, .max_retries = 3}, "increment", "increment is -1s; it must be 0 to 24h"},
      {Linear{.initial = 1s, .increment = 25h, .max_retries = 3}, "increment", "increment is 25h; it must be 0 to 24h"},
      {Linear{.initial = 1s, .max_retries = 0}, "max_retries", "max_retries is 0; it must be 1 to 20"},
      {Linear{.initial = 1s, .max_retries = 3, .max_delay = 0ms}, "max_delay",
       "max_delay is 0ms; it must be 1ms to 24h"},
      {Exponential{.base = 1s, .max_retries = 3, .max_delay = 24h + 1ms}, "max_delay",
       "max_delay is 24h1ms; it must be 1ms to 24h"},
      {Fixed{.intervals = {1s}, .max_delay = -1s}, "max_delay", "max_delay is -1s; it must be 1ms to 24h"},
      {Fixed{.intervals = {1s, 0s}}, "intervals", "intervals[1] is 0ms; it must be 1ms to 24h"},
      {Fixed{.intervals = {25h, 1s}}, "intervals", "intervals[0] is 25h; it must be 1ms to 24h"},
      {Fixed{.intervals = many_intervals(21)}, "intervals", "intervals has 21 entries; it must have 1 to 20"},
      {Fixed{.interval = 1s, .max_retries = 21}, "max_retries", "max_retries is 21; it must be 1 to 20"},
      {Fixed{.interval = 1s}, "max_retries", "max_retries is 0; it must be 1 to 20"},
      {Fixed{.max_retries = 3}, "interval", "interval is 0ms; it must be 1ms to 24h"},
      {Fixed{.interval = 25h, .max_retries = 3}, "interval", "interval is 25h; it must be 1ms to 24h"},
      {Fixed{}, "intervals", "a fixed policy needs intervals, or interval with max_retries; it has neither"},
      {Fixed{.intervals = {1s}, .interval = 1s}, "intervals",
       "a fixed policy takes either intervals, or interval with max_retries; it has both: leave one out"},
      {Fixed{.intervals = {1s}, .max_retries = 1}, "intervals",
       "a fixed policy takes either intervals, or interval with max_retries; it has both: leave one out"},
  };
}

std::vector<RetryPolicy> policies_at_their_limits() {
  return {
      NoRetry{},
      default_retry_policy,
      Fixed{.intervals = many_intervals(20)},
      Fixed{.intervals = {1ms, 24h}},
      Fixed{.interval = 24h, .max_retries = 20},
      Exponential{.base = 1ms, .multiplier = 1, .max_retries = 1, .max_delay = 1ms},
      Exponential{.base = 24h, .multiplier = 100, .max_retries = 20, .jitter = Jitter::proportional(1)},
      Linear{.initial = 24h, .increment = 24h, .max_retries = 20, .jitter = Jitter::absolute(24h)},
      Linear{.initial = 1ms, .max_retries = 1, .jitter = Jitter::absolute(1ms)},
      Fixed{.intervals = {60s}, .jitter = Jitter::proportional(std::numeric_limits<double>::denorm_min())},
      Exponential{.base = 1h, .max_retries = 3, .max_delay = 1s},  // cut from the first delay on: allowed
  };
}

std::vector<milliseconds> backoffs(const RetryPolicy& policy) {
  std::vector<milliseconds> all;
  for (int retry = 1; retry <= max_retries(policy); ++retry) all.push_back(delay_range(policy, retry)->backoff);
  return all;
}

DelayRange first_range(const RetryPolicy& policy) { return delay_range(policy, 1).value(); }

Fixed once(milliseconds delay, Jitter jitter, milliseconds max_delay = limits::max_delay) {
  return {.intervals = {delay}, .max_delay = max_delay, .jitter = jitter};
}

}  // namespace

TEST_CASE("a policy out of its limits is refused with the field, the value and the limit") {
  for (const Refused& refused : refused_policies()) {
    CAPTURE(refused.message);
    try {
      require_valid(refused.policy);
      FAIL("was accepted");
    } catch (const InvalidPolicy& error) {
      CHECK(error.field() == refused.field);
      CHECK(std::string{error.what()} == refused.message);
    }
  }
}

TEST_CASE("a policy at its limits is accepted") {
  for (const RetryPolicy& policy : policies_at_their_limits()) CHECK_NOTHROW(require_valid(policy));
}

TEST_CASE("every use of a policy out of its limits is refused") {
  for (const Refused& refused : refused_policies()) {
    CAPTURE(refused.message);
    CHECK_THROWS_AS(next_delay(refused.policy, 1, 0.5), InvalidPolicy);
    CHECK_THROWS_AS(delay_range(refused.policy, 1), InvalidPolicy);
    CHECK_THROWS_AS(policy_to_text(refused.policy), InvalidPolicy);
    CHECK_THROWS_AS(policy_to_json(refused.policy), InvalidPolicy);
  }
}

TEST_CASE("the rules hold in constant expressions") {
  STATIC_REQUIRE_FALSE(detail::find_mistake(NoRetry{}));
  STATIC_REQUIRE_FALSE(detail::find_mistake(default_retry_policy));
  STATIC_REQUIRE(detail::find_mistake(Exponential{.base = 1s, .multiplier = not_a_number, .max_retries = 1})->rule ==
                 detail::PolicyRule::multiplier_is_not_between_1_and_100);
  STATIC_REQUIRE(detail::find_mistake(Fixed{.intervals = {1s, 2s, 0s}})->index == 2);
}

TEST_CASE("max_retries is 0 for none, the length of intervals, or the field") {
  CHECK(max_retries(NoRetry{}) == 0);
  CHECK(max_retries(default_retry_policy) == 3);
  CHECK(max_retries(Fixed{.interval = 1s, .max_retries = 7}) == 7);
  CHECK(max_retries(Exponential{.base = 1s, .max_retries = 20}) == 20);
  CHECK(max_retries(Linear{.initial = 1s, .max_retries = 4}) == 4);
}

TEST_CASE("backoffs follow the formulas") {
  using Delays = std::vector<milliseconds>;
  CHECK(backoffs(NoRetry{}) == Delays{});
  CHECK(backoffs(default_retry_policy) == Delays{60s, 300s, 900s});
  CHECK(backoffs(Fixed{.interval = 60s, .max_retries = 3}) == Delays{60s, 60s, 60s});
  CHECK(backoffs(Exponential{.base = 30s, .max_retries = 5}) == Delays{30s, 60s, 120s, 240s, 480s});
  CHECK(backoffs(Exponential{.base = 1s, .multiplier = 1, .max_retries = 3}) == Delays{1s, 1s, 1s});
  CHECK(backoffs(Exponential{.base = 10s, .multiplier = 3, .max_retries = 3}) == Delays{10s, 30s, 90s});
  CHECK(backoffs(Linear{.initial = 1s, .increment = 5s, .max_retries = 4}) == Delays{1s, 6s, 11s, 16s});
  CHECK(backoffs(Linear{.initial = 2s, .max_retries = 2}) == Delays{2s, 2s});
}

TEST_CASE("a backoff is rounded to the nearest millisecond") {
  using Delays = std::vector<milliseconds>;
  CHECK(backoffs(Exponential{.base = 1ms, .multiplier = 1.5, .max_retries = 4}) == Delays{1ms, 2ms, 2ms, 3ms});
  CHECK(backoffs(Exponential{.base = 1ms, .multiplier = 1.4, .max_retries = 3}) == Delays{1ms, 1ms, 2ms});
}

TEST_CASE("a backoff is cut at max_delay, from the first one on if that is longer") {
  using Delays = std::vector<milliseconds>;
  CHECK(backoffs(Exponential{.base = 30s, .max_retries = 4, .max_delay = 100s}) == Delays{30s, 60s, 100s, 100s});
  CHECK(backoffs(Linear{.initial = 30s, .increment = 30s, .max_retries = 3, .max_delay = 45s}) ==
        Delays{30s, 45s, 45s});
  CHECK(backoffs(Fixed{.intervals = {60s, 10s, 900s}, .max_delay = 30s}) == Delays{30s, 10s, 30s});
  CHECK(backoffs(Exponential{.base = 24h, .multiplier = 100, .max_retries = 20}) == Delays(20, 24h));
}

TEST_CASE("jitter ranges are as documented") {
  CHECK(first_range(once(30s, Jitter::none())) == DelayRange{30s, 30s, 30s});
  CHECK(first_range(once(30s, Jitter::proportional(0.25))) == DelayRange{22'500ms, 30s, 37'500ms});
  CHECK(first_range(once(30s, Jitter::proportional(1))) == DelayRange{1ms, 30s, 60s});
  CHECK(first_range(once(30s, Jitter::absolute(50ms))) == DelayRange{29'950ms, 30s, 30'050ms});
  CHECK(first_range(once(30s, Jitter::full())) == DelayRange{1ms, 30s, 30s});
}

TEST_CASE("a jitter range is at least 1 ms, never above max_delay, and whole milliseconds inside the real bounds") {
  CHECK(first_range(once(20ms, Jitter::absolute(50ms))) == DelayRange{1ms, 20ms, 70ms});
  CHECK(first_range(once(30s, Jitter::proportional(0.25), 30s)) == DelayRange{22'500ms, 30s, 30s});
  CHECK(first_range(once(30s, Jitter::absolute(10s), 35s)) == DelayRange{20s, 30s, 35s});
  CHECK(first_range(once(10ms, Jitter::proportional(0.25))) == DelayRange{8ms, 10ms, 12ms});  // 7.5 to 12.5
  CHECK(first_range(once(1ms, Jitter::proportional(0.25))) == DelayRange{1ms, 1ms, 1ms});
  CHECK(first_range(once(24h, Jitter::absolute(24h))) == DelayRange{1ms, 24h, 24h});
}

TEST_CASE("the draw chooses in the range: 0 the shortest, 0.5 the middle, the last the longest") {
  const Fixed policy = once(30s, Jitter::proportional(0.25));
  CHECK(next_delay(policy, 1, 0.0) == RetryDelay{30s, 22'500ms});
  CHECK(next_delay(policy, 1, 0.5) == RetryDelay{30s, 30s});
  CHECK(next_delay(policy, 1, std::nextafter(1.0, 0.0)) == RetryDelay{30s, 37'500ms});
  CHECK(next_delay(policy, 1, 1.0) == RetryDelay{30s, 37'500ms});
}

TEST_CASE("draws spread evenly over every millisecond of the range, cut or not") {
  const Fixed uncut = once(10ms, Jitter::absolute(5ms));
  const Fixed cut = once(10ms, Jitter::absolute(5ms), 12ms);
  for (const auto& [policy, values] : {std::pair{uncut, 11}, std::pair{cut, 8}}) {
    std::array<int, 16> times{};
    const int draws = 1000 * values;
    for (int i = 0; i < draws; ++i) {
      const double draw = (i + 0.5) / draws;
      ++times.at(static_cast<std::size_t>(next_delay(policy, 1, draw)->delay.count()));
    }
    for (int ms = 5; ms < 5 + values; ++ms) CHECK(times.at(static_cast<std::size_t>(ms)) == 1000);
  }
}

TEST_CASE("there is no delay after the last retry") {
  CHECK_FALSE(next_delay(NoRetry{}, 1, 0.5));
  CHECK_FALSE(delay_range(NoRetry{}, 1));
  CHECK(next_delay(default_retry_policy, 3, 0.5));
  CHECK_FALSE(next_delay(default_retry_policy, 4, 0.5));
  CHECK_FALSE(delay_range(default_retry_policy, std::numeric_limits<int>::max()));
}

TEST_CASE("a retry below 1 or a draw outside [0, 1] is refused, not guessed") {
  CHECK_THROWS_AS(next_delay(default_retry_policy, 0, 0.5), InvalidInput);
  CHECK_THROWS_AS(delay_range(default_retry_policy, -1), InvalidInput);
  for (double draw : {not_a_number, infinity, -0.1, 1.1}) {
    CAPTURE(draw);
    CHECK_THROWS_AS(next_delay(default_retry_policy, 1, draw), InvalidInput);
  }
}
