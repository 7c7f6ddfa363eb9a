// The trace of one attempt: the producer's context, and the span that the worker's tracer makes of the attempt.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <spdlog/logger.h>

#include <dogged/detail/mutex.hpp>
#include <dogged/tracer.hpp>

#include "tasks/core/claimed_task.hpp"

namespace dogged::runtime {

struct AttemptSettings;

/// end() is for any thread, the other functions are for the thread of the handler. An exception of the tracer is logged
/// and changes nothing.
class AttemptTrace {
 public:
  /// Reads the producer's context, and begins a span if the worker has a tracer. False: the producer's context is no
  /// W3C traceparent, and was dropped.
  bool begin(const ClaimedTask& task, const AttemptSettings& settings, spdlog::logger& log);
  /// The handler's thread has done with the attempt. Call it once.
  void leave() noexcept;

  /// The attempt's span, else the producer's; nothing if there is neither.
  [[nodiscard]] const std::optional<TraceContext>& context() const noexcept { return context_; }

  /// The trace context of an attempt that is the sampled root of a trace. The attempt goes on record with this context,
  /// and not with its task's. Nothing for other attempts.
  [[nodiscard]] std::optional<std::string> own() const;

  /// Ends the span, if there is one, and tells the report of the trace. Call it once.
  void end(Report& report) noexcept;

 private:
  /// The calls that the span has had so far. leave() and end() come in any order, and the second ends the span's life.
  enum class Heard { nothing, left, ended };

  /// Null if the tracer makes none. Sets context_ to that of the span.
  [[nodiscard]] std::unique_ptr<AttemptSpan> begin_span(const ClaimedTask& task, const AttemptSettings& settings,
                                                        spdlog::logger& log);

  std::optional<TraceContext> context_;  // written by begin() alone
  mutable detail::Mutex mutex_;
  std::unique_ptr<AttemptSpan> span_ DOGGED_GUARDED_BY(mutex_);  // until it has ended and the thread has left it
  Heard heard_ DOGGED_GUARDED_BY(mutex_) = Heard::nothing;
  std::optional<TraceContext> told_ DOGGED_GUARDED_BY(mutex_);  // a copy of context_
  bool is_own_ DOGGED_GUARDED_BY(mutex_) = false;               // the attempt is the sampled root of a trace
};

}  // namespace dogged::runtime
