// The settings of a circuit breaker, apart from the breaker: configuration reads them, and needs no breaker for it.
#pragma once

#include <chrono>

#include <dogged/policy.hpp>

namespace dogged {

namespace limits {
inline constexpr int max_breaker_threshold = 1000;
}  // namespace limits

/// When a breaker opens, how long it stays open, and when it closes again. A copyable value.
struct CircuitBreakerSettings {
  /// So many failures, one after another, open a closed breaker. 1 to 1000.
  int failure_threshold = 5;
  /// So long an open breaker lets nothing through; then it is half-open. 1 ms to 24 h.
  milliseconds recovery_timeout = std::chrono::seconds{30};
  /// So many successful probes close a half-open breaker, and so many are let through at once. 1 to 1000.
  int success_threshold = 2;

  friend constexpr bool operator==(const CircuitBreakerSettings&, const CircuitBreakerSettings&) = default;
};

/// Throws InvalidPolicy for the first field that is out of its limits.
void require_valid(const CircuitBreakerSettings& settings);

}  // namespace dogged
