// The properties of every retry config.
#include <cstdint>
#include <string>
#include <vector>

#include <dogged/error.hpp>
#include <dogged/retry_config.hpp>

#include "support/catch.hpp"
#include "support/property.hpp"

using namespace std::chrono_literals;
using namespace dogged;

namespace {

milliseconds any_delay() { return milliseconds{test::any_in_range(1, test::any_of({11, 60'001, 86'400'001}))}; }

Jitter any_jitter() {
  const double share = test::any_in_range(1, 101) / 100.0;
  return test::any_of({Jitter::none(), Jitter::full(), Jitter::proportional(share), Jitter::absolute(any_delay())});
}

std::vector<std::string> any_codes() {
  using Codes = std::vector<std::string>;
  return test::any_of({Codes{}, Codes{"*"}, Codes{"HTTP_429", "HTTP_503"}});
}

CircuitBreakerSettings any_breaker() { return {test::any_in_range(1, 1001), any_delay(), test::any_in_range(1, 1001)}; }

/// Only what the policy type uses differs from the default.
RetryConfig any_config() {
  RetryConfig config{.dead_letter_enabled = test::any_bool()};
  if (test::any_bool()) config.circuit_breaker = any_breaker();
  if (test::any_bool()) config.auto_retry_for = any_codes();
  config.policy_type = test::any_of({RetryPolicyType::exponential_backoff, RetryPolicyType::linear_backoff,
                                     RetryPolicyType::fixed_interval, RetryPolicyType::circuit_breaker,
                                     RetryPolicyType::no_retry, RetryPolicyType::custom});
  if (config.policy_type == RetryPolicyType::no_retry) return config;
  config.max_attempts = test::any_in_range(1, 22);
  if (config.policy_type == RetryPolicyType::custom) {
    config.policy_name = "patient";
    return config;
  }
  config.jitter = any_jitter();
  if (config.policy_type == RetryPolicyType::circuit_breaker) return config;
  config.max_delay = any_delay();
  if (config.policy_type == RetryPolicyType::fixed_interval && test::any_bool()) {
    for (int left = test::any_in_range(1, 21); left > 0; --left) config.intervals.push_back(any_delay());
    return config;
  }
  config.initial_delay = any_delay();
  if (config.policy_type == RetryPolicyType::exponential_backoff) {
    config.multiplier = 1.0 + 99.0 * test::any_in_range(0, 1001) / 1000.0;
  }
  if (config.policy_type == RetryPolicyType::linear_backoff && test::any_bool()) {
    config.increment = test::any_of({0ms, any_delay()});
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
    REQUIRE(test::holds([] {
      const RetryConfig config = any_config();
      RC_PRE(makes_a_policy(config));
      test::note(config.to_json());
      RC_ASSERT(RetryConfig::from_json(config.to_json()) == config);
    }));
  }

  SECTION("its policy is valid, allows one retry less than attempts, and makes the same config's policy again") {
    REQUIRE(test::holds([] {
      const RetryConfig config = any_config();
      RC_PRE(makes_a_policy(config));
      test::note(config.to_json());
      const RetryPolicy policy = config.policy();
      require_valid(policy);
      const bool is_retried = config.policy_type != RetryPolicyType::no_retry;
      RC_ASSERT(max_retries(policy) == (is_retried ? config.max_attempts - 1 : 0));
      RC_ASSERT(RetryConfig::from_policy(policy).policy() == policy);
    }));
  }

  SECTION("only the policy type circuit_breaker leaves valid settings without a policy") {
    REQUIRE(test::holds([] {
      const RetryConfig config = any_config();
      RC_PRE(config.policy_type != RetryPolicyType::circuit_breaker);
      RC_ASSERT(makes_a_policy(config));
    }));
  }

  SECTION("no retry comes back before its circuit breaker has recovered") {
    REQUIRE(test::holds([] {
      const RetryConfig config{
          .policy_type = RetryPolicyType::circuit_breaker, .jitter = any_jitter(), .circuit_breaker = any_breaker()};
      RC_PRE(makes_a_policy(config));
      RC_ASSERT(delay_range(config.policy(), 1)->shortest >= config.circuit_breaker->recovery_timeout);
    }));
  }
}
