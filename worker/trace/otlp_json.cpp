// See otlp_json.hpp.
#include "trace/otlp_json.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "trace/hex.hpp"

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

/// With a literal key, and a value that needs no escapes.
void add_text(std::string& json, std::string_view key, std::string_view value) {
  (((json += R"(,{"key":")") += key) += R"(","value":{"stringValue":")") += value;
  json += R"("}})";
}

/// With a literal key. A 64-bit number is a text in OTLP's JSON.
void add_number(std::string& json, std::string_view key, std::int64_t value) {
  ((json += R"(,{"key":")") += key) += R"(","value":{"intValue":")";
  add_number(json, value);
  json += R"("}})";
}

void add_free_text(std::string& json, std::string_view key, std::string_view value) {
  ((json += R"(,{"key":)") += as_json_text(key)) += R"(,"value":{"stringValue":)";
  (json += as_json_text(value)) += "}}";
}

/// The members that a span and a link share.
void add_identity(std::string& json, const TraceContext& context) {
  detail::add_hex(json += R"("traceId":")", context.trace_id);
  detail::add_hex(json += R"(","spanId":")", context.span_id);
  json += '"';
  if (!context.tracestate.empty()) (json += R"(,"traceState":)") += as_json_text(context.tracestate);
}

void add_flags(std::string& json, bool sampled, int of_other_span) {
  json += R"(,"flags":)";
  add_number(json, (sampled ? 1 : 0) | of_other_span);
}

/// The list of attributes up to those of the operation.
void add_operation(std::string& json, std::string_view operation) {
  json += R"(,"attributes":[{"key":"messaging.system","value":{"stringValue":"dogged"}})";
  add_text(json, "messaging.operation.name", operation);
  add_text(json, "messaging.operation.type", operation);
}

/// Behind those that its task's attempts share.
void add_attributes_of_attempt(std::string& json, const Span& span) {
  // One literal for an attribute that each attempt has: a span costs mostly the copying of short texts.
  json += R"(,{"key":"messaging.message.id","value":{"stringValue":")";
  add_number(json, span.task_id);
  json += R"("}},{"key":"dogged.attempt","value":{"intValue":")";
  add_number(json, span.attempt);
  json += R"("}},{"key":"dogged.retry_count","value":{"intValue":")";
  add_number(json, span.retry_count);
  json += R"("}},{"key":"dogged.outcome","value":{"stringValue":")";
  (json += to_text(span.outcome)) += R"("}})";
  if (span.retry_in) add_number(json, "dogged.delay_ms", span.retry_in->count());
}

/// The name, the kind and the attributes of a call that enqueues. Its names are not checked yet.
void add_call(std::string& json, const Span& span, std::string_view worker) {
  ((json += R"(,"name":)") += as_json_text("send " + span.task_name)) += R"(,"kind":)";
  add_number(json, kind_producer);
  add_operation(json, "send");
  json += worker;
  if (!span.queue.empty()) add_free_text(json, "messaging.destination.name", span.queue);
  if (span.tasks > 1) {
    add_number(json, "messaging.batch.message_count", static_cast<std::int64_t>(span.tasks));
  } else if (span.task_id != 0) {
    add_text(json, "messaging.message.id", std::to_string(span.task_id));
  }
  add_free_text(json, "dogged.task", span.task_name);
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

}  // namespace

OtlpJson::OtlpJson(const std::vector<std::pair<std::string, std::string>>& resource, std::string_view worker) {
  std::string attributes;
  for (const auto& [key, value] : resource) add_free_text(attributes, key, value);
  if (!attributes.empty()) attributes.erase(0, 1);  // the comma
  head_ = R"({"resourceSpans":[{"resource":{"attributes":[)" + attributes +
          R"(]},"scopeSpans":[{"scope":{"name":"dogged","version":)" + as_json_text(DOGGED_VERSION) + R"(},"spans":[)";
  if (!worker.empty()) add_free_text(worker_, "messaging.client.id", worker);
}

void OtlpJson::write_request(std::span<const Span> spans, std::string& json) {
  json = head_;
  for (const Span& span : spans) add_span(json, span);
  json += "]}]}]}";
}

void OtlpJson::add_span(std::string& json, const Span& span) {
  if (json.back() == '}') json += ',';
  json += '{';
  add_identity(json, span.context);
  if (span.parent) {
    detail::add_hex(json += R"(,"parentSpanId":")", *span.parent);
    json += '"';
  }
  json += R"(,"startTimeUnixNano":")";
  add_number(json, span.began_ns);
  json += R"(","endTimeUnixNano":")";
  add_number(json, span.ended_ns);
  json += '"';
  if (span.kind == Span::Kind::process) {
    add_flags(json, span.context.sampled, span.parent ? is_remote : 0);
    json += shared_by_attempts(span);
    add_attributes_of_attempt(json, span);
  } else {
    add_flags(json, span.context.sampled, span.parent ? is_known : 0);
    add_call(json, span, worker_);
  }
  if (!span.error_code.empty()) add_text(json, "error.type", span.error_code);
  json += ']';
  if (span.link) {
    json += R"(,"links":[{)";
    add_identity(json, *span.link);
    add_flags(json, span.link->sampled, is_remote);
    json += "}]";
  }
  add_status(json, span);
  json += '}';
}

const std::string& OtlpJson::shared_by_attempts(const Span& span) {
  auto queue = shared_by_attempts_.find(span.queue);
  if (queue == shared_by_attempts_.end()) queue = shared_by_attempts_.try_emplace(span.queue).first;
  ByTask& by_task = queue->second;
  if (const auto task = by_task.find(span.task_name); task != by_task.end()) return task->second;
  std::string shared = R"(,"name":"process )" + span.task_name + R"(","kind":)";
  add_number(shared, kind_consumer);
  add_operation(shared, "process");
  shared += worker_;
  add_text(shared, "messaging.destination.name", span.queue);
  add_text(shared, "dogged.task", span.task_name);
  return by_task.try_emplace(span.task_name, std::move(shared)).first->second;
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
