// See otlp_json.hpp.
#include "trace/otlp_json.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>

#include <nlohmann/json.hpp>

namespace dogged::runtime {
namespace {

constexpr int kind_producer = 4;
constexpr int kind_consumer = 5;
constexpr int status_error = 2;
// SpanFlags of trace.proto: whether the parent or the linked span is of another process is known; and it is.
constexpr int is_known = 0x100;
constexpr int is_remote = is_known | 0x200;

std::string as_json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void add_number(std::string& json, std::int64_t number) {
  char digits[20];
  const auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), number);
  json.append(digits, end);
}

/// A 64-bit number is a text in OTLP's JSON.
void add_quoted_number(std::string& json, std::int64_t number) {
  json += '"';
  add_number(json, number);
  json += '"';
}

void add_key(std::string& json, std::string_view key) {
  if (json.back() == '}') json += ',';
  ((json += R"({"key":)") += as_json_text(key)) += R"(,"value":{)";
}

/// With a literal key, and a value that needs no escapes.
void add_text(std::string& json, std::string_view key, std::string_view value) {
  if (json.back() == '}') json += ',';
  (((json += R"({"key":")") += key) += R"(","value":{"stringValue":")") += value;
  json += R"("}})";
}

void add_number(std::string& json, std::string_view key, std::int64_t value) {
  if (json.back() == '}') json += ',';
  ((json += R"({"key":")") += key) += R"(","value":{"intValue":)";
  add_quoted_number(json, value);
  json += "}}";
}

void add_free_text(std::string& json, std::string_view key, std::string_view value) {
  add_key(json, key);
  ((json += R"("stringValue":)") += as_json_text(value)) += "}}";
}

template <std::size_t Size>
void add_hex(std::string& json, const std::array<std::uint8_t, Size>& id) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::array<char, 2 * Size> text;
  for (std::size_t i = 0; i < Size; ++i) {
    text[2 * i] = digits[id[i] >> 4];
    text[2 * i + 1] = digits[id[i] & 0xf];
  }
  json.append(text.data(), text.size());
}

/// The members that a span and a link share.
void add_identity(std::string& json, const TraceContext& context) {
  add_hex(json += R"("traceId":")", context.trace_id);
  add_hex(json += R"(","spanId":")", context.span_id);
  json += '"';
  if (!context.tracestate.empty()) (json += R"(,"traceState":)") += as_json_text(context.tracestate);
}

void add_flags(std::string& json, bool sampled, int of_other_span) {
  json += R"(,"flags":)";
  add_number(json, (sampled ? 1 : 0) | of_other_span);
}

void add_attributes_of_attempt(std::string& json, const Span& span) {
  add_text(json, "messaging.destination.name", span.queue);
  add_text(json, "messaging.message.id", std::to_string(span.task_id));
  add_text(json, "dogged.task", span.task_name);
  add_number(json, "dogged.attempt", span.attempt);
  add_number(json, "dogged.retry_count", span.retry_count);
  add_text(json, "dogged.outcome", to_text(span.outcome));
  if (span.retry_in) add_number(json, "dogged.delay_ms", span.retry_in->count());
}

void add_attributes_of_call(std::string& json, const Span& span) {
  if (!span.queue.empty()) add_free_text(json, "messaging.destination.name", span.queue);
  if (span.tasks > 1) {
    add_number(json, "messaging.batch.message_count", static_cast<std::int64_t>(span.tasks));
  } else if (span.task_id != 0) {
    add_text(json, "messaging.message.id", std::to_string(span.task_id));
  }
  add_free_text(json, "dogged.task", span.task_name);
}

void add_attributes(std::string& json, const Span& span, std::string_view worker) {
  const bool is_attempt = span.kind == Span::Kind::process;
  json += is_attempt ? R"(,"attributes":[)"
                       R"({"key":"messaging.system","value":{"stringValue":"dogged"}},)"
                       R"({"key":"messaging.operation.name","value":{"stringValue":"process"}},)"
                       R"({"key":"messaging.operation.type","value":{"stringValue":"process"}})"
                     : R"(,"attributes":[)"
                       R"({"key":"messaging.system","value":{"stringValue":"dogged"}},)"
                       R"({"key":"messaging.operation.name","value":{"stringValue":"send"}},)"
                       R"({"key":"messaging.operation.type","value":{"stringValue":"send"}})";
  if (!worker.empty()) (json += ',') += worker;
  is_attempt ? add_attributes_of_attempt(json, span) : add_attributes_of_call(json, span);
  if (!span.error_code.empty()) add_text(json, "error.type", span.error_code);
  json += ']';
}

bool is_error(const Span& span) {
  if (span.kind == Span::Kind::send) return !span.error_code.empty();
  return span.outcome == AttemptOutcome::failed || span.outcome == AttemptOutcome::timed_out;
}

void add_status(std::string& json, const Span& span) {
  if (!is_error(span)) return;
  json += R"(,"status":{"code":)";
  add_number(json, status_error);
  ((json += R"(,"message":)") += as_json_text(span.error_message)) += '}';
}

void add_span(std::string& json, const Span& span, std::string_view worker) {
  if (json.back() == '}') json += ',';
  json += '{';
  add_identity(json, span.context);
  if (span.parent) {
    add_hex(json += R"(,"parentSpanId":")", *span.parent);
    json += '"';
  }
  if (span.kind == Span::Kind::process) {
    add_flags(json, span.context.sampled, span.parent ? is_remote : 0);
    ((json += R"(,"name":"process )") += span.task_name) += R"(","kind":)";
    add_number(json, kind_consumer);
  } else {
    add_flags(json, span.context.sampled, span.parent ? is_known : 0);
    ((json += R"(,"name":)") += as_json_text("send " + span.task_name)) += R"(,"kind":)";
    add_number(json, kind_producer);
  }
  json += R"(,"startTimeUnixNano":)";
  add_quoted_number(json, span.began_ns);
  json += R"(,"endTimeUnixNano":)";
  add_quoted_number(json, span.ended_ns);
  add_attributes(json, span, worker);
  if (span.link) {
    json += R"(,"links":[{)";
    add_identity(json, *span.link);
    add_flags(json, span.link->sampled, is_remote);
    json += "}]";
  }
  add_status(json, span);
  json += '}';
}

}  // namespace

OtlpJson::OtlpJson(const std::vector<std::pair<std::string, std::string>>& resource, std::string_view worker) {
  head_ = R"({"resourceSpans":[{"resource":{"attributes":[)";
  for (const auto& [key, value] : resource) add_free_text(head_, key, value);
  head_ += R"(]},"scopeSpans":[{"scope":{"name":"dogged","version":)" + as_json_text(DOGGED_VERSION) + R"(},"spans":[)";
  if (!worker.empty()) {
    worker_ = R"({"key":"messaging.client.id","value":{"stringValue":)" + as_json_text(worker) + "}}";
  }
}

void OtlpJson::write_request(std::span<const Span> spans, std::string& json) const {
  json = head_;
  for (const Span& span : spans) add_span(json, span, worker_);
  json += "]}]}]}";
}

RejectedSpans rejected_in(std::string_view body) {
  constexpr std::size_t most_bytes = 200;
  const nlohmann::json answer = nlohmann::json::parse(body, nullptr, false);
  if (!answer.is_object()) return {};
  const auto part = answer.find("partialSuccess");
  if (part == answer.end() || !part->is_object()) return {};
  RejectedSpans rejected;
  if (const auto count = part->find("rejectedSpans"); count != part->end()) {
    if (count->is_number_unsigned()) rejected.count = count->get<std::uint64_t>();
    if (count->is_string()) {  // as a 64-bit number is written
      const auto& text = count->get_ref<const std::string&>();
      std::from_chars(text.data(), text.data() + text.size(), rejected.count);
    }
  }
  if (const auto why = part->find("errorMessage"); why != part->end() && why->is_string()) {
    rejected.why = why->get_ref<const std::string&>().substr(0, most_bytes);
  }
  return rejected;
}

}  // namespace dogged::runtime
