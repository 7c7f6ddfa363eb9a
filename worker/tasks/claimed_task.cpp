// See claimed_task.hpp.
#include "tasks/claimed_task.hpp"

#include "tasks/definition.hpp"

namespace dogged::runtime {

TimePoint deadline_of(const ClaimedTask& task, TimePoint started_at) {
  const milliseconds timeout = task.definition->timeout;
  return timeout.count() > 0 ? started_at + timeout : never;
}

}  // namespace dogged::runtime
