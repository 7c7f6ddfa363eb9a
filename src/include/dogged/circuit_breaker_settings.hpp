// The settings of a circuit breaker. Configuration reads them without the breaker.
#pragma once

#include <chrono>

#include <dogged/delay.hpp>

namespace dogged {

namespace limits {
inline constexpr int max_breaker_threshold = 1000;
}  // namespace limits

/// When a breaker opens, how long it stays open, and when it closes again. A copyable value.
struct CircuitBreakerSettings {
  /// This many failures in a row open a closed breaker. 1 to 1000.
  int failure_threshold = 5;
  /// How long an open breaker lets nothing through; then it is half-open. 1 ms to 24 h.
  milliseconds recovery_timeout = std::chrono::seconds{30};
  /// This many successful probes close a half-open breaker; as many are let through at a time. 1 to 1000.
  int success_threshold = 2;

  friend constexpr bool operator==(const CircuitBreakerSettings&, const CircuitBreakerSettings&) = default;
};

/// Throws InvalidPolicy for the first field that is out of its limits.
void require_valid(const CircuitBreakerSettings& settings);

}  // namespace dogged
