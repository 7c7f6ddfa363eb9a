// Which retries of a queue may begin within its retry budget, and how long the others wait. Pure: time and chance are
// parameters.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <dogged/retry_budget.hpp>

namespace dogged::runtime {

/// For one queue of one worker. If the share holds in each worker, it holds in all of them together. Not thread-safe.
class RetryThrottle {
 public:
  using time_point = RetryBudget::time_point;

  /// The longest wait. If more retries wait than the budget lets through by then, they ask again.
  static constexpr milliseconds longest_wait{60'000};

  explicit RetryThrottle(const RetryBudgetSettings& settings) : budget_(settings) {}

  [[nodiscard]] const RetryBudgetSettings& settings() const noexcept { return budget_.settings(); }

  /// An attempt of any kind begins.
  void note_execution(time_point now) { budget_.note_execution(now); }

  /// Nothing: the retry may begin, and is counted. Otherwise how long the retry waits, about until the budget has room
  /// for it after those that wait already. `draw` is uniform in [0, 1).
  [[nodiscard]] std::optional<milliseconds> ask(time_point now, double draw);

  /// Whether retries were deferred, and some of them may still wait.
  [[nodiscard]] bool holds_back() const noexcept { return held_back_ > 0; }
  /// Once no retry waits any more: how many were deferred since the first. Given once.
  [[nodiscard]] std::optional<std::int64_t> take_end(time_point now);

 private:
  [[nodiscard]] std::chrono::nanoseconds between_retries(time_point now) const;

  RetryBudget budget_;
  time_point next_turn_{};  // when the budget has let through those that wait
  time_point last_back_{};  // when the last of them asks again
  std::int64_t held_back_ = 0;
};

}  // namespace dogged::runtime
