// The properties of every policy, not only of those that someone thought of.
// rapidcheck prints a small policy that breaks a property, and a seed to repeat it (RC_PARAMS="seed=…").
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <ostream>
#include <string>

#include <nlohmann/json.hpp>
#include <rapidcheck.h>

#include <dogged/policy.hpp>

#include "retry/duration.hpp"
#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;

namespace {

/// 1 ms to 24 h, short and long ones alike.
rc::Gen<milliseconds> any_delay() {
  const auto up_to = [](milliseconds most) {
    return rc::gen::map(rc::gen::inRange<std::int64_t>(1, most.count() + 1),
                        [](std::int64_t count) { return milliseconds{count}; });
  };
  return rc::gen::oneOf(up_to(10ms), up_to(10s), up_to(24h), rc::gen::element<milliseconds>(1ms, 24h));
}

/// All multiples of 2^-53 in [0, 1), as random number generators give them, the ends often.
rc::Gen<double> any_draw() {
  const auto draw = rc::gen::map(rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 53),
                                 [](std::int64_t n) { return std::ldexp(static_cast<double>(n), -53); });
  return rc::gen::oneOf(draw, rc::gen::element(0.0, 0.5, std::nextafter(1.0, 0.0)));
}

/// (0, 1]
rc::Gen<double> any_proportion() {
  return rc::gen::map(any_draw(), [](double draw) { return 1.0 - draw; });
}

rc::Gen<double> any_multiplier() {
  const auto between = rc::gen::map(any_draw(), [](double draw) { return 1.0 + 99.0 * draw; });
  return rc::gen::oneOf(between, rc::gen::element(1.0, std::nextafter(1.0, 2.0), 1.5, 2.0, 100.0));
}

rc::Gen<int> any_max_retries() { return rc::gen::inRange(1, limits::max_retries + 1); }

rc::Gen<Jitter> any_jitter() {
  return rc::gen::oneOf(
      rc::gen::just(Jitter::none()), rc::gen::just(Jitter::full()), rc::gen::just(Jitter::proportional(0.25)),
      rc::gen::map(any_proportion(), &Jitter::proportional), rc::gen::map(any_delay(), &Jitter::absolute));
}

rc::Gen<RetryPolicy> any_fixed() {
  return rc::gen::exec([]() -> RetryPolicy {
    Fixed policy{.max_delay = *any_delay(), .jitter = *any_jitter()};
    if (*rc::gen::arbitrary<bool>()) {
      policy.interval = *any_delay();
      policy.max_retries = *any_max_retries();
    } else {
      for (int left = *any_max_retries(); left > 0; --left) policy.intervals.push_back(*any_delay());
    }
    return policy;
  });
}

rc::Gen<RetryPolicy> any_exponential() {
  return rc::gen::exec([]() -> RetryPolicy {
    return Exponential{.base = *any_delay(),
                       .multiplier = *any_multiplier(),
                       .max_retries = *any_max_retries(),
                       .max_delay = *any_delay(),
                       .jitter = *any_jitter()};
  });
}

rc::Gen<RetryPolicy> any_linear() {
  return rc::gen::exec([]() -> RetryPolicy {
    return Linear{.initial = *any_delay(),
                  .increment = *rc::gen::oneOf(rc::gen::just(0ms), any_delay()),
                  .max_retries = *any_max_retries(),
                  .max_delay = *any_delay(),
                  .jitter = *any_jitter()};
  });
}

rc::Gen<RetryPolicy> any_retrying_policy() { return rc::gen::oneOf(any_fixed(), any_exponential(), any_linear()); }

rc::Gen<RetryPolicy> any_policy() {
  return rc::gen::oneOf(rc::gen::just<RetryPolicy>(NoRetry{}), any_retrying_policy());
}

int any_retry_of(const RetryPolicy& policy) { return *rc::gen::inRange(1, max_retries(policy) + 1); }

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

template <class Value>
nlohmann::json json_of(const Value& value) {
  return value;
}

}  // namespace

namespace rc {
template <>
struct Arbitrary<RetryPolicy> {
  static Gen<RetryPolicy> arbitrary() { return any_policy(); }
};
}  // namespace rc

namespace dogged {
void showValue(const RetryPolicy& policy, std::ostream& out) { out << policy_to_text(policy); }
}  // namespace dogged

