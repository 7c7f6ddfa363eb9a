// See attempt_trace.hpp.
#include "run/attempt_trace.hpp"

#include <chrono>
#include <exception>
#include <utility>

#include "client/log_event.hpp"
#include "run/attempt.hpp"
#include "tasks/attempt_logger.hpp"
#include "tasks/definition.hpp"

namespace dogged::runtime {

bool AttemptTrace::begin(const ClaimedTask& task, const AttemptSettings& settings, spdlog::logger& log) {
  if (!task.trace_context.empty()) context_ = TraceContext::from_text(task.trace_context);
  const std::optional<TraceContext> producer = context_;
  std::unique_ptr<AttemptSpan> span;
  if (settings.tracer) span = begin_span(task, settings, log);
  if (context_) {
    const detail::Lock lock{mutex_};
    is_own_ = span && context_->sampled && (!producer || producer->trace_id != context_->trace_id);
    span_ = std::move(span);
    told_ = context_;
  }
  return task.trace_context.empty() || producer;
}

std::unique_ptr<AttemptSpan> AttemptTrace::begin_span(const ClaimedTask& task, const AttemptSettings& settings,
                                                      spdlog::logger& log) {
  try {
    auto span = settings.tracer->attempt_begins({.task_id = task.id,
                                                 .attempt = task.attempt,
                                                 .retry_count = task.retry_count,
                                                 .task_name = task.definition->name,
                                                 .queue = task.queue,
                                                 .worker = settings.worker,
                                                 .producer = context_,
                                                 .at = std::chrono::system_clock::now()});
    if (span) context_ = span->context();
    return span;
  } catch (const std::exception& error) {
    attempt_logger(log, task, context_)
        ->log(event("tracer_failed"), spdlog::level::err, "the tracer has thrown, which changes nothing: {}",
              error.what());
  } catch (...) {
    attempt_logger(log, task, context_)
        ->log(event("tracer_failed"), spdlog::level::err, "the tracer has thrown, which changes nothing");
  }
  return nullptr;
}

std::optional<std::string> AttemptTrace::own() const {
  const detail::Lock lock{mutex_};
  return is_own_ ? std::optional{context_->to_text()} : std::nullopt;
}

void AttemptTrace::leave() noexcept {
  const detail::Lock lock{mutex_};
  if (!span_) return;
  span_->left();
  if (std::exchange(heard_, Heard::left) == Heard::ended) span_.reset();
}

void AttemptTrace::end(Report& report) noexcept {
  const detail::Lock lock{mutex_};
  report.trace = std::move(told_);
  report.is_trace_of_its_own = is_own_;
  if (!span_) return;
  span_->ended(end_of(report));
  if (std::exchange(heard_, Heard::ended) == Heard::left) span_.reset();
}

}  // namespace dogged::runtime
