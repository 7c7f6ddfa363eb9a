// A circuit breaker: it stops calls to a service that keeps failing, and sends a few probes to find out when it
// works.
//
//   dogged::CircuitBreaker payments{{.failure_threshold = 5, .recovery_timeout = 30s, .success_threshold = 2}};
//   auto receipt = payments.run([&] { return charge(card); });   // throws CircuitOpen while it is open
//
// A closed breaker lets every call through; failure_threshold failures in a row open it. An open breaker refuses
// every call for recovery_timeout, then it is half-open: it lets up to success_threshold probes through at a time. As
// many successes close the breaker, and one failure opens it again. RetryOptions::breaker puts a breaker in front of a
// retry (<dogged/retry.hpp>).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <dogged/circuit_breaker_settings.hpp>
#include <dogged/detail/circuit.hpp>
#include <dogged/detail/expected_like.hpp>
#include <dogged/detail/mutex.hpp>
#include <dogged/error.hpp>

namespace dogged {

/// A breaker refused a call.
class CircuitOpen : public Error {
 public:
  explicit CircuitOpen(std::optional<milliseconds> retry_after);

  /// When to ask again at the latest; nothing if the breaker was forced open. retry() waits this long before a
  /// retry.
  [[nodiscard]] std::optional<milliseconds> retry_after() const noexcept { return retry_after_; }

 private:
  std::optional<milliseconds> retry_after_;
};

/// One change of state.
struct CircuitChange {
  CircuitState from;
  CircuitState to;
  /// Grows with each change. Threads may report their changes in another order than they made them.
  std::int64_t number;
};

struct CircuitBreakerOptions {
  /// Called after each change of state, by the thread that made it and without a lock, so it may call the breaker.
  /// Several threads may be in it at once. An exception of this function changes neither the call nor the breaker;
  /// CircuitBreaker::callback_error keeps it.
  std::function<void(const CircuitChange&)> on_change = {};
  /// Empty: std::chrono::steady_clock::now. Called from any thread; must not throw. A closed breaker calls it after
  /// failures only.
  std::function<std::chrono::steady_clock::time_point()> now = {};
};

/// Thread-safe. While the breaker is closed and nothing fails, asking is one atomic load and a success another, and
/// neither writes to shared memory. The breaker must outlive its permits and must not move.
class CircuitBreaker {
 public:
  /// Throws InvalidPolicy for settings out of their limits.
  explicit CircuitBreaker(CircuitBreakerSettings settings = {}, CircuitBreakerOptions options = {});
  CircuitBreaker(const CircuitBreaker&) = delete;
  CircuitBreaker& operator=(const CircuitBreaker&) = delete;

  /// The right to make one call, or a refusal. A permit that ends without a report says nothing about the service;
  /// a probe then gives its place back. A permit that is kept for ever does not block the breaker: recovery_timeout
  /// after the last probe was let through, others take its place. A late report counts while the breaker is half-open.
  /// For one thread at a time.
  class [[nodiscard]] Permit {
   public:
    /// A refusal.
    Permit() noexcept = default;
    Permit(Permit&& other) noexcept
        : breaker_(std::exchange(other.breaker_, nullptr)),
          generation_(other.generation_),
          retry_after_(other.retry_after_) {}
    Permit& operator=(Permit&& other) noexcept;
    ~Permit() { abandon(); }

    /// Whether the call may be made. False once the call was reported.
    [[nodiscard]] explicit operator bool() const noexcept { return breaker_ != nullptr; }
    /// Of a refusal: when to ask again at the latest; nothing if the breaker was forced open.
    [[nodiscard]] std::optional<milliseconds> retry_after() const noexcept { return retry_after_; }

    /// How the call ended. The first report counts; a report of a refusal does not.
    void succeeded();
    void failed();
    void abandon() noexcept;

   private:
    friend CircuitBreaker;
    Permit(CircuitBreaker* breaker, std::int64_t generation) noexcept : breaker_(breaker), generation_(generation) {}
    explicit Permit(std::optional<milliseconds> retry_after) noexcept : retry_after_(retry_after) {}

    CircuitBreaker* breaker_ = nullptr;
    std::int64_t generation_ = 0;
    std::optional<milliseconds> retry_after_;
  };

  Permit acquire();

  /// Calls `fn` if the breaker permits it, and reports how the call ended. An exception is a failure, and so is an
  /// expected-like result (has_value(), operator*, error()) without a value. Throws CircuitOpen if the breaker refuses,
  /// and otherwise gives what fn gives or throws.
  template <class Fn>
  std::invoke_result_t<Fn> run(Fn&& fn);

