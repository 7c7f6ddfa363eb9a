// The circuit breaker's state machine: one function an event.
#include <algorithm>
#include <cassert>

#include <dogged/detail/circuit.hpp>

namespace dogged::detail {
namespace {

using Kind = CircuitEvent::Kind;

Circuit opened(const Circuit& before, std::int64_t now_ms) {
  return {.state = CircuitState::open, .since_ms = now_ms, .generation = before.generation + 1};
}

Circuit closed(const Circuit& before) { return {.generation = before.generation + 1}; }

/// The rest of recovery_timeout since since_ms. Unsigned arithmetic holds the difference of any two times.
std::int64_t left_ms(const Circuit& circuit, const CircuitBreakerSettings& settings, std::int64_t now_ms) {
  assert(now_ms >= circuit.since_ms);
  const auto elapsed = static_cast<std::uint64_t>(now_ms) - static_cast<std::uint64_t>(circuit.since_ms);
  const std::int64_t timeout = settings.recovery_timeout.count();
  return elapsed >= static_cast<std::uint64_t>(timeout) ? 0 : timeout - static_cast<std::int64_t>(elapsed);
}

CircuitStep refused(const Circuit& circuit, std::optional<std::int64_t> retry_after_ms) {
  return {circuit, {.is_let_through = false, .retry_after_ms = retry_after_ms}};
}

CircuitStep probe(Circuit circuit, std::int64_t now_ms) {
  ++circuit.probes;
  circuit.since_ms = now_ms;
  return {circuit, {.is_let_through = true}};
}

CircuitStep ask_open(Circuit circuit, const CircuitBreakerSettings& settings, std::int64_t now_ms) {
  if (circuit.is_forced) return refused(circuit, std::nullopt);
  const std::int64_t left = left_ms(circuit, settings, now_ms);
  if (left > 0) return refused(circuit, left);
  return probe({.state = CircuitState::half_open, .generation = circuit.generation + 1}, now_ms);
}

CircuitStep ask_half_open(Circuit circuit, const CircuitBreakerSettings& settings, std::int64_t now_ms) {
  if (circuit.probes < settings.success_threshold) return probe(circuit, now_ms);
  const std::int64_t left = left_ms(circuit, settings, now_ms);
  if (left > 0) return refused(circuit, left);
  circuit.probes = 0;
  return probe(circuit, now_ms);
}

CircuitStep ask(Circuit circuit, const CircuitBreakerSettings& settings, std::int64_t now_ms) {
  if (circuit.state == CircuitState::closed) return {circuit, {.is_let_through = true}};
  if (now_ms < circuit.since_ms) circuit.since_ms = now_ms;
  return circuit.state == CircuitState::open ? ask_open(circuit, settings, now_ms)
                                             : ask_half_open(circuit, settings, now_ms);
}

Circuit after_success(Circuit circuit, const CircuitBreakerSettings& settings) {
  if (circuit.state == CircuitState::closed) {
    circuit.failures = 0;
    return circuit;
  }
  circuit.probes = std::max(circuit.probes - 1, 0);
  ++circuit.successes;
  return circuit.successes >= settings.success_threshold ? closed(circuit) : circuit;
}

Circuit after_failure(Circuit circuit, const CircuitBreakerSettings& settings, std::int64_t now_ms) {
  if (circuit.state == CircuitState::half_open) return opened(circuit, now_ms);
  ++circuit.failures;
  return circuit.failures >= settings.failure_threshold ? opened(circuit, now_ms) : circuit;
}

Circuit after_abandoning(Circuit circuit) {
  circuit.probes = std::max(circuit.probes - 1, 0);
  return circuit;
}

bool is_heard(const Circuit& circuit, std::int64_t generation) {
  return generation == circuit.generation && circuit.state != CircuitState::open;
}

Circuit after_report(const Circuit& circuit, const CircuitBreakerSettings& settings, CircuitEvent event,
                     std::int64_t now_ms) {
  if (!is_heard(circuit, event.generation)) return circuit;
  if (event.kind == Kind::success) return after_success(circuit, settings);
  if (event.kind == Kind::failure) return after_failure(circuit, settings, now_ms);
  return after_abandoning(circuit);
}

Circuit forced_open(const Circuit& before, std::int64_t now_ms) {
  Circuit circuit = opened(before, now_ms);
  circuit.is_forced = true;
  return circuit;
}

}  // namespace

CircuitStep step(const Circuit& circuit, const CircuitBreakerSettings& settings, CircuitEvent event,
                 std::int64_t now_ms) noexcept {
  switch (event.kind) {
    case Kind::ask:
      return ask(circuit, settings, now_ms);
    case Kind::force_open:
      return {forced_open(circuit, now_ms)};
    case Kind::reset:
      return {closed(circuit)};
    case Kind::success:
    case Kind::failure:
    case Kind::abandon:
      break;
  }
  return {after_report(circuit, settings, event, now_ms)};
}

}  // namespace dogged::detail
