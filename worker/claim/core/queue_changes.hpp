// The changes of a queue after its settings were read. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <ostream>

#include <dogged/retry_budget.hpp>

namespace dogged::runtime {

/// An operator's settings of a queue (dogged.queues).
struct QueueSettings {
  bool is_paused = false;
  std::optional<milliseconds> resumes_in = {};           ///< of a paused queue; nothing: until an operator resumes it
  std::optional<std::size_t> concurrency = {};           ///< instead of the worker's own
  std::optional<RetryBudgetSettings> retry_budget = {};  ///< nothing: retries are not bounded
};

/// How a worker runs a queue.
struct QueueTerms {
  std::size_t concurrency = 1;
  std::optional<RetryBudgetSettings> retry_budget = {};  ///< nothing: retries are not bounded
};

/// The changes that the worker carries out. plan.hpp decides whether a pause begins or ends.
struct QueueChanges {
  std::optional<std::size_t> concurrency = {};  ///< the new one
  bool retry_budget = false;                    ///< the budget of the settings is in force from now on

  friend bool operator==(const QueueChanges&, const QueueChanges&) = default;
};

inline std::ostream& operator<<(std::ostream& out, const QueueChanges& changes) {
  if (changes.concurrency) out << "concurrency " << *changes.concurrency << ' ';
  return out << (changes.retry_budget ? "new retry budget" : "same retry budget");
}

/// `own_concurrency`: as the worker was started. This concurrency is in force where operators have set none.
[[nodiscard]] inline QueueChanges changes_of(const QueueTerms& before, const QueueSettings& now,
                                             std::size_t own_concurrency) {
  QueueChanges changes;
  const std::size_t concurrency = now.concurrency.value_or(own_concurrency);
  if (concurrency != before.concurrency) changes.concurrency = concurrency;
  changes.retry_budget = now.retry_budget != before.retry_budget;
  return changes;
}

}  // namespace dogged::runtime