  /// Open until reset(), however long that takes.
  void force_open();
  /// Closed, with no failures counted. Calls under way are not counted any more.
  void reset();

  /// The state after the last event. An open breaker turns half-open at the first request after its
  /// recovery_timeout.
  [[nodiscard]] CircuitState state() const noexcept { return state_of(word_.load(std::memory_order_acquire)); }
  [[nodiscard]] const CircuitBreakerSettings& settings() const noexcept { return settings_; }
  /// The last exception of on_change; null if there was none.
  [[nodiscard]] std::exception_ptr callback_error() const;

 private:
  // The part of circuit_ that calls read without the lock, in one word: state, whether failures are counted,
  // generation.
  static constexpr std::uint64_t state_bits = 3;
  static constexpr std::uint64_t has_failures_bit = 4;
  static constexpr unsigned generation_shift = 3;

  static CircuitState state_of(std::uint64_t word) noexcept { return static_cast<CircuitState>(word & state_bits); }
  static std::int64_t generation_of(std::uint64_t word) noexcept {
    return static_cast<std::int64_t>(word >> generation_shift);
  }
  static std::uint64_t word_of(const detail::Circuit& circuit) noexcept;

  struct Stepped {
    detail::CircuitDecision decision;
    std::int64_t generation;
  };
  Stepped step(detail::CircuitEvent event, std::int64_t now_ms);
  void tell(const CircuitChange& change);
  [[nodiscard]] std::int64_t now_ms() const;

  void report_success(std::int64_t generation);
  void report_failure(std::int64_t generation);
  void report_abandoned(std::int64_t generation) noexcept;

  const CircuitBreakerSettings settings_;
  const CircuitBreakerOptions options_;
  std::atomic<std::uint64_t> word_{0};
  mutable detail::Mutex mutex_;
  detail::Circuit circuit_ DOGGED_GUARDED_BY(mutex_);
  std::int64_t changes_ DOGGED_GUARDED_BY(mutex_) = 0;
  std::exception_ptr callback_error_ DOGGED_GUARDED_BY(mutex_);
};

inline CircuitBreaker::Permit CircuitBreaker::acquire() {
  const std::uint64_t word = word_.load(std::memory_order_acquire);
  if (state_of(word) == CircuitState::closed) return Permit{this, generation_of(word)};
  const Stepped stepped = step({detail::CircuitEvent::Kind::ask}, now_ms());
  if (stepped.decision.is_let_through) return Permit{this, stepped.generation};
  const auto left_ms = stepped.decision.retry_after_ms;
  return Permit{left_ms ? std::optional{milliseconds{*left_ms}} : std::nullopt};
}

inline void CircuitBreaker::report_success(std::int64_t generation) {
  const std::uint64_t word = word_.load(std::memory_order_acquire);
  if (generation_of(word) != generation) return;
  if (state_of(word) == CircuitState::closed && (word & has_failures_bit) == 0) return;
  step({detail::CircuitEvent::Kind::success, generation}, 0);  // a success needs no time
}

inline CircuitBreaker::Permit& CircuitBreaker::Permit::operator=(Permit&& other) noexcept {
  if (this == &other) return *this;
  abandon();
  breaker_ = std::exchange(other.breaker_, nullptr);
  generation_ = other.generation_;
  retry_after_ = other.retry_after_;
  return *this;
}

inline void CircuitBreaker::Permit::succeeded() {
  if (CircuitBreaker* breaker = std::exchange(breaker_, nullptr)) breaker->report_success(generation_);
}

inline void CircuitBreaker::Permit::failed() {
  if (CircuitBreaker* breaker = std::exchange(breaker_, nullptr)) breaker->report_failure(generation_);
}

inline void CircuitBreaker::Permit::abandon() noexcept {
  if (CircuitBreaker* breaker = std::exchange(breaker_, nullptr)) breaker->report_abandoned(generation_);
}

template <class Fn>
std::invoke_result_t<Fn> CircuitBreaker::run(Fn&& fn) {
  using Result = std::invoke_result_t<Fn>;
  Permit permit = acquire();
  if (!permit) throw CircuitOpen{permit.retry_after()};
  const auto call = [&]() -> Result {
    try {
      return std::invoke(std::forward<Fn>(fn));
    } catch (...) {
      permit.failed();
      throw;
    }
  };
  if constexpr (std::is_void_v<Result>) {
    call();
    permit.succeeded();
  } else {
    Result result = call();
    if constexpr (detail::ExpectedLike<std::remove_cvref_t<Result>>) {
      if (!result.has_value()) permit.failed();
    }
    permit.succeeded();
    return result;
  }
}

}  // namespace dogged
