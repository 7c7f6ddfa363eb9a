// See current_task.hpp.
#include "client/current_task.hpp"

#include <utility>

namespace dogged::detail {
namespace {

thread_local CurrentTask task_of_thread;

}  // namespace

CurrentTask current_task() noexcept { return task_of_thread; }

CurrentTaskScope::CurrentTaskScope(TaskId id, Text installation, const TraceContext* trace,
                                   const std::shared_ptr<EnqueueMiddleware>* tracing) noexcept
    : outer_(std::exchange(task_of_thread, {id, installation.get(), trace, tracing})) {}
CurrentTaskScope::~CurrentTaskScope() { task_of_thread = outer_; }

}  // namespace dogged::detail
