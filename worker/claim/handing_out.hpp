// Hands the tasks of a claim to the executors, in order, without the tasks that may not begin now.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spdlog/logger.h>

#include "base/session.hpp"
#include "circuits/circuits.hpp"
#include "claim/core/plan.hpp"
#include "claim/core/retry_throttle.hpp"
#include "claim/core/sorting_out.hpp"
#include "claim/giving_back.hpp"
#include "run/executor.hpp"
#include "sql/claim.hpp"

namespace dogged::runtime {

/// An executor, and the retry budget of its queue; null if the queue has no budget.
struct Outlet {
  Executor* executor = nullptr;
  std::size_t own_concurrency = 1;  ///< as the worker was started
  std::unique_ptr<RetryThrottle> retries = {};
};

/// Used only on the claimer's thread; its statements run in the claimer's session.
class HandingOut {
 public:
  HandingOut(Session& session, ClaimPlan& plan, GivingBack& giving_back, const Definitions& definitions,
             Circuits& circuits, std::vector<Outlet>& outlets, std::shared_ptr<spdlog::logger> log);

  /// `rows` answer `claims`, which were sent at `asked_at`.
  void hand_out(const std::vector<QueueClaim>& claims, std::vector<sql::Claim::Row> rows, TimePoint asked_at);

 private:
  /// The tasks that a claim took from one queue, in order.
  struct OfQueue {
    std::vector<Place> places;
    std::vector<ClaimedTask> tasks;
  };

  [[nodiscard]] OfQueue take(std::vector<sql::Claim::Row*> rows, TimePoint asked_at, TimePoint claimed_at) const;
  void hand_out(Outlet& outlet, const QueueClaim& claim, OfQueue claimed, TimePoint claimed_at);
  void defer_retries(const Outlet& outlet, std::vector<Deferral> over_budget, bool throttling_begins);
  void defer_ready(const std::string& queue, std::string_view circuit, Place from);

  Session& session_;
  ClaimPlan& plan_;
  GivingBack& giving_back_;
  const Definitions& definitions_;
  Circuits& circuits_;
  std::vector<Outlet>& outlets_;
  const std::shared_ptr<spdlog::logger> log_;
};

/// The latest version of the args that this worker knows, for each of `names`.
[[nodiscard]] std::vector<int> args_versions_of(const Definitions& definitions, const std::vector<std::string>& names);

}  // namespace dogged::runtime