TEST_CASE("properties of every valid policy") {
  SECTION("a delay is at least 1 ms, never above max_delay, and inside its range") {
    REQUIRE(rc::check([] {
      const RetryPolicy policy = *any_retrying_policy();
      const int retry = any_retry_of(policy);
      const auto delay = next_delay(policy, retry, *any_draw());
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
    REQUIRE(rc::check([] {
      const RetryPolicy policy = *any_retrying_policy();
      const auto delay = next_delay(policy, any_retry_of(policy), *any_draw());
      RC_ASSERT(is_within_jitter(jitter_of(policy), delay->backoff, delay->delay));
    }));
  }

  SECTION("both ends of the range are drawn") {
    REQUIRE(rc::check([] {
      const RetryPolicy policy = *any_retrying_policy();
      const int retry = any_retry_of(policy);
      const auto range = delay_range(policy, retry);
      RC_ASSERT(next_delay(policy, retry, 0.0)->delay == range->shortest);
      RC_ASSERT(next_delay(policy, retry, std::nextafter(1.0, 0.0))->delay == range->longest);
    }));
  }

  SECTION("a larger draw never gives a shorter delay") {
    REQUIRE(rc::check([] {
      const RetryPolicy policy = *any_retrying_policy();
      const int retry = any_retry_of(policy);
      const double one = *any_draw();
      const double other = *any_draw();
      RC_ASSERT(next_delay(policy, retry, std::min(one, other))->delay <=
                next_delay(policy, retry, std::max(one, other))->delay);
    }));
  }

  SECTION("a backoff is the formula's, cut at max_delay, to the nearest millisecond") {
    REQUIRE(rc::check([] {
      const RetryPolicy policy = *any_retrying_policy();
      const int retry = any_retry_of(policy);
      const long double exact =
          std::min(formula_ms(policy, retry), static_cast<long double>(max_delay_of(policy).count()));
      const auto backoff = static_cast<long double>(delay_range(policy, retry)->backoff.count());
      RC_ASSERT(std::abs(backoff - exact) <= 0.5L + 1e-6L);
    }));
  }

  SECTION("backoffs of exponential and linear never become shorter") {
    REQUIRE(rc::check([] {
      const RetryPolicy policy = *rc::gen::oneOf(any_exponential(), any_linear());
      for (int retry = 2; retry <= max_retries(policy); ++retry) {
        RC_ASSERT(delay_range(policy, retry - 1)->backoff <= delay_range(policy, retry)->backoff);
      }
    }));
  }

  SECTION("there is a delay for each retry that the policy allows, and none after") {
    REQUIRE(rc::check([](const RetryPolicy& policy) {
      for (int retry = 1; retry <= max_retries(policy); ++retry) {
        RC_ASSERT(next_delay(policy, retry, 0.5).has_value());
      }
      RC_ASSERT(!next_delay(policy, max_retries(policy) + 1, 0.5).has_value());
    }));
  }

  SECTION("the longest policies do not overflow") {
    REQUIRE(rc::check([] {
      const Jitter jitter = *any_jitter();
      const RetryPolicy policy = *rc::gen::element<RetryPolicy>(
          Exponential{.base = 24h, .multiplier = 100, .max_retries = 20, .jitter = jitter},
          Linear{.initial = 24h, .increment = 24h, .max_retries = 20, .jitter = jitter},
          Fixed{.interval = 24h, .max_retries = 20, .jitter = jitter});
      const auto delay = next_delay(policy, 20, *any_draw());
      RC_ASSERT(delay->backoff == 24h);
      RC_ASSERT(delay->delay >= 1ms);
      RC_ASSERT(delay->delay <= 24h);
    }));
  }

  SECTION("text reads back as the same policy") {
    REQUIRE(
        rc::check([](const RetryPolicy& policy) { RC_ASSERT(policy_from_text(policy_to_text(policy)) == policy); }));
  }

  SECTION("JSON reads back as the same policy") {
    REQUIRE(
        rc::check([](const RetryPolicy& policy) { RC_ASSERT(policy_from_json(policy_to_json(policy)) == policy); }));
  }

  SECTION("any duration reads back as the same duration") {
    REQUIRE(rc::check([] {
      const milliseconds duration{*rc::gen::nonNegative<std::int64_t>()};
      RC_ASSERT(duration_from_text(duration_to_text(duration)) == duration);
    }));
  }
}

TEST_CASE("properties of every bad policy") {
  SECTION("a text with any word in place of one of its own is a policy or InvalidPolicy, nothing else") {
    REQUIRE(rc::check([](const RetryPolicy& policy) {
      std::string text = policy_to_text(policy);
      const auto start = *rc::gen::inRange<std::size_t>(0, text.size());
      const auto length = *rc::gen::inRange<std::size_t>(0, text.size() - start + 1);
      text.replace(start, length, *rc::gen::arbitrary<std::string>());
      try {
        RC_ASSERT(policy_from_text(policy_to_text(policy_from_text(text))) == policy_from_text(text));
      } catch (const InvalidPolicy& error) {
        RC_ASSERT(std::string{error.what()}.size() > 10U);
      }
    }));
  }

  SECTION("JSON with any value in place of one of its own is a policy or InvalidPolicy, nothing else") {
    REQUIRE(rc::check([](const RetryPolicy& policy) {
      nlohmann::json json = nlohmann::json::parse(policy_to_json(policy)).flatten();
      auto replaced = json.begin();
      std::advance(replaced, *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(json.size())));
      *replaced =
          *rc::gen::oneOf(rc::gen::map<std::int64_t>(json_of<std::int64_t>), rc::gen::map<double>(json_of<double>),
                          rc::gen::map<bool>(json_of<bool>), rc::gen::map<std::string>(json_of<std::string>));
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
