// The parts of the checker, each in a file of its own, and what they share.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checker.hpp"

namespace dogged::faults {

using Complaints = std::vector<std::string>;
/// By number.
using AttemptsOf = std::map<TaskId, std::vector<AttemptRow>>;

/// The server's statements read their snapshot, then the clock, and commit later. So what one of them writes may be a
/// little later than the time at which another one was done. On a busy machine, just after the server has started:
/// over 50 ms.
inline constexpr TimeUs at_once = 250'000;

[[nodiscard]] inline std::string name_of(TaskId task) { return "task " + std::to_string(task); }
[[nodiscard]] inline std::string name_of(TaskId task, int attempt) {
  return name_of(task) + " attempt " + std::to_string(attempt);
}

/// Complains if two of these tasks ran at once, also while one of them waited for its next attempt. The complaint names
/// the tasks by `whose`, such as `of key "a"`.
void check_one_at_a_time(std::vector<const TaskRow*> tasks, const AttemptsOf& attempts, const std::string& whose,
                         Complaints& complaints);

/// Each tick fires at most once, and none is lost in silence (docs/schedules.md).
void check_ticks(const Evidence& evidence, const AttemptsOf& attempts, Complaints& complaints);

/// A unique key has one holder, whom each enqueue meets that makes no task (docs/unique.md).
void check_keys(const Evidence& evidence, const AttemptsOf& attempts, Complaints& complaints);
void check_keys(const Moment& moment, Complaints& complaints);

/// No later attempt repeats a recorded step, and each wait ends (docs/steps.md).
void check_steps(const Evidence& evidence, const AttemptsOf& attempts, Complaints& complaints);
void check_waits(const Moment& moment, Complaints& complaints);

}  // namespace dogged::faults
