// The interface that a tracing library implements to see the tasks of a program: who enqueued a task, and a span for
// each attempt.
// docs/tracing.md
//
//   dogged::WorkerOptions options{.tracer = std::make_shared<MyTracer>()};
//   dogged::Client client{url, {.middleware = {dogged::trace_enqueues(options.tracer)}}};
//
// <dogged/opentelemetry.hpp> is such a tracer for opentelemetry-cpp. A worker without one that finds
// OTEL_EXPORTER_OTLP_ENDPOINT in its environment exports spans by itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include <dogged/middleware.hpp>
#include <dogged/task_id.hpp>
#include <dogged/trace_context.hpp>

namespace dogged {

class EnqueueMiddleware;  // <dogged/client.hpp>

/// An attempt that begins. The texts live as long as the call.
struct AttemptBegin {
  TaskId task_id = 0;
  int attempt = 1;      ///< from 1, over the whole life of the task
  int retry_count = 0;  ///< retries spent before it
  std::string_view task_name;
  std::string_view queue;
  std::string_view worker;  ///< its name
  /// The span that enqueued the task; nothing if the producer gave none, or none that is a W3C traceparent. The tracer
  /// must make the first attempt a child of this span. A further attempt must be the root of a trace of its own, with a
  /// link to this span.
  std::optional<TraceContext> producer;
  std::chrono::system_clock::time_point at;  ///< by the worker's clock
};

/// The span of one attempt.
class AttemptSpan {
 public:
  virtual ~AttemptSpan() = default;

  /// The handler's Context::trace(). Asked once, right after the attempt began.
  [[nodiscard]] virtual TraceContext context() const = 0;
  /// The attempt has ended so, as far as the worker knows. Called once, and mostly on the handler's thread, after the
  /// hooks (Middleware). On another thread while the handler still runs if the handler was given up. The function must
  /// not block, nor call the worker.
  virtual void ended(const AttemptEnd& end) noexcept = 0;
  /// The handler's thread leaves the span: called on that thread, after the hooks, before or after ended().
  virtual void left() noexcept {}

 protected:
  AttemptSpan() = default;
  AttemptSpan(const AttemptSpan&) = default;
  AttemptSpan& operator=(const AttemptSpan&) = default;
};

/// A call that is about to enqueue tasks which have no trace_context of their own. The texts live as long as the call.
struct SendBegin {
  std::string_view task_name;  ///< of the first task
  std::string_view queue;      ///< the same; empty unless the producer names it
  std::size_t count = 1;       ///< of the tasks
  /// The span in which the call is made: Tracer::current(), or that of the attempt whose handler makes it.
  std::optional<TraceContext> parent;
};

/// How the call ended.
struct SendEnd {
  TaskId first_id = 0;                  ///< 0: nothing was enqueued
  std::string_view error_code = {};     ///< empty if the tasks are enqueued
  std::string_view error_message = {};  ///< the same in words
};

/// The span of one call that enqueues.
class SendSpan {
 public:
  virtual ~SendSpan() = default;

  /// The trace_context of the call's tasks: their first attempts are children of it. Asked once.
  [[nodiscard]] virtual TraceContext context() const = 0;
  /// Called once, on the thread of send_begins(). The function must not block.
  virtual void ended(const SendEnd& end) noexcept = 0;

 protected:
  SendSpan() = default;
  SendSpan(const SendSpan&) = default;
  SendSpan& operator=(const SendSpan&) = default;
};

/// Derive from it. One object serves many threads at once. An exception is logged, and the attempt goes on without a
/// span.
class Tracer {
 public:
  virtual ~Tracer() = default;

  /// The span that the calling thread is in, for the tasks that it enqueues (trace_enqueues). Nothing: they carry none.
  [[nodiscard]] virtual std::optional<TraceContext> current() = 0;
  /// Begins the span of an attempt on the thread of its handler, before the hooks, and makes it that thread's current
  /// span until AttemptSpan::left(). Null: the attempt has none.
  [[nodiscard]] virtual std::unique_ptr<AttemptSpan> attempt_begins(const AttemptBegin& begin) = 0;
  /// Begins the span of a call that enqueues. Null: there is none, and the tasks carry the span in which the call is
  /// made.
  [[nodiscard]] virtual std::unique_ptr<SendSpan> send_begins(const SendBegin&) { return nullptr; }

 protected:
  Tracer() = default;
  Tracer(const Tracer&) = default;
  Tracer& operator=(const Tracer&) = default;
};

/// For ClientOptions::middleware: makes a span of each call (Tracer::send_begins), and gives it to the tasks that have
/// no trace_context of their own. Without such a span they get `tracer->current()`. In a handler the worker's tracer
/// does the same for every client, without this. Throws InvalidInput if `tracer` is null.
[[nodiscard]] std::shared_ptr<EnqueueMiddleware> trace_enqueues(std::shared_ptr<Tracer> tracer);

}  // namespace dogged
