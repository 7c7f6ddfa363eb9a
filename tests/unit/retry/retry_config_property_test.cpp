// The properties of every retry config.
#include <cstdint>
#include <string>
#include <vector>

#include <rapidcheck.h>

#include <dogged/retry_config.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;

namespace {

milliseconds any_delay() {
  return milliseconds{*rc::gen::inRange<std::int64_t>(1, *rc::gen::element<std::int64_t>(11, 60'001, 86'400'001))};
}

Jitter any_jitter() {
  const double share = *rc::gen::inRange(1, 101) / 100.0;
  return *rc::gen::element(Jitter::none(), Jitter::full(), Jitter::proportional(share), Jitter::absolute(any_delay()));
}

std::vector<std::string> any_codes() {
  using Codes = std::vector<std::string>;
  return *rc::gen::element(Codes{}, Codes{"*"}, Codes{"HTTP_429", "HTTP_503"});
}

CircuitBreakerSettings any_breaker() { return {*rc::gen::inRange(1, 1001), any_delay(), *rc::gen::inRange(1, 1001)}; }

/// Only what the policy type uses differs from the default.
RetryConfig any_config() {
  RetryConfig config{.dead_letter_enabled = *rc::gen::arbitrary<bool>()};
  if (*rc::gen::arbitrary<bool>()) config.circuit_breaker = any_breaker();
  if (*rc::gen::arbitrary<bool>()) config.auto_retry_for = any_codes();
  config.policy_type = *rc::gen::element(RetryPolicyType::exponential_backoff, RetryPolicyType::linear_backoff,
                                         RetryPolicyType::fixed_interval, RetryPolicyType::circuit_breaker,
                                         RetryPolicyType::no_retry, RetryPolicyType::custom);
  if (config.policy_type == RetryPolicyType::no_retry) return config;
  config.max_attempts = *rc::gen::inRange(1, 22);
  if (config.policy_type == RetryPolicyType::custom) {
    config.policy_name = "patient";
    return config;
  }
  config.jitter = any_jitter();
  if (config.policy_type == RetryPolicyType::circuit_breaker) return config;
  config.max_delay = any_delay();
  if (config.policy_type == RetryPolicyType::fixed_interval && *rc::gen::arbitrary<bool>()) {
    for (int left = *rc::gen::inRange(1, 21); left > 0; --left) config.intervals.push_back(any_delay());
    return config;
  }
  config.initial_delay = any_delay();
  if (config.policy_type == RetryPolicyType::exponential_backoff) {
    config.multiplier = 1.0 + 99.0 * *rc::gen::inRange(0, 1001) / 1000.0;
  }
  if (config.policy_type == RetryPolicyType::linear_backoff && *rc::gen::arbitrary<bool>()) {
    config.increment = *rc::gen::element(0ms, any_delay());
  }
  return config;
}

bool makes_a_policy(const RetryConfig& config) {
  try {
    (void)config.policy();
    return true;
  } catch (const InvalidPolicy&) {
    return false;
  }
}

}  // namespace

TEST_CASE("properties of every retry config") {
  SECTION("its JSON reads back as the same config") {
    REQUIRE(rc::check([] {
      const RetryConfig config = any_config();
      RC_PRE(makes_a_policy(config));
      RC_ASSERT(RetryConfig::from_json(config.to_json()) == config);
    }));
  }

  SECTION("its policy is valid, allows one retry less than attempts, and makes the same config's policy again") {
    REQUIRE(rc::check([] {
      const RetryConfig config = any_config();
      RC_PRE(makes_a_policy(config));
      const RetryPolicy policy = config.policy();
      require_valid(policy);
      const bool is_retried = config.policy_type != RetryPolicyType::no_retry;
      RC_ASSERT(max_retries(policy) == (is_retried ? config.max_attempts - 1 : 0));
      RC_ASSERT(RetryConfig::from_policy(policy).policy() == policy);
    }));
  }

  SECTION("only the policy type circuit_breaker leaves valid settings without a policy") {
    REQUIRE(rc::check([] {
      const RetryConfig config = any_config();
      RC_PRE(config.policy_type != RetryPolicyType::circuit_breaker);
      RC_ASSERT(makes_a_policy(config));
    }));
  }

  SECTION("no retry comes back before its circuit breaker has recovered") {
    REQUIRE(rc::check([] {
      const RetryConfig config{
          .policy_type = RetryPolicyType::circuit_breaker, .jitter = any_jitter(), .circuit_breaker = any_breaker()};
      RC_PRE(makes_a_policy(config));
      RC_ASSERT(delay_range(config.policy(), 1)->shortest >= config.circuit_breaker->recovery_timeout);
    }));
  }
}
