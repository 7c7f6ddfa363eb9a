// Tasks that the worker has claimed and will not run. This code gives them back, ends them as expired, or defers them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <spdlog/logger.h>

#include "base/session.hpp"
#include "base/tally.hpp"
#include "circuits/circuits.hpp"
#include "claim/core/plan.hpp"
#include "tasks/core/claimed_task.hpp"
#include "tasks/core/deferral.hpp"

namespace dogged::runtime {

/// Used only on the claimer's thread; its statements run in the claimer's session.
class GivingBack {
 public:
  /// Attempt numbers by task.
  using Attempts = std::map<TaskId, int>;

  GivingBack(Session& session, ClaimPlan& plan, std::int64_t worker_id, Circuits& circuits,
             std::shared_ptr<Tally> tally, std::shared_ptr<spdlog::logger> log, std::vector<std::string> queue_names);

  /// Makes `tasks` ready again, and wakes other workers for them.
  void release(const std::vector<ClaimedTask>& tasks) { note_released(tasks, send_release(tasks)); }
  /// The statement of release(). Gives the tasks that were not released.
  [[nodiscard]] Attempts send_release(const std::vector<ClaimedTask>& tasks);
  /// The rest of release(): explains why tasks were not released.
  void note_released(const std::vector<ClaimedTask>& tasks, const Attempts& not_released);

  /// Gives back every task that runs under this worker, except `known`.
  void release_unknown(const std::vector<Attempt>& known);

  /// Ends expired tasks without an attempt. Releases those that have not expired by the database's clock.
  void expire(std::vector<ClaimedTask> tasks);

  /// Defers tasks, each until its time.
  void defer(std::vector<Deferral> tasks);

 private:
  template <class Released>
  void cancel_released(const std::vector<Released>& released);
  void explain_not_released(const Attempts& attempts);

  Session& session_;
  ClaimPlan& plan_;
  const std::int64_t worker_id_;
  Circuits& circuits_;
  const std::shared_ptr<Tally> tally_;
  const std::shared_ptr<spdlog::logger> log_;
  const std::vector<std::string> queue_names_;
};

}  // namespace dogged::runtime
