// See otlp_receiver.hpp.
#include "support/otlp_receiver.hpp"

#include <algorithm>
#include <utility>

#include <google/protobuf/util/json_util.h>
#include <nlohmann/json.hpp>

#include "opentelemetry/proto/collector/trace/v1/trace_service.pb.h"

namespace dogged::test {
namespace {

namespace otlp = opentelemetry::proto;
using Json = nlohmann::json;

std::string bytes_of(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string base64(const std::string& bytes) {
  std::string padded = bytes;
  while (padded.size() % 3 != 0) padded += '\0';
  static const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < padded.size(); i += 3) {
    unsigned bits = 0;
    for (std::size_t j = 0; j < 3; ++j) bits = bits << 8U | static_cast<unsigned char>(padded[i + j]);
    for (int shift = 18; shift >= 0; shift -= 6) text += digits[bits >> static_cast<unsigned>(shift) & 63U];
  }
  for (std::size_t i = bytes.size(); i < padded.size(); ++i) text[text.size() - (i - bytes.size()) - 1] = '=';
  return text;
}

/// The one difference between OTLP's JSON and that of Protocol Buffers: ids are hexadecimal, where bytes are base64.
void make_ids_base64(Json& json, std::vector<std::string>& errors) {
  if (json.is_array()) {
    for (Json& element : json) make_ids_base64(element, errors);
  }
  if (!json.is_object()) return;
  for (auto& [key, value] : json.items()) {
    const bool is_id = key == "traceId" || key == "spanId" || key == "parentSpanId";
    if (is_id) {
      const std::string digits = value.get<std::string>();
      const bool is_hex = digits.find_first_not_of("0123456789abcdef") == std::string::npos;
      if (!is_hex || digits.size() != (key == "traceId" ? 32U : 16U)) errors.push_back(key + " is " + digits);
      value = base64(bytes_of(digits));
    } else {
      make_ids_base64(value, errors);
    }
  }
}

OtlpReceiver::Attributes attributes_from(const google::protobuf::RepeatedPtrField<otlp::common::v1::KeyValue>& pairs) {
  OtlpReceiver::Attributes attributes;
  for (const auto& pair : pairs) {
    attributes[pair.key()] =
        pair.value().has_int_value() ? std::to_string(pair.value().int_value()) : pair.value().string_value();
  }
  return attributes;
}

}  // namespace

OtlpReceiver::OtlpReceiver() {
  server_.Post("/v1/traces",
               [this](const httplib::Request& request, httplib::Response& response) { take(request, response); });
  port_ = server_.bind_to_any_port("127.0.0.1");
  thread_ = std::thread{[this] { server_.listen_after_bind(); }};
}

OtlpReceiver::~OtlpReceiver() {
  release();
  (void)eventually([this] { return server_.is_running(); });  // else stop() would not be heard
  server_.stop();
  thread_.join();
}

void OtlpReceiver::will_answer(std::vector<Answer> answers) {
  const detail::Lock lock{mutex_};
  answers_ = std::move(answers);
}

OtlpReceiver::Answer OtlpReceiver::next_answer() {
  const detail::Lock lock{mutex_};
  if (answers_.empty()) return {};
  Answer answer = std::move(answers_.front());
  answers_.erase(answers_.begin());
  return answer;
}

void OtlpReceiver::take(const httplib::Request& request, httplib::Response& response) {
  const Answer answer = next_answer();
  otlp::collector::trace::v1::ExportTraceServiceRequest message;
  {
    const detail::Lock lock{mutex_};
    ++requests_;
    headers_ = request.headers;
    Json json = Json::parse(request.body, nullptr, false);
    if (json.is_discarded()) errors_.push_back("no JSON: " + request.body);
    make_ids_base64(json, errors_);
    const auto read = google::protobuf::util::JsonStringToMessage(json.dump(), &message);
    if (!read.ok()) errors_.push_back(read.ToString());
    for (const auto& of_resource : message.resource_spans()) {
      resource_ = attributes_from(of_resource.resource().attributes());
      if (answer.status != 200) continue;
      for (const auto& of_scope : of_resource.scope_spans()) {
        spans_.insert(spans_.end(), of_scope.spans().begin(), of_scope.spans().end());
      }
    }
  }
  if (is_holding_) gate_.wait();
  response.status = answer.status;
  if (!answer.retry_after.empty()) response.set_header("Retry-After", answer.retry_after);
  response.set_content(answer.body, "application/json");
}

int OtlpReceiver::requests() const {
  const detail::Lock lock{mutex_};
  return requests_;
}

std::vector<OtlpReceiver::Span> OtlpReceiver::spans() const {
  const detail::Lock lock{mutex_};
  return spans_;
}

OtlpReceiver::Attributes OtlpReceiver::resource() const {
  const detail::Lock lock{mutex_};
  return resource_;
}

httplib::Headers OtlpReceiver::headers() const {
  const detail::Lock lock{mutex_};
  return headers_;
}

std::vector<std::string> OtlpReceiver::errors() const {
  const detail::Lock lock{mutex_};
  return errors_;
}

OtlpReceiver::Attributes OtlpReceiver::attributes_of(const Span& span) { return attributes_from(span.attributes()); }

std::string hex(const std::string& bytes) {
  static const std::string digits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    (text += digits[byte >> 4U]) += digits[byte & 15U];
  }
  return text;
}

}  // namespace dogged::test
