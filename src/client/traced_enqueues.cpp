// trace_enqueues: the producer's span goes with the tasks.
#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <dogged/client.hpp>
#include <dogged/error.hpp>
#include <dogged/tracer.hpp>

#include "client/current_task.hpp"
#include "retry/failure_code.hpp"

namespace dogged {
namespace {

bool has_no_context(const NewTask& task) { return task.options.trace_context.empty(); }

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& thrown) {
    return thrown.what();
  } catch (...) {
    return "an exception of another type";
  }
}

/// The spans of the calls under way on this thread, one for each TracedEnqueues around each of them; null: it makes
/// none. The hooks of calls are nested, so the last one is always the one that ends.
thread_local std::vector<std::unique_ptr<SendSpan>> spans_under_way;

class TracedEnqueues final : public EnqueueMiddleware {
 public:
  explicit TracedEnqueues(std::shared_ptr<Tracer> tracer) : tracer_(std::move(tracer)) {}

  void before(std::vector<NewTask>& tasks) override {
    const auto first = std::find_if(tasks.begin(), tasks.end(), has_no_context);
    std::unique_ptr<SendSpan> span;
    if (first != tasks.end()) {
      const std::optional<TraceContext> parent = surroundings();
      span = tracer_->send_begins({.task_name = first->name,
                                   .queue = first->options.queue.empty() ? first->key_queue : first->options.queue,
                                   .count = static_cast<std::size_t>(std::count_if(first, tasks.end(), has_no_context)),
                                   .parent = parent});
      if (span) {
        give(tasks, span->context().to_text());
      } else if (parent && !is_of_handler()) {
        give(tasks, parent->to_text());
      }
    }
    spans_under_way.push_back(std::move(span));
  }

  void after(const std::vector<NewTask>&, const std::vector<TaskId>& ids) override {
    if (const auto span = take()) span->ended({.first_id = ids.front(), .error_code = {}, .error_message = {}});
  }
  void on_error(const std::vector<NewTask>&, const std::exception_ptr& error) override {
    const auto span = take();
    if (!span) return;
    const ErrorCode code = failure_code(error);
    const std::string message = message_of(error);
    span->ended({.first_id = 0, .error_code = code.view(), .error_message = message});
  }

 private:
  /// Then the tasks carry the trace of the handler by themselves.
  [[nodiscard]] bool is_of_handler() const {
    const auto* const tracing = detail::current_task().tracing;
    return tracing != nullptr && tracing->get() == this;
  }

  /// The span in which the call is made.
  [[nodiscard]] std::optional<TraceContext> surroundings() const {
    if (auto current = tracer_->current()) return current;
    const TraceContext* const of_handler = detail::current_task().trace;
    return of_handler != nullptr ? std::optional{*of_handler} : std::nullopt;
  }

  static void give(std::vector<NewTask>& tasks, const std::string& context) {
    for (NewTask& task : tasks) {
      if (has_no_context(task)) task.options.trace_context = context;
    }
  }

  static std::unique_ptr<SendSpan> take() {
    std::unique_ptr<SendSpan> span = std::move(spans_under_way.back());
    spans_under_way.pop_back();
    return span;
  }

  const std::shared_ptr<Tracer> tracer_;
};

}  // namespace

std::shared_ptr<EnqueueMiddleware> trace_enqueues(std::shared_ptr<Tracer> tracer) {
  if (!tracer) throw InvalidInput("trace_enqueues got no tracer", "give it one, or leave the middleware out");
  return std::make_shared<TracedEnqueues>(std::move(tracer));
}

}  // namespace dogged
