// The adapter for opentelemetry-cpp, with its SDK and its exporter in memory.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <opentelemetry/exporters/memory/in_memory_span_exporter.h>
#include <opentelemetry/sdk/trace/simple_processor.h>
#include <opentelemetry/sdk/trace/tracer_provider.h>

#include <dogged/client.hpp>
#include <dogged/opentelemetry.hpp>
#include <dogged/worker.hpp>

#include "support/catch.hpp"

using namespace dogged;
using namespace std::chrono_literals;
namespace otel = opentelemetry;

namespace {

const TraceContext producer =
    TraceContext::from_text("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 congo=t61rcWkgMzE").value();

/// An SDK that keeps the spans that have ended.
struct KeepingSdk {
  KeepingSdk() {
    auto exporter = std::make_unique<otel::exporter::memory::InMemorySpanExporter>();
    data = exporter->GetData();
    const std::shared_ptr<otel::trace::TracerProvider> made = std::make_shared<otel::sdk::trace::TracerProvider>(
        std::make_unique<otel::sdk::trace::SimpleSpanProcessor>(std::move(exporter)));
    provider = made;
  }

  std::shared_ptr<otel::exporter::memory::InMemorySpanData> data;
  OpenTelemetryTracer::Provider provider;
};

std::string hex_of(const otel::trace::TraceId& id) {
  char text[32];
  id.ToLowerBase16(text);
  return {text, sizeof text};
}

std::string text_of(const otel::sdk::trace::SpanData& span, const std::string& key) {
  return otel::nostd::get<std::string>(span.GetAttributes().at(key));
}

AttemptBegin begin_of(int attempt) {
  return {.task_id = 7,
          .attempt = attempt,
          .task_name = "mail.send",
          .queue = "mail",
          .worker = "app-1",
          .producer = producer,
          .at = std::chrono::system_clock::now()};
}

/// docs/tracing.md shows it; it needs a database to run.
[[maybe_unused]] void run_guide(const std::string& url) {
  const auto tracer = std::make_shared<dogged::OpenTelemetryTracer>();  // after Provider::SetTracerProvider
  dogged::Worker worker{{.database_url = url, .tracer = tracer}};
  dogged::Client client{url, {.middleware = {dogged::trace_enqueues(tracer)}}};
}

}  // namespace

TEST_CASE("the first attempt's span is a child of the producer's, with the attributes of dogged") {
  KeepingSdk sdk;
  OpenTelemetryTracer tracer{sdk.provider};
  const auto span = tracer.attempt_begins(begin_of(1));
  CHECK(span->context().trace_id == producer.trace_id);
  CHECK(span->context().tracestate == producer.tracestate);
  span->left();
  span->ended({.outcome = AttemptOutcome::failed, .error_code = "HTTP_503", .error_message = "down", .retry_in = 30s});
  const auto spans = sdk.data->GetSpans();
  REQUIRE(spans.size() == 1);
  const auto& data = *spans.front();
  CHECK(hex_of(data.GetTraceId()) == producer.trace_id_text());
  char parent[16];
  data.GetParentSpanId().ToLowerBase16(parent);
  CHECK(std::string(parent, sizeof parent) == producer.span_id_text());
  CHECK(data.GetName() == "process mail.send");
  CHECK(data.GetSpanKind() == otel::trace::SpanKind::kConsumer);
  CHECK(data.GetStatus() == otel::trace::StatusCode::kError);
  CHECK(data.GetDescription() == "down");
  CHECK(text_of(data, "messaging.message.id") == "7");
  CHECK(text_of(data, "messaging.destination.name") == "mail");
  CHECK(text_of(data, "messaging.client.id") == "app-1");
  CHECK(text_of(data, "error.type") == "HTTP_503");
  CHECK(otel::nostd::get<std::int64_t>(data.GetAttributes().at("dogged.attempt")) == 1);
  CHECK(otel::nostd::get<std::int64_t>(data.GetAttributes().at("dogged.delay_ms")) == 30000);
}

TEST_CASE("a retry's span is the root of a trace of its own, with a link to the producer's") {
  KeepingSdk sdk;
  OpenTelemetryTracer tracer{sdk.provider};
  const auto around = sdk.provider->GetTracer("test")->StartSpan("around");  // not its parent
  const otel::trace::Scope scope{around};
  const auto span = tracer.attempt_begins(begin_of(2));
  span->left();
  span->ended({});
  const auto spans = sdk.data->GetSpans();
  REQUIRE(spans.size() == 1);
  const auto& data = *spans.front();
  CHECK(hex_of(data.GetTraceId()) != producer.trace_id_text());
  CHECK_FALSE(data.GetParentSpanId().IsValid());
  REQUIRE(data.GetLinks().size() == 1);
  CHECK(hex_of(data.GetLinks().front().GetSpanContext().trace_id()) == producer.trace_id_text());
  CHECK(data.GetStatus() == otel::trace::StatusCode::kUnset);
}

TEST_CASE("the attempt's span is current on its handler's thread until the thread leaves it") {
  KeepingSdk sdk;
  OpenTelemetryTracer tracer{sdk.provider};
  CHECK_FALSE(tracer.current().has_value());
  const auto span = tracer.attempt_begins(begin_of(1));
  CHECK(tracer.current() == span->context());
  span->ended({});  // as of a handler that was given up
  CHECK(tracer.current() == span->context());
  span->left();
  CHECK_FALSE(tracer.current().has_value());
}

TEST_CASE("without an SDK there are no spans, and the producer's trace goes on") {
  OpenTelemetryTracer tracer{otel::trace::Provider::GetTracerProvider()};
  CHECK(tracer.attempt_begins(begin_of(1)) == nullptr);
}
