// Which retries of a queue may begin, by its retry budget, and how long the others wait. Pure: time and chance are
// parameters.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <dogged/retry_budget.hpp>

namespace dogged::runtime {

/// Of one queue in one worker: where the share holds in each worker, it holds in all of them together. Not thread-safe.
class RetryThrottle {
 public:
  using time_point = RetryBudget::time_point;

  /// The longest wait: when more retries wait than the budget lets through by then, they ask again.
  static constexpr milliseconds longest_wait{60'000};

  explicit RetryThrottle(const RetryBudgetSettings& settings) : budget_(settings) {}

  [[nodiscard]] const RetryBudgetSettings& settings() const noexcept { return budget_.settings(); }

  /// An attempt begins, of whatever kind.
  void note_execution(time_point now) { budget_.note_execution(now); }

  /// Nothing: the retry may begin, and is counted. Else how long it waits: until about the time when the budget has
  /// room for it too, one after another. `draw` is uniform in [0, 1).
  [[nodiscard]] std::optional<milliseconds> ask(time_point now, double draw);

  /// Whether retries were made to wait, and some may wait still.
  [[nodiscard]] bool holds_back() const noexcept { return held_back_ > 0; }
  /// If none waits any more that was made to: how many had been since the first. Told once.
  [[nodiscard]] std::optional<std::int64_t> take_end(time_point now);

 private:
  [[nodiscard]] std::chrono::nanoseconds between_retries(time_point now) const;

  RetryBudget budget_;
  time_point next_turn_{};  // when those that wait have had theirs
  time_point last_back_{};  // when the last of them asks again
  std::int64_t held_back_ = 0;
};

}  // namespace dogged::runtime
