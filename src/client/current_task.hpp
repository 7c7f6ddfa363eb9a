// The task whose handler runs on this thread: the parent of tasks that the handler enqueues.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <dogged/task_id.hpp>
#include <dogged/trace_context.hpp>

namespace dogged {
class EnqueueMiddleware;  // <dogged/client.hpp>
}  // namespace dogged

namespace dogged::detail {

struct CurrentTask {
  TaskId id = 0;                        ///< 0: no handler runs on this thread
  std::string_view installation;        ///< of the task: dogged.settings.installation
  const TraceContext* trace = nullptr;  ///< Context::trace(), for the tasks that the handler enqueues; may be null
  /// Around each enqueue of the handler; may be null.
  const std::shared_ptr<EnqueueMiddleware>* tracing = nullptr;
};

[[nodiscard]] CurrentTask current_task() noexcept;

/// While the scope lives, the task `id` is the current task of its thread. The scope keeps references to its arguments,
/// so no argument may be a temporary.
class CurrentTaskScope {
 public:
  using Text = std::reference_wrapper<const std::string>;
  CurrentTaskScope(TaskId id, Text installation, const TraceContext* trace,
                   const std::shared_ptr<EnqueueMiddleware>* tracing) noexcept;
  ~CurrentTaskScope();
  CurrentTaskScope(const CurrentTaskScope&) = delete;
  CurrentTaskScope& operator=(const CurrentTaskScope&) = delete;

 private:
  const CurrentTask outer_;
};

}  // namespace dogged::detail
