// A retry budget: bounds what share of all calls may be retries, so that an outage does not become a storm of them.
//
//   dogged::RetryBudget ledger_budget{{.share = 0.1}};   // one for all calls to one service
//   auto balance = dogged::retry(policy, ask_ledger, {.budget = &ledger_budget});
//
// A policy bounds the retries of one call. If every call fails, n retries each make n + 1 times the load, just when
// the service cannot bear it. A budget bounds the retries of all calls together: of the calls in the last `window`, at
// most `share` may be retries. With few calls, as many as min_retries_per_second allows may be retries, so that a quiet
// program can retry. First attempts are never held back. A retry over the budget fails (RetryOptions::budget), or waits
// until there is room.
//
// Others bound retries by other means, and the defaults here are theirs:
// - Finagle's RetryBudget: 20 % of the requests may be retried, with tokens that expire after 10 s; and 10 a second.
//   Finagle adds the two, and its share is of first attempts alone. Here the larger one holds, and retries count as
//   calls, so that the share is what the service sees (https://twitter.github.io/finagle/guide/Clients.html).
// - Google's SRE book, "Handling Overload": a client retries while retries are below 10 % of its requests
//   (https://sre.google/sre-book/handling-overload/).
// - gRPC's retry throttling (gRFC A6): a failure takes a token, and a success gives back a part of one. Nothing is
//   retried while half of them are gone (https://github.com/grpc/proposal/blob/master/A6-client-retries.md).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <dogged/delay.hpp>
#include <dogged/detail/mutex.hpp>

namespace dogged {

struct RetryBudgetSettings {
  /// The share of the executions in a window that may be retries; over 0, and up to 1, which is no bound.
  double share = 0.2;
  /// Retries that are allowed even with few executions: up to 1000000. At least one in a window (0.1 for 10 s), because
  /// a retry that waits for room would otherwise wait for ever.
  double min_retries_per_second = 10;
  /// How long executions and retries are counted: 1 s to 1 h. The budget forgets counts in steps of a tenth of the
  /// window, at the latest a tenth after its end.
  milliseconds window = std::chrono::seconds{10};

  friend bool operator==(const RetryBudgetSettings&, const RetryBudgetSettings&) = default;
};

/// Throws InvalidInput, with the field, its value and its limit.
void require_valid(const RetryBudgetSettings& settings);

/// Thread-safe. The budget has no clock: `now` is of any monotonic clock. If `now` goes back, as among threads, the
/// latest value counts. Each call is a mutex and a few additions.
class RetryBudget {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Throws InvalidInput for settings out of their limits.
  explicit RetryBudget(const RetryBudgetSettings& settings = {});
  RetryBudget(const RetryBudget&) = delete;
  RetryBudget& operator=(const RetryBudget&) = delete;

  /// An attempt begins: a first one, or a retry that try_retry has admitted.
  void note_execution(time_point now);

  /// Whether a retry may be made; if so it is counted. The retries of a window, this one included, are no more than
  /// the larger of `share` of its executions and min_retries_per_second times its length.
  [[nodiscard]] bool try_retry(time_point now);

  /// When try_retry would admit a retry if nothing else were noted until then; 0 if it would now. Never more than a
  /// window and a tenth. An estimate: executions make room sooner, and other retries may take it.
  [[nodiscard]] milliseconds until_room(time_point now) const;

  struct Counts {
    std::int64_t executions = 0;
    std::int64_t retries = 0;
  };
  /// The counts of the last window.
  [[nodiscard]] Counts counts(time_point now) const;

  [[nodiscard]] const RetryBudgetSettings& settings() const noexcept { return settings_; }

 private:
  static constexpr std::int64_t slots_of_window = 10;
  static constexpr std::int64_t slot_count = slots_of_window + 1;  // the whole window, wherever in a slot `now` is
  static constexpr std::int64_t no_slot = std::numeric_limits<std::int64_t>::min();

  /// Counts of one tenth of a window; `number` is its place on the clock.
  struct Slot {
    std::int64_t number = no_slot;
    Counts counts;
  };

  [[nodiscard]] std::int64_t slot_number(time_point now) const DOGGED_REQUIRES(mutex_);
  [[nodiscard]] Slot& slot_of(std::int64_t number) DOGGED_REQUIRES(mutex_);
  [[nodiscard]] Counts counts_at(std::int64_t number) const DOGGED_REQUIRES(mutex_);
  [[nodiscard]] bool has_room(const Counts& counts) const;

  const RetryBudgetSettings settings_;
  const std::chrono::nanoseconds slot_length_;
  mutable detail::Mutex mutex_;
  std::array<Slot, static_cast<std::size_t>(slot_count)> slots_ DOGGED_GUARDED_BY(mutex_);
  std::int64_t latest_ DOGGED_GUARDED_BY(mutex_) = no_slot;
};

}  // namespace dogged
