// The limits of a circuit breaker's settings.
#include <string>

#include <dogged/circuit_breaker_settings.hpp>

#include "text/duration.hpp"

namespace dogged {
namespace {

[[noreturn]] void refuse(const std::string& field, const std::string& value, const std::string& limit) {
  throw InvalidPolicy(field, field + " is " + value + "; it must be " + limit);
}

void require_threshold(const std::string& field, int threshold) {
  if (threshold >= 1 && threshold <= limits::max_breaker_threshold) return;
  refuse(field, std::to_string(threshold), "1 to " + std::to_string(limits::max_breaker_threshold));
}

}  // namespace

void require_valid(const CircuitBreakerSettings& settings) {
  require_threshold("failure_threshold", settings.failure_threshold);
  const milliseconds timeout = settings.recovery_timeout;
  if (timeout < limits::min_delay || timeout > limits::max_delay) {
    refuse("recovery_timeout", duration_to_text(timeout), "1ms to 24h");
  }
  require_threshold("success_threshold", settings.success_threshold);
}

}  // namespace dogged
