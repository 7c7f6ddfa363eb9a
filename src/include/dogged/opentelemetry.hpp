// A tracer for opentelemetry-cpp: a program that has set up its SDK sees dogged's attempts among its own spans.
// Compiles where the headers of opentelemetry-cpp are (tried with 1.29); dogged itself does not need them.
//
//   const auto tracer = std::make_shared<dogged::OpenTelemetryTracer>();   // after Provider::SetTracerProvider
//   dogged::Worker worker{{.database_url = url, .tracer = tracer}};
//   dogged::Client client{url, {.middleware = {dogged::trace_enqueues(tracer)}}};
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <opentelemetry/common/timestamp.h>
#include <opentelemetry/context/context.h>
#include <opentelemetry/trace/provider.h>
#include <opentelemetry/trace/scope.h>
#include <opentelemetry/trace/span_context.h>
#include <opentelemetry/trace/span_startoptions.h>
#include <opentelemetry/trace/trace_state.h>
#include <opentelemetry/trace/tracer.h>

#include <dogged/tracer.hpp>

namespace dogged {
namespace detail {

[[nodiscard]] inline opentelemetry::trace::SpanContext to_opentelemetry(const TraceContext& context) {
  namespace trace = opentelemetry::trace;
  const auto flags = static_cast<std::uint8_t>(context.sampled ? trace::TraceFlags::kIsSampled : 0);
  return {trace::TraceId{context.trace_id}, trace::SpanId{context.span_id}, trace::TraceFlags{flags},
          true,  // of another process
          trace::TraceState::FromHeader(context.tracestate)};
}

/// Nothing if there is no span.
[[nodiscard]] inline std::optional<TraceContext> from_opentelemetry(const opentelemetry::trace::SpanContext& from) {
  if (!from.IsValid()) return std::nullopt;
  TraceContext context;
  from.trace_id().CopyBytesTo(context.trace_id);
  from.span_id().CopyBytesTo(context.span_id);
  context.sampled = from.IsSampled();
  context.tracestate = from.trace_state()->ToHeader();
  return context;
}

class OpenTelemetrySpan final : public AttemptSpan {
 public:
  using Span = opentelemetry::nostd::shared_ptr<opentelemetry::trace::Span>;

  explicit OpenTelemetrySpan(Span span) : span_(std::move(span)), scope_(std::in_place, span_) {}

  [[nodiscard]] TraceContext context() const override {
    return from_opentelemetry(span_->GetContext()).value_or(TraceContext{});
  }

  void ended(const AttemptEnd& end) noexcept override {
    span_->SetAttribute("dogged.outcome", in_opentelemetry(to_text(end.outcome)));
    if (!end.error_code.empty()) span_->SetAttribute("error.type", in_opentelemetry(end.error_code));
    if (end.retry_in) span_->SetAttribute("dogged.delay_ms", std::int64_t{end.retry_in->count()});
    if (end.outcome == AttemptOutcome::failed || end.outcome == AttemptOutcome::timed_out) {
      span_->SetStatus(opentelemetry::trace::StatusCode::kError, in_opentelemetry(end.error_message));
    }
    span_->End();
  }

  void left() noexcept override { scope_.reset(); }

  [[nodiscard]] static opentelemetry::nostd::string_view in_opentelemetry(std::string_view text) noexcept {
    return {text.data(), text.size()};
  }

 private:
  const Span span_;
  std::optional<opentelemetry::trace::Scope> scope_;
};

}  // namespace detail

class OpenTelemetryTracer final : public Tracer {
 public:
  using Provider = opentelemetry::nostd::shared_ptr<opentelemetry::trace::TracerProvider>;

  explicit OpenTelemetryTracer(const Provider& provider = opentelemetry::trace::Provider::GetTracerProvider())
      : tracer_(provider->GetTracer("dogged")) {}

  [[nodiscard]] std::optional<TraceContext> current() override {
    return detail::from_opentelemetry(opentelemetry::trace::Tracer::GetCurrentSpan()->GetContext());
  }

  [[nodiscard]] std::unique_ptr<AttemptSpan> attempt_begins(const AttemptBegin& begin) override {
    namespace trace = opentelemetry::trace;
    using detail::OpenTelemetrySpan;
    trace::StartSpanOptions options;
    options.kind = trace::SpanKind::kConsumer;
    options.start_system_time = opentelemetry::common::SystemTimestamp{begin.at};
    options.parent = opentelemetry::context::Context{trace::kIsRootSpanKey, true};
    std::vector<std::pair<trace::SpanContext, std::vector<std::pair<std::string, std::string>>>> links;
    if (begin.producer) {
      const trace::SpanContext producer = detail::to_opentelemetry(*begin.producer);
      if (begin.attempt == 1) {
        options.parent = producer;
      } else {
        links.push_back({producer, {}});
      }
    }
    const std::string name = "process " + std::string{begin.task_name};
    const std::string id = std::to_string(begin.task_id);
    const std::vector<std::pair<opentelemetry::nostd::string_view, opentelemetry::common::AttributeValue>> attributes{
        {"messaging.system", "dogged"},
        {"messaging.operation.name", "process"},
        {"messaging.operation.type", "process"},
        {"messaging.destination.name", OpenTelemetrySpan::in_opentelemetry(begin.queue)},
        {"messaging.message.id", opentelemetry::nostd::string_view{id}},
        {"messaging.client.id", OpenTelemetrySpan::in_opentelemetry(begin.worker)},
        {"dogged.task", OpenTelemetrySpan::in_opentelemetry(begin.task_name)},
        {"dogged.attempt", std::int64_t{begin.attempt}},
        {"dogged.retry_count", std::int64_t{begin.retry_count}}};
    OpenTelemetrySpan::Span span = tracer_->StartSpan(name, attributes, links, options);
    if (!span->GetContext().IsValid()) return nullptr;  // no SDK is set up
    return std::make_unique<OpenTelemetrySpan>(std::move(span));
  }

 private:
  const opentelemetry::nostd::shared_ptr<opentelemetry::trace::Tracer> tracer_;
};

}  // namespace dogged
