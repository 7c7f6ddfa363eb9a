// The properties of every policy, not only of those that someone thought of.
// rapidcheck prints a small policy that breaks a property, and a seed to repeat it (RC_PARAMS="seed=…").
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>

#include <nlohmann/json.hpp>

#include <dogged/policy.hpp>

#include "support/catch.hpp"
#include "support/property.hpp"
#include "text/duration.hpp"

using namespace std::chrono_literals;
using namespace dogged;

namespace {

/// 1 ms to 24 h, short and long ones alike.
milliseconds any_delay() {
  switch (test::any_of(4)) {
    case 0:
      return milliseconds{test::any_in_range(1, 11)};
    case 1:
      return milliseconds{test::any_in_range(1, 10'001)};
    case 2:
      return milliseconds{test::any_in_range(1, 86'400'001)};
    default:
      return test::any_of({1ms, milliseconds{24h}});
  }
}

/// All multiples of 2^-53 in [0, 1), as random number generators give them, the ends often.
double any_draw() {
  if (test::any_of(2) == 0) return test::any_of({0.0, 0.5, std::nextafter(1.0, 0.0)});
  return std::ldexp(static_cast<double>(test::any_in_range(0, std::int64_t{1} << 53)), -53);
}

/// (0, 1]
double any_proportion() { return 1.0 - any_draw(); }

double any_multiplier() {
  if (test::any_of(2) == 0) return test::any_of({1.0, std::nextafter(1.0, 2.0), 1.5, 2.0, 100.0});
  return 1.0 + 99.0 * any_draw();
}

int any_max_retries() { return test::any_in_range(1, limits::max_retries + 1); }

Jitter any_jitter() {
  switch (test::any_of(5)) {
    case 0:
      return Jitter::none();
    case 1:
      return Jitter::full();
    case 2:
      return Jitter::proportional(0.25);
    case 3:
      return Jitter::proportional(any_proportion());
    default:
      return Jitter::absolute(any_delay());
  }
}

RetryPolicy any_fixed() {
  Fixed policy{.max_delay = any_delay(), .jitter = any_jitter()};
  if (test::any_bool()) {
    policy.interval = any_delay();
    policy.max_retries = any_max_retries();
  } else {
    for (int left = any_max_retries(); left > 0; --left) policy.intervals.push_back(any_delay());
  }
  return policy;
}

RetryPolicy any_exponential() {
  return Exponential{.base = any_delay(),
                     .multiplier = any_multiplier(),
                     .max_retries = any_max_retries(),
                     .max_delay = any_delay(),
                     .jitter = any_jitter()};
}

RetryPolicy any_linear() {
  return Linear{.initial = any_delay(),
                .increment = test::any_of(2) == 0 ? 0ms : any_delay(),
                .max_retries = any_max_retries(),
                .max_delay = any_delay(),
                .jitter = any_jitter()};
}

/// A policy that a property has drawn; its text is printed if it breaks the property.
RetryPolicy noted(RetryPolicy policy) {
  test::note(policy_to_text(policy));
  return policy;
}

RetryPolicy any_growing_policy() { return noted(test::any_of(2) == 0 ? any_exponential() : any_linear()); }

RetryPolicy any_retrying_policy() {
  switch (test::any_of(3)) {
    case 0:
      return noted(any_fixed());
    case 1:
      return noted(any_exponential());
    default:
      return noted(any_linear());
  }
}

RetryPolicy any_policy() { return test::any_of(2) == 0 ? noted(NoRetry{}) : any_retrying_policy(); }

int any_retry_of(const RetryPolicy& policy) { return test::any_in_range(1, max_retries(policy) + 1); }

milliseconds max_delay_of(const RetryPolicy& policy) {
  return std::visit(
      []<class Policy>(const Policy& chosen) {
        if constexpr (std::is_same_v<Policy, NoRetry> || std::is_same_v<Policy, Custom>) {
          return 0ms;
        } else {
          return milliseconds{chosen.max_delay};
        }
      },
      policy);
}

Jitter jitter_of(const RetryPolicy& policy) {
  return std::visit(
      []<class Policy>(const Policy& chosen) {
        if constexpr (std::is_same_v<Policy, NoRetry> || std::is_same_v<Policy, Custom>) {
          return Jitter::none();
        } else {
          return chosen.jitter;
        }
      },
      policy);
}

/// The documented bounds in exact arithmetic (long double holds a product of 27 and 53 bits), before the
/// limits.
bool is_within_jitter(const Jitter& jitter, milliseconds backoff, milliseconds delay) {
  const auto middle = static_cast<long double>(backoff.count());
  const auto actual = static_cast<long double>(delay.count());
  switch (jitter.kind()) {
    case Jitter::Kind::none:
      return delay == backoff;
    case Jitter::Kind::full:
      return delay <= backoff;
    case Jitter::Kind::absolute:
      return backoff - jitter.amount() <= delay && delay <= backoff + jitter.amount();
    case Jitter::Kind::proportional: {
      const auto proportion = static_cast<long double>(jitter.proportion());
      // One part in 10^15: the proportion that was meant (0.1) and the double that holds it differ by so
      // much.
      const long double slack = middle * 1e-15L;
      return middle - middle * proportion - slack <= actual && actual <= middle + middle * proportion + slack;
    }
  }
  return false;
}

/// The formulas once more, in whole numbers or long double, independent of the code under test.
long double formula_ms(const RetryPolicy& policy, int retry) {
  if (const auto* exponential = std::get_if<Exponential>(&policy)) {
    long double delay = static_cast<long double>(exponential->base.count());
    for (int i = 1; i < retry; ++i) delay *= static_cast<long double>(exponential->multiplier);
    return delay;
  }
  if (const auto* linear = std::get_if<Linear>(&policy)) {
    return static_cast<long double>((linear->initial + linear->increment * (retry - 1)).count());
  }
  const Fixed& fixed = std::get<Fixed>(policy);
  if (fixed.intervals.empty()) return static_cast<long double>(fixed.interval.count());
  return static_cast<long double>(fixed.intervals[static_cast<std::size_t>(retry - 1)].count());
}

nlohmann::json any_scalar() {
  switch (test::any_of(4)) {
    case 0:
      return test::any_integer();
    case 1:
      return test::any_double();
    case 2:
      return test::any_bool();
    default:
      return test::any_text();
  }
}

}  // namespace

TEST_CASE("properties of every valid policy") {
  SECTION("a delay is at least 1 ms, never above max_delay, and inside its range") {
    REQUIRE(test::holds([] {
      const RetryPolicy policy = any_retrying_policy();
      const int retry = any_retry_of(policy);
      const auto delay = next_delay(policy, retry, any_draw());
      const auto range = delay_range(policy, retry);
      RC_ASSERT(delay.has_value());
      RC_ASSERT(delay->delay >= 1ms);
      RC_ASSERT(delay->delay <= max_delay_of(policy));
      RC_ASSERT(delay->backoff == range->backoff);
      RC_ASSERT(range->shortest <= delay->delay);
      RC_ASSERT(delay->delay <= range->longest);
    }));
  }

  SECTION("a delay is inside the bounds that its jitter documents") {
    REQUIRE(test::holds([] {
      const RetryPolicy policy = any_retrying_policy();
      const auto delay = next_delay(policy, any_retry_of(policy), any_draw());
      RC_ASSERT(is_within_jitter(jitter_of(policy), delay->backoff, delay->delay));
    }));
  }

  SECTION("both ends of the range are drawn") {
    REQUIRE(test::holds([] {
      const RetryPolicy policy = any_retrying_policy();
      const int retry = any_retry_of(policy);
      const auto range = delay_range(policy, retry);
      RC_ASSERT(next_delay(policy, retry, 0.0)->delay == range->shortest);
      RC_ASSERT(next_delay(policy, retry, std::nextafter(1.0, 0.0))->delay == range->longest);
    }));
  }

  SECTION("a larger draw never gives a shorter delay") {
    REQUIRE(test::holds([] {
      const RetryPolicy policy = any_retrying_policy();
      const int retry = any_retry_of(policy);
      const double one = any_draw();
      const double other = any_draw();
      RC_ASSERT(next_delay(policy, retry, std::min(one, other))->delay <=
                next_delay(policy, retry, std::max(one, other))->delay);
    }));
  }

  SECTION("a backoff is the formula's, cut at max_delay, to the nearest millisecond") {
    REQUIRE(test::holds([] {
      const RetryPolicy policy = any_retrying_policy();
      const int retry = any_retry_of(policy);
      const long double exact =
          std::min(formula_ms(policy, retry), static_cast<long double>(max_delay_of(policy).count()));
      const auto backoff = static_cast<long double>(delay_range(policy, retry)->backoff.count());
      RC_ASSERT(std::abs(backoff - exact) <= 0.5L + 1e-6L);
    }));
  }

  SECTION("backoffs of exponential and linear never become shorter") {
    REQUIRE(test::holds([] {
      const RetryPolicy policy = any_growing_policy();
      for (int retry = 2; retry <= max_retries(policy); ++retry) {
        RC_ASSERT(delay_range(policy, retry - 1)->backoff <= delay_range(policy, retry)->backoff);
      }
    }));
  }

  SECTION("there is a delay for each retry that the policy allows, and none after") {
    REQUIRE(test::holds([] {
      const RetryPolicy policy = any_policy();
      for (int retry = 1; retry <= max_retries(policy); ++retry) {
        RC_ASSERT(next_delay(policy, retry, 0.5).has_value());
      }
      RC_ASSERT(!next_delay(policy, max_retries(policy) + 1, 0.5).has_value());
    }));
  }

  SECTION("the longest policies do not overflow") {
    REQUIRE(test::holds([] {
      const Jitter jitter = any_jitter();
      const RetryPolicy policy =
          test::any_of<RetryPolicy>({Exponential{.base = 24h, .multiplier = 100, .max_retries = 20, .jitter = jitter},
                                     Linear{.initial = 24h, .increment = 24h, .max_retries = 20, .jitter = jitter},
                                     Fixed{.interval = 24h, .max_retries = 20, .jitter = jitter}});
      const auto delay = next_delay(policy, 20, any_draw());
      RC_ASSERT(delay->backoff == 24h);
      RC_ASSERT(delay->delay >= 1ms);
      RC_ASSERT(delay->delay <= 24h);
    }));
  }

  SECTION("text reads back as the same policy") {
    REQUIRE(test::holds([] {
      const RetryPolicy policy = any_policy();
      RC_ASSERT(policy_from_text(policy_to_text(policy)) == policy);
    }));
  }

  SECTION("JSON reads back as the same policy") {
    REQUIRE(test::holds([] {
      const RetryPolicy policy = any_policy();
      RC_ASSERT(policy_from_json(policy_to_json(policy)) == policy);
    }));
  }

  SECTION("any duration reads back as the same duration") {
    REQUIRE(test::holds([] {
      const milliseconds duration{test::any_integer_from_0()};
      RC_ASSERT(duration_from_text(duration_to_text(duration)) == duration);
    }));
  }
}

TEST_CASE("properties of every bad policy") {
  SECTION("a text with any word in place of one of its own is a policy or InvalidPolicy, nothing else") {
    REQUIRE(test::holds([] {
      const RetryPolicy policy = any_policy();
      std::string text = policy_to_text(policy);
      const auto size = static_cast<std::int64_t>(text.size());
      const std::int64_t start = test::any_in_range(0, size);
      const std::int64_t length = test::any_in_range(0, size - start + 1);
      text.replace(static_cast<std::size_t>(start), static_cast<std::size_t>(length), test::any_text());
      try {
        RC_ASSERT(policy_from_text(policy_to_text(policy_from_text(text))) == policy_from_text(text));
      } catch (const InvalidPolicy& error) {
        RC_ASSERT(std::string{error.what()}.size() > 10U);
      }
    }));
  }

  SECTION("JSON with any value in place of one of its own is a policy or InvalidPolicy, nothing else") {
    REQUIRE(test::holds([] {
      const RetryPolicy policy = any_policy();
      nlohmann::json json = nlohmann::json::parse(policy_to_json(policy)).flatten();
      auto replaced = json.begin();
      std::advance(replaced, test::any_in_range(0, static_cast<std::int64_t>(json.size())));
      *replaced = any_scalar();
      json = json.unflatten();
      try {
        RC_ASSERT(!policy_to_json(policy_from_json(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)))
                       .empty());
      } catch (const InvalidPolicy& error) {
        RC_ASSERT(std::string{error.what()}.size() > 10U);
      }
    }));
  }
}
