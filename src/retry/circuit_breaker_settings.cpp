// The limits of a circuit breaker's settings.
#include <dogged/circuit_breaker_settings.hpp>

#include "retry/duration.hpp"

namespace dogged {
namespace {

constexpr int max_threshold = 1000;

void require_threshold(const char* field, int threshold) {
  if (threshold >= 1 && threshold <= max_threshold) return;
  throw InvalidPolicy(field, std::string{field} + " is " + std::to_string(threshold) + "; it must be 1 to 1000");
}

}  // namespace

void require_valid(const CircuitBreakerSettings& settings) {
  require_threshold("failure_threshold", settings.failure_threshold);
  if (settings.recovery_timeout < limits::min_delay || settings.recovery_timeout > limits::max_delay) {
    throw InvalidPolicy("recovery_timeout", "recovery_timeout is " + duration_to_text(settings.recovery_timeout) +
                                                "; it must be 1ms to 24h");
  }
  require_threshold("success_threshold", settings.success_threshold);
}

}  // namespace dogged
