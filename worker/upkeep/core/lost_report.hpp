// The report of an attempt that was lost with its worker. Pure: rescue.cpp reads the attempts and records the reports.
#pragma once

#include <optional>
#include <string>

#include <dogged/policy_fwd.hpp>
#include <dogged/task_id.hpp>
#include <dogged/trace_context.hpp>

#include "base/time.hpp"
#include "tasks/core/claimed_task.hpp"

namespace dogged::runtime {

/// A lost attempt and its task, as a rescue knows them.
struct LostAttempt {
  /// The settings of the task's declaration that decide after a loss.
  struct Settings {
    bool retry_lost = true;
    int max_losses = 0;
    bool dead_letter = true;
  };

  TaskId id = 0;
  std::string name = {};
  std::string queue = {};
  int attempt = 0;
  int retry_count = 0;  ///< before this attempt, and so are the losses
  int losses = 0;
  bool cancel_requested = false;
  std::optional<milliseconds> expires_in = {};  ///< negative if that time is over; nothing: the task does not expire
  std::optional<Settings> declared = {};        ///< nothing: no worker has declared the task, and the defaults hold
  std::optional<TraceContext> trace = {};
};

/// Without the policy, which does not decide after a loss. `message` says why the attempt is taken for lost. The
/// attempt ends at `now`.
[[nodiscard]] Report lost_report(const LostAttempt& lost, const std::string& message, TimePoint now);

}  // namespace dogged::runtime
