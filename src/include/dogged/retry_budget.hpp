// A retry budget: bounds what share of all calls may be retries, so that an outage does not become a storm of them.
//
//   dogged::RetryBudget ledger_budget{{.share = 0.1}};   // one for all calls to one service
//   auto balance = dogged::retry(policy, ask_ledger, {.budget = &ledger_budget});
//
// A policy bounds the retries of one call; where everything fails, n retries each make n + 1 times the load, just when
// the other side cannot bear it. A budget bounds the retries of all calls together: of those in the last `window`, at
// most `share` may be retries, and where few calls are made, as many as min_retries_per_second gives, so that a quiet
// program can retry. First attempts are never held back. What may not be retried now fails (RetryOptions::budget), or
// waits until there is room.
//
// Others have the same by other means, and the defaults are theirs:
// - Finagle's RetryBudget: 20 % of the requests may be retried, with tokens that expire after 10 s; and 10 a second.
//   There the two are added, and the share is of first attempts alone. Here the larger one holds and retries count as
//   calls as well, so that the share is what the other side sees
//   (https://twitter.github.io/finagle/guide/Clients.html).
// - Google's SRE book, "Handling Overload": a client retries while retries are below 10 % of its requests
//   (https://sre.google/sre-book/handling-overload/).
// - gRPC's retry throttling (gRFC A6): a failure takes a token, a success gives back a part of one, and nothing is
//   retried while half of them are gone (https://github.com/grpc/proposal/blob/master/A6-client-retries.md).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <dogged/detail/mutex.hpp>
#include <dogged/policy.hpp>

namespace dogged {

struct RetryBudgetSettings {
  /// Of the executions in a window that may be retries; over 0, and up to 1, which is no bound.
  double share = 0.2;
  /// What may be retried however few executions there are: up to 1000000, and at least one in a window (0.1 for 10 s),
  /// since what waits for room would else wait for ever.
  double min_retries_per_second = 10;
  /// How long executions and retries are counted: 1 s to 1 h. They are forgotten by tenths of it, at the latest a tenth
  /// after it.
  milliseconds window = std::chrono::seconds{10};

  friend bool operator==(const RetryBudgetSettings&, const RetryBudgetSettings&) = default;
};

/// Throws InvalidInput, with the field, its value and its limit.
void require_valid(const RetryBudgetSettings& settings);

/// Thread-safe. It has no clock: `now` is any monotonic one's, and where it goes back, as among threads, the latest
/// that was seen counts. Each call is a mutex and a few additions.
class RetryBudget {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Throws InvalidInput for settings out of their limits.
  explicit RetryBudget(const RetryBudgetSettings& settings = {});
  RetryBudget(const RetryBudget&) = delete;
  RetryBudget& operator=(const RetryBudget&) = delete;

  /// An attempt begins: a first one, or a retry that try_retry has admitted.
  void note_execution(time_point now);

  /// Whether a retry may be made, which is then counted: of the retries of a window, this one included, there are no
  /// more than the larger of `share` of its executions and min_retries_per_second times its length.
  [[nodiscard]] bool try_retry(time_point now);

  /// In which time try_retry would admit one if nothing else were noted until then; 0 where it would now. Never more
  /// than a window and a tenth. An estimate: executions make room sooner, and other retries may take it.
  [[nodiscard]] milliseconds until_room(time_point now) const;

  struct Counts {
    std::int64_t executions = 0;
    std::int64_t retries = 0;
  };
  /// What is counted of the last window.
  [[nodiscard]] Counts counts(time_point now) const;

  [[nodiscard]] const RetryBudgetSettings& settings() const noexcept { return settings_; }

 private:
  static constexpr std::int64_t slots_of_window = 10;
  static constexpr std::int64_t slot_count = slots_of_window + 1;  // the whole window, wherever in a slot `now` is
  static constexpr std::int64_t no_slot = std::numeric_limits<std::int64_t>::min();

  /// What began in one tenth of a window, of which `number` is the place on the clock.
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
