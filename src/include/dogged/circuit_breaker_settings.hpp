// The settings of a circuit breaker and their limits.
#pragma once

#include <chrono>

#include <dogged/policy.hpp>

namespace dogged {

struct CircuitBreakerSettings {
  /// Failures in a row that open a closed breaker: 1 to 1000.
  int failure_threshold = 5;
  /// How long it stays open before probes are let through: 1 ms to 24 h.
  milliseconds recovery_timeout = std::chrono::seconds{30};
  /// Successful probes that close it again, and how many probes are let through at once: 1 to 1000.
  int success_threshold = 2;

  friend constexpr bool operator==(const CircuitBreakerSettings&, const CircuitBreakerSettings&) = default;
};

/// Throws InvalidPolicy for the first field that is out of its limits.
void require_valid(const CircuitBreakerSettings& settings);

}  // namespace dogged
