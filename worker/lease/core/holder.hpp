// The holder of a task, after a statement of a worker on an attempt of the task has changed nothing. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lifecycle/transition.hpp"

namespace dogged::runtime {

/// The answer of who_holds.sql on one attempt of a task. A status or an outcome that this version does not know is left
/// out: while workers are updated, a newer one may have written it.
struct Holder {
  bool is_mine = false;  ///< the worker that asks holds the task under this attempt
  bool cancel_requested = false;
  std::optional<std::int64_t> expires_in_us = {};  ///< from now
  std::optional<std::int64_t> expires_after_claim_us = {};
  std::optional<int> task_attempt = {};            ///< the task's latest; nothing: there is no such task
  std::optional<lifecycle::Status> status = {};    ///< of the task
  std::int64_t worker = 0;                         ///< the worker that runs the task, if `status` is running
  std::string worker_name = {};                    ///< empty if the worker's row is gone
  std::optional<lifecycle::Outcome> outcome = {};  ///< of the attempt that is on record
  std::optional<std::int64_t> recorded_for = {};   ///< the worker of that attempt
};

/// For the log: which other worker has the task now, or how the task ended, and what is on record of the attempt.
[[nodiscard]] std::string whose_it_is(const Holder& holder);

}  // namespace dogged::runtime
