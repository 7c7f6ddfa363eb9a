// The script of a handler with durable steps, one item after the other. The script depends on the seed and the task
// alone, so each attempt of a task has the same one.
#pragma once

#include <string>
#include <vector>

#include "database.hpp"
#include "scheduler.hpp"

namespace dogged::sim {

struct ScriptItem {
  enum class Kind {
    step,    ///< Context::step
    loop,    ///< Context::checkpoint
    charge,  ///< Context::step_in
    sleep,   ///< Context::sleep
    event,   ///< Context::wait_event
  };

  Kind kind = Kind::step;
  std::string name;
  milliseconds time{0};   ///< of a sleep, or until an event is not waited for any more
  std::int64_t rows = 0;  ///< of a loop
};
using Script = std::vector<ScriptItem>;

/// Two tasks share an event.
[[nodiscard]] std::string event_for(TaskId id);

[[nodiscard]] Script script_of(const Scheduler& scheduler, Kind kind, TaskId id);

}  // namespace dogged::sim
