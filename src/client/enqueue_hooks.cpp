// The hooks around an enqueue: EnqueueMiddleware.
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <spdlog/spdlog.h>

#include <dogged/client.hpp>

#include "client/current_task.hpp"
#include "client/log_event.hpp"

namespace dogged::detail {
namespace {

template <class Hook>
void call_hook(spdlog::logger& log, std::string_view name, const Hook& hook) {
  try {
    hook();
  } catch (const std::exception& error) {
    log.log(event("middleware_failed"), spdlog::level::err,
            "an EnqueueMiddleware's {} has thrown, which changes nothing: {}", name, error.what());
  } catch (...) {
    log.log(event("middleware_failed"), spdlog::level::err,
            "an EnqueueMiddleware's {} has thrown, which changes nothing", name);
  }
}

}  // namespace

bool has_enqueue_hooks(const EnqueueMiddlewares& middleware) {
  return !middleware.empty() || current_task().tracing != nullptr;
}

std::vector<Enqueued> enqueue_within(const EnqueueMiddlewares& middleware, std::vector<NewTask> tasks,
                                     spdlog::logger* log,
                                     const std::function<std::vector<Enqueued>(const std::vector<NewTask>&)>& enqueue) {
  EnqueueMiddlewares hooks = middleware;
  if (const auto* const tracing = current_task().tracing) hooks.push_back(*tracing);
  spdlog::logger& told = log != nullptr ? *log : *spdlog::default_logger_raw();
  const std::size_t count = tasks.size();
  std::size_t begun = 0;
  std::vector<Enqueued> enqueued;
  try {
    for (const auto& hook : hooks) {
      hook->before(tasks);
      ++begun;
    }
    if (tasks.size() != count) {
      throw InvalidInput(
          "an EnqueueMiddleware made " + std::to_string(tasks.size()) + " tasks of " + std::to_string(count),
          "before() may change tasks, and not how many there are. Nothing was enqueued.");
    }
    enqueued = enqueue(tasks);
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    for (std::size_t i = begun; i-- > 0;) call_hook(told, "on_error", [&] { hooks[i]->on_error(tasks, error); });
    throw;
  }
  const std::vector<TaskId> ids = ids_of(enqueued);
  for (std::size_t i = begun; i-- > 0;) call_hook(told, "after", [&] { hooks[i]->after(tasks, ids); });
  return enqueued;
}

}  // namespace dogged::detail
