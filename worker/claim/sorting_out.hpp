// Decides what becomes of each task that a claim took from one queue. Pure: handing_out.cpp asks the circuits and
// carries the decision out.
//
// A task that has expired asks no circuit. A task that its circuit does not let through asks no retry budget. A retry
// that exceeds the budget was let through by its circuit, so the worker gives that place back.
#pragma once

#include <functional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "claim/retry_throttle.hpp"
#include "tasks/claimed_task.hpp"
#include "tasks/deferral.hpp"

namespace dogged::runtime {

/// Each claimed task is in one of the lists. Each list is in the order of the claim, within a circuit for `by_circuit`.
struct SortedOut {
  std::vector<ClaimedTask> begin;
  std::vector<ClaimedTask> expired;
  std::vector<Deferral> by_circuit;   ///< not let through by their circuits, one circuit after another
  std::vector<Deferral> over_budget;  ///< a circuit that let one through gets that place back
  bool throttling_begins = false;     ///< no retry of the queue was held back before those of `over_budget`

  /// The circuits that hold back tasks of this claim.
  [[nodiscard]] std::set<std::string_view> circuits() const;
};

/// For one queue and one claim.
class SortingOut {
 public:
  /// `claimed` in the order of the claim, whose answer arrived at `now`.
  SortingOut(std::vector<ClaimedTask> claimed, TimePoint now);

  /// The tasks that have not expired. The circuits take out of them those that may not begin.
  [[nodiscard]] std::vector<ClaimedTask>& for_circuits() noexcept { return sorted_.begin; }
  /// The tasks that the circuits have taken out.
  void on_deferred(std::vector<Deferral> by_circuit) { sorted_.by_circuit = std::move(by_circuit); }
  /// Once the circuits were asked, if a task has one. `retries`: null if the queue has no budget. `draw` is uniform in
  /// [0, 1).
  [[nodiscard]] SortedOut finish(RetryThrottle* retries, const std::function<double()>& draw) &&;

 private:
  void ask_budget(RetryThrottle& retries, const std::function<double()>& draw);

  const TimePoint now_;
  SortedOut sorted_;
};

}  // namespace dogged::runtime
