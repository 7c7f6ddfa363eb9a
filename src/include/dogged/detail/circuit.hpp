// The circuit breaker as a pure state machine: (circuit, settings, event, now) -> (circuit, decision). The machine
// knows no clock, no lock and no database: CircuitBreaker carries it out in one process.
//
//   closed     everything is let through; failure_threshold failures in a row open it
//   open       nothing is let through until recovery_timeout is over
//   half_open  up to success_threshold probes at once; as many successes close it, one failure opens it again
//
// See Michael Nygard, Release It!, "Circuit Breaker", and https://martinfowler.com/bliki/CircuitBreaker.html
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <dogged/circuit_breaker_settings.hpp>

namespace dogged {

enum class CircuitState { closed, open, half_open };

/// `closed`, `open` or `half_open`.
[[nodiscard]] std::string_view to_text(CircuitState state) noexcept;

namespace detail {

/// Times are whole milliseconds of a clock of the caller's, always the same one.
struct Circuit {
  CircuitState state = CircuitState::closed;
  int failures = 0;           ///< in a row, while closed
  int successes = 0;          ///< of probes, while half-open
  int probes = 0;             ///< let through and not yet reported, while half-open
  bool is_forced = false;     ///< open until it is reset
  std::int64_t since_ms = 0;  ///< open: when it opened; half-open: when the last probe was let through
  /// Of permits. The generation grows with each state, so that the late report of an earlier call is not taken for a
  /// probe's answer.
  std::int64_t generation = 0;

  friend constexpr bool operator==(const Circuit&, const Circuit&) = default;
};

struct CircuitEvent {
  enum class Kind {
    ask,         ///< may a call be made?
    success,     ///< of a call that was let through
    failure,     ///< of a call that was let through
    abandon,     ///< a call that was let through says nothing about the other side
    force_open,  ///< open until reset
    reset,       ///< closed, as new
  };
  Kind kind = Kind::ask;
  std::int64_t generation = 0;  ///< of the permit that reports; read for success, failure and abandon

  friend constexpr bool operator==(const CircuitEvent&, const CircuitEvent&) = default;
};

/// The answer to `ask`. A call that was let through reports with the `generation` of the circuit after the step.
struct CircuitDecision {
  bool is_let_through = false;
  /// Refused: in how many milliseconds to ask again at the latest, 1 to recovery_timeout. Half-open, a probe that
  /// reports can make room earlier. Nothing where it was forced open.
  std::optional<std::int64_t> retry_after_ms = {};

  friend constexpr bool operator==(const CircuitDecision&, const CircuitDecision&) = default;
};

struct CircuitStep {
  Circuit circuit;
  CircuitDecision decision = {};
};

/// Probes may take all places and report nothing for recovery_timeout after the last of them was let through. Then
/// other calls take their places. The probes' later reports still count while the circuit is half-open, because calls
/// may take longer than recovery_timeout. A `now_ms` before since_ms, from a clock that was set back, starts the wait
/// again. Settings must be valid. Thread-safe: a function of its arguments.
[[nodiscard]] CircuitStep step(const Circuit& circuit, const CircuitBreakerSettings& settings, CircuitEvent event,
                               std::int64_t now_ms) noexcept;

}  // namespace detail
}  // namespace dogged
