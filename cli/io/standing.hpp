// Where tasks stand, and waiting for their end: shared by cancelling, waiting and rescheduling.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "cli/options/task_ids.hpp"
#include "cli/render/moment.hpp"
#include "db/connection_fwd.hpp"
#include "lifecycle/transition.hpp"

namespace dogged::cli {

struct Standing {
  std::string name;
  lifecycle::Status status = lifecycle::Status::pending;
  int attempt = 0;
  std::optional<std::string> worker;
  std::optional<Time> due_at;  ///< while it is pending
  std::optional<Time> finished_at;
  std::optional<std::string> result;  ///< JSON text, of an ended task
  std::optional<std::string> error_code;
  std::optional<std::string> error_message;
  Time now;

  [[nodiscard]] bool has_ended() const { return finished_at.has_value(); }
};

/// By id; a task that is not there has none.
using Standings = std::map<std::int64_t, Standing>;

[[nodiscard]] Standings look_at(db::Connection& connection, const TaskIds& ids);

/// Waits until all tasks have ended, `longest` is over, or Ctrl-C. Asks after 20 ms, then less and less often, at least
/// once a second. Calls `on_end` with the tasks that have ended meanwhile, or are gone.
void wait_for_end(db::Connection& connection, TaskIds ids, std::optional<std::chrono::milliseconds> longest,
                  const std::function<void(const TaskIds& ended, const Standings& standings)>& on_end);

}  // namespace dogged::cli
