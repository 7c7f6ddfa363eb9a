// See attempt_trace.hpp.
#include "run/attempt_trace.hpp"

#include <chrono>
#include <exception>
#include <utility>

#include "client/log_event.hpp"
#include "run/attempt.hpp"

namespace dogged::runtime {

bool AttemptTrace::begin(const ClaimedTask& task, const AttemptSettings& settings, spdlog::logger& log) {
  if (!task.trace_context.empty()) context_ = TraceContext::from_text(task.trace_context);
  const bool is_malformed = !task.trace_context.empty() && !context_;
  if (settings.tracer) begin_span(task, settings, log);
  if (context_) {
    std::string id = context_->trace_id_text();
    const detail::Lock lock{mutex_};
    id_ = std::move(id);
  }
  return !is_malformed;
}

void AttemptTrace::begin_span(const ClaimedTask& task, const AttemptSettings& settings, spdlog::logger& log) {
  std::unique_ptr<AttemptSpan> span;
  try {
    span = settings.tracer->attempt_begins({.task_id = task.id,
                                            .attempt = task.attempt,
                                            .retry_count = task.retry_count,
                                            .task_name = task.definition->name,
                                            .queue = task.queue,
                                            .worker = settings.worker,
                                            .producer = context_,
                                            .at = std::chrono::system_clock::now()});
    if (!span) return;
    context_ = span->context();
  } catch (const std::exception& error) {
    log.log(event("tracer_failed"), spdlog::level::err,
            "task {} attempt {}: the tracer has thrown, which changes nothing: {}", task.id, task.attempt,
            error.what());
    return;
  } catch (...) {
    log.log(event("tracer_failed"), spdlog::level::err,
            "task {} attempt {}: the tracer has thrown, which changes nothing", task.id, task.attempt);
    return;
  }
  const detail::Lock lock{mutex_};
  span_ = std::move(span);
}

void AttemptTrace::leave() noexcept {
  const detail::Lock lock{mutex_};
  if (!span_) return;
  has_left_ = true;
  span_->left();
  if (has_ended_) span_.reset();
}

void AttemptTrace::end(const Report& report) noexcept {
  const detail::Lock lock{mutex_};
  if (!span_) return;
  has_ended_ = true;
  span_->ended(end_of(report));
  if (has_left_) span_.reset();
}

std::string AttemptTrace::id() const {
  const detail::Lock lock{mutex_};
  return id_;
}

}  // namespace dogged::runtime
