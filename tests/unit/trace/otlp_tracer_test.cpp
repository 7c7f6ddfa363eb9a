// The worker's own tracer: the spans that it makes of attempts.
#include "trace/otlp_tracer.hpp"

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "trace/otlp_json.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using runtime::OtlpTracer;
using runtime::SpanQueue;

namespace {

const TraceContext producer =
    TraceContext::from_text("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 congo=1").value();

std::shared_ptr<SpanQueue> queue_of_ten() {
  return std::make_shared<SpanQueue>(10, 10, std::make_shared<runtime::Tally>());
}

/// The span of an attempt that has ended so.
runtime::Span span_of(const AttemptBegin& begin, const AttemptEnd& end) {
  const auto queue = queue_of_ten();
  OtlpTracer{{}, queue}.attempt_begins(begin)->ended(end);
  return queue->take().at(0);
}

}  // namespace

TEST_CASE("each span has ids of its own, and a first attempt keeps the producer's trace and tracestate") {
  const auto queue = queue_of_ten();
  OtlpTracer tracer{{}, queue};
  const TraceContext child = tracer.attempt_begins({.attempt = 1, .producer = producer})->context();
  CHECK(child.trace_id == producer.trace_id);
  CHECK(child.tracestate == "congo=1");
  CHECK(child.span_id != producer.span_id);
  const TraceContext one = tracer.attempt_begins({.attempt = 1})->context();
  const TraceContext other = tracer.attempt_begins({.attempt = 1})->context();
  CHECK(one.trace_id != other.trace_id);
  CHECK(one.span_id != other.span_id);
  CHECK(TraceContext::from_text(one.to_text()) == one);
}

TEST_CASE("a span lasts as long as its attempt ran") {
  const auto begins_at = std::chrono::system_clock::time_point{1'700'000'000s};
  const runtime::Span span = span_of({.at = begins_at}, {.running_for = 30ms});
  CHECK(span.began_ns == 1'700'000'000'000'000'000);
  CHECK(span.ended_ns - span.began_ns == 30'000'000);
}

TEST_CASE("an attempt that is not sampled hands its context on, and has no span") {
  const auto queue = queue_of_ten();
  const auto attempt = OtlpTracer{{.ratio = 0}, queue}.attempt_begins({});
  attempt->ended({});
  CHECK_FALSE(attempt->context().sampled);
  CHECK(queue->look().spans == 0);
}

TEST_CASE("the message of an error is cut to 1 KiB before its span waits, and is JSON even if a character is cut") {
  std::string message(1023, 'x');
  for (int i = 0; i < 30'000; ++i) message += "\xC3\xA9";
  const runtime::Span span =
      span_of({}, {.outcome = AttemptOutcome::failed, .error_code = "BROKEN", .error_message = message});
  CHECK(span.error_message.size() == 1024);
  runtime::OtlpJson json{{{"service.name", "\xFF"}}, "app-1"};
  std::string text = "of an earlier request";
  json.write_request(std::vector{span, span}, text);
  const auto request = nlohmann::json::parse(text);
  const auto& spans = request.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans");
  CHECK(spans.size() == 2);
  CHECK(spans.at(1).at("status").at("message").get<std::string>() == std::string(1023, 'x') + "\xEF\xBF\xBD");
}
