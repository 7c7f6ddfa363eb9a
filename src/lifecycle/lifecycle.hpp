// A task's transition when one of its attempts ends, by a report of its worker or by a rescue. This one pure function
// is the specification: it knows no database, no clock and no random source. SQL carries out what was decided here. SQL
// decides by itself where no worker reports. complete_in ends a task as succeeded, and wait_durably ends an attempt as
// snoozed. cancel and expiry end a pending task; replay, reschedule and emit make a task pending or ready.
// docs/lifecycle.md tells it in prose; tests/unit/lifecycle/lifecycle_test.cpp goes through every combination.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dogged/codes.hpp>
#include <dogged/custom_policy.hpp>
#include <dogged/delay.hpp>
#include <dogged/policy.hpp>

#include "lifecycle/transition.hpp"

namespace dogged::lifecycle {

/// The facts about a task that the decision depends on.
struct TaskState {
  Status status = Status::running;
  int attempt = 1;      ///< number of the attempt that ended, from 1
  int retry_count = 0;  ///< retries spent before it
  int losses = 0;       ///< attempts lost before it
  int snoozes = 0;      ///< attempts snoozed before it
  bool cancel_requested = false;
  /// How long after the end of the attempt the task may still begin another; negative if that time is over. Nothing:
  /// the task does not expire, or the caller does not know yet and calls under_expiry later.
  std::optional<milliseconds> expires_in = {};

  friend bool operator==(const TaskState&, const TaskState&) = default;
};

/// The rules of the task's definition for failures and snoozes.
struct Rules {
  RetryPolicy policy = NoRetry{};
  DelayFunction delay = {};                      ///< of a Custom policy, which needs it; must not throw
  std::vector<std::string> auto_retry_for = {};  ///< error codes, or "*" for all
  int max_losses = 3;                            ///< the loss with this number ends the task
  int max_snoozes = 1000;                        ///< the snooze after these ends the task
  bool retry_lost = true;                        ///< false: the first loss ends the task
  bool dead_letter = true;                       ///< false: a task that fails for good is discarded, not failed
};

/// Whether a snooze counts towards max_snoozes. A wait that the handler has planned (Context::sleep, wait_event) does
/// not: each is a step, and a task has no more than 10,000.
enum class SnoozeCount { counted, not_counted };

/// How the attempt ended.
struct Ending {
  Outcome outcome = Outcome::succeeded;
  /// Of a failed one; none is UNHANDLED_EXCEPTION. The other outcomes have codes of their own.
  std::optional<ErrorCode> error_code = {};
  std::string error_message = {};  ///< for a Custom policy
  /// Of a failed or timed_out one; replaces the policy's delay, cut to 1 ms .. 24 h.
  std::optional<milliseconds> retry_after = {};
  Precision precision = Precision::exact;  ///< of retry_after
  milliseconds snooze{0};                  ///< of a snoozed one: how long after its end the task runs again
  SnoozeCount snooze_count = SnoozeCount::counted;
};

/// Decides. Gives nothing if the task is not `running`: the reporting worker does not hold the task any more, and the
/// report is fenced. A fenced report changes nothing and leaves no attempt row. `draw` is uniform in [0, 1). Throws
/// InvalidPolicy if a policy out of its limits must give a delay. Thread-safe.
[[nodiscard]] std::optional<Transition> after_attempt(const TaskState& task, const Rules& rules, const Ending& ending,
                                                      double draw);

/// Changes a transition that is not carried out yet, because the task's cancellation was requested. Success stands,
/// because the work is done. Otherwise the task ends as cancelled and gets back a retry that it would have spent. The
/// attempt's outcome is `cancelled`, and no snooze is counted; but a lost one stays `lost`. Thread-safe.
[[nodiscard]] Transition under_cancel(Transition decided);

/// Changes a transition that is not carried out yet, because the next run would fall after the task's expires_at. The
/// task ends as expired and gets back a retry that it would have spent. The attempt's outcome does not change. A
/// transition without a next run stays as it is. Thread-safe.
[[nodiscard]] Transition under_expiry(Transition decided);

/// Whether a failure with this code is retried while retries are left: the code is listed, or "*" is. INVALID_ARGS,
/// INVALID_RESULT, INVALID_STEP and SNOOZED_TOO_OFTEN are never retried, even if listed: the next attempt would end in
/// the same way.
[[nodiscard]] bool is_retryable(const Rules& rules, std::string_view error_code) noexcept;

}  // namespace dogged::lifecycle
