// The task whose handler runs on this thread: the parent of tasks that the handler enqueues.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <dogged/task.hpp>

namespace dogged::detail {

struct CurrentTask {
  TaskId id = 0;                  ///< 0: no handler runs on this thread
  std::string_view installation;  ///< of the task: dogged.settings.installation
  std::string_view trace = {};    ///< Context::trace() as text, for the tasks that the handler enqueues; may be empty
};

[[nodiscard]] CurrentTask current_task() noexcept;

/// While it lives, the task `id` is the current one of its thread. It refers to its texts, which cannot be temporaries.
class CurrentTaskScope {
 public:
  using Text = std::reference_wrapper<const std::string>;
  CurrentTaskScope(TaskId id, Text installation, Text trace) noexcept;
  ~CurrentTaskScope();
  CurrentTaskScope(const CurrentTaskScope&) = delete;
  CurrentTaskScope& operator=(const CurrentTaskScope&) = delete;

 private:
  const CurrentTask outer_;
};

}  // namespace dogged::detail
