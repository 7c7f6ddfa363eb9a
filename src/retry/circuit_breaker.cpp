// The circuit breaker of one process: the state machine of detail/circuit.hpp under a mutex. A word beside it lets a
// closed breaker answer without the mutex.
#include <utility>

#include <dogged/circuit_breaker.hpp>

#include "text/duration.hpp"

namespace dogged {
namespace {

using Kind = detail::CircuitEvent::Kind;

std::string refusal(std::optional<milliseconds> retry_after) {
  if (!retry_after) return "the circuit breaker was forced open: nothing is let through until it is reset";
  return "the circuit breaker is open; ask again in " + duration_to_text(*retry_after);
}

}  // namespace

std::string_view to_text(CircuitState state) noexcept {
  switch (state) {
    case CircuitState::closed:
      return "closed";
    case CircuitState::open:
      return "open";
    case CircuitState::half_open:
      break;
  }
  return "half_open";
}

CircuitOpen::CircuitOpen(std::optional<milliseconds> retry_after)
    : Error(refusal(retry_after)), retry_after_(retry_after) {}

CircuitBreaker::CircuitBreaker(CircuitBreakerSettings settings, CircuitBreakerOptions options)
    : settings_(settings), options_(std::move(options)) {
  require_valid(settings_);
}

std::uint64_t CircuitBreaker::word_of(const detail::Circuit& circuit) noexcept {
  return static_cast<std::uint64_t>(circuit.generation) << generation_shift |
         (circuit.failures > 0 ? has_failures_bit : 0) | static_cast<std::uint64_t>(circuit.state);
}

std::int64_t CircuitBreaker::now_ms() const {
  const auto now = options_.now ? options_.now() : std::chrono::steady_clock::now();
  return std::chrono::floor<milliseconds>(now.time_since_epoch()).count();
}

CircuitBreaker::Stepped CircuitBreaker::step(detail::CircuitEvent event, std::int64_t now_ms) {
  detail::Lock lock{mutex_};
  const CircuitState before = circuit_.state;
  const detail::CircuitStep step = detail::step(circuit_, settings_, event, now_ms);
  circuit_ = step.circuit;
  word_.store(word_of(circuit_), std::memory_order_release);
  const Stepped stepped{step.decision, circuit_.generation};
  if (circuit_.state == before) return stepped;
  const CircuitChange change{before, circuit_.state, ++changes_};
  lock.unlock();
  tell(change);
  return stepped;
}

void CircuitBreaker::tell(const CircuitChange& change) {
  if (!options_.on_change) return;
  try {
    options_.on_change(change);
  } catch (...) {
    std::exception_ptr error = std::current_exception();  // the former one is destroyed without the lock
    const detail::Lock lock{mutex_};
    callback_error_.swap(error);
  }
}

void CircuitBreaker::report_failure(std::int64_t generation) {
  if (generation_of(word_.load(std::memory_order_acquire)) != generation) return;
  step({Kind::failure, generation}, now_ms());
}

void CircuitBreaker::report_abandoned(std::int64_t generation) noexcept {
  const std::uint64_t word = word_.load(std::memory_order_acquire);
  if (generation_of(word) != generation || state_of(word) == CircuitState::closed) return;
  step({Kind::abandon, generation}, 0);  // giving a place back needs no time
}

void CircuitBreaker::force_open() { step({Kind::force_open}, now_ms()); }

void CircuitBreaker::reset() { step({Kind::reset}, 0); }

std::exception_ptr CircuitBreaker::callback_error() const {
  const detail::Lock lock{mutex_};
  return callback_error_;
}

}  // namespace dogged
