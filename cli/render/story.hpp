// Puts a task's history into words: its standing, the reason of its end, and the retries spent. Pure. The timeline and
// the JSON of `tasks show` use the same words.
#pragma once

#include <optional>
#include <string>

#include "cli/render/task_view.hpp"

namespace dogged::cli {

/// How many retries its policy allows; nothing where no policy is known.
[[nodiscard]] std::optional<int> max_retries_of(const TaskHistory& history);

/// The policy of the definition, else the policy of the last retry, else empty.
[[nodiscard]] std::string policy_of(const TaskHistory& history);

/// Whether what comes next is a retry by policy, and not a first run or one after a lost or interrupted
/// attempt.
[[nodiscard]] bool waits_for_retry(const TaskHistory& history);

/// The wait that the handler has announced, as in `waits for the event payment:42`; empty: none.
[[nodiscard]] std::string wait_text(const TaskView& task);

/// `retry 3 of 5`
[[nodiscard]] std::string retry_text(const TaskHistory& history, int retry);

/// Why a failed task was not tried again, as far as its attempts and its definition of today tell; empty
/// otherwise.
[[nodiscard]] std::string why_it_failed(const TaskHistory& history);

/// When a cancelled task was cancelled, as in `while attempt 2 ran`; empty for other tasks.
[[nodiscard]] std::string how_it_was_cancelled(const TaskHistory& history);

/// Why a pending task waits although its time has come, as in `no worker has taken it yet`.
[[nodiscard]] std::string why_it_waits(const TaskHistory& history, Zone zone);

/// `its queue is paused until 14:00:00`; empty if the queue is not paused.
[[nodiscard]] std::string pause_text(const TaskView& task, Zone zone);

/// Whether nothing but a rescue will end the running attempt: its worker did not renew its lease.
[[nodiscard]] bool waits_for_rescue(const TaskHistory& history);

/// One sentence on an attempt whose end was not its handler's own doing (lost, timed_out, cancelled, interrupted);
/// empty for the others.
[[nodiscard]] std::string why_it_was_cut_short(const TaskHistory& history, const AttemptView& attempt, Zone zone);

/// How long its handlers ran, all attempts together.
[[nodiscard]] microseconds time_running(const TaskHistory& history);

}  // namespace dogged::cli
