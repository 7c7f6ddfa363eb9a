// Decides what becomes of each task that a claim took from one queue. Pure: handing_out.cpp asks the circuits that
// asks() names, and carries the decision out.
//
// A task that has expired asks no circuit. A task that its circuit does not let through asks no retry budget. A retry
// that exceeds the budget was let through by its circuit, so the worker gives that place back.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "circuits/core/ledger.hpp"
#include "claim/core/retry_throttle.hpp"
#include "tasks/core/claimed_task.hpp"
#include "tasks/core/deferral.hpp"

namespace dogged::runtime {

/// Each claimed task is in one of the lists. Each list is in the order of the claim, within a circuit for `by_circuit`.
/// The lists are carried out one after the other: the statements for the tasks that do not begin may take long, or
/// fail.
struct SortedOut {
  std::vector<ClaimedTask> begin;
  std::vector<ClaimedTask> expired;
  std::vector<Deferral> by_circuit;   ///< not let through by their circuits, one circuit after another
  std::vector<Deferral> over_budget;  ///< a circuit that let one through gets that place back
  bool throttling_begins = false;     ///< no retry of the queue was held back before those of `over_budget`
  /// Open circuits of `by_circuit`, if the queue has more tasks. Their other ready tasks are deferred in place, because
  /// each claim would bring only further tasks that may not begin. Before, workers of 10 threads claimed all of 100,000
  /// such tasks, in 11 s. Now 1 in 100 is claimed, in 1.3 s.
  std::vector<std::string_view> in_place = {};

  friend bool operator==(const SortedOut&, const SortedOut&) = default;
};

std::ostream& operator<<(std::ostream& out, const SortedOut& sorted);

/// For one queue and one claim.
class SortingOut {
 public:
  /// `claimed` in the order of the claim, whose answer arrived at `now`. `has_more`: the claim has brought as many
  /// tasks as it asked for.
  SortingOut(std::vector<ClaimedTask> claimed, bool has_more, TimePoint now);

  /// The circuits to be asked, each for how many tasks: those that have not expired.
  [[nodiscard]] std::map<std::string_view, std::size_t> asks() const;
  /// The circuit's answer for as many tasks as it was asked for.
  void on_answer(std::string_view circuit, const CircuitLedger::Answer& answer);
  /// Once all circuits have answered, at `now`: an answer may take seconds, and the budget counts when attempts begin.
  /// `retries`: null if the queue has no budget. `draw` is uniform in [0, 1).
  [[nodiscard]] SortedOut finish(RetryThrottle* retries, TimePoint now, const std::function<double()>& draw) &&;

 private:
  void ask_budget(RetryThrottle& retries, TimePoint now, const std::function<double()>& draw);

  bool has_more_;
  SortedOut sorted_;
};

}  // namespace dogged::runtime
