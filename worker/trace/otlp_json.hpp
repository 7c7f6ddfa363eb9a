// Spans as OTLP's JSON, the body of a request to a collector. Pure.
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/span.hpp"

namespace dogged::runtime {

/// Renders each text that spans share once. Not thread-safe.
class OtlpJson {
 public:
  /// `worker` is the worker's name; empty: there is none.
  OtlpJson(const std::vector<std::pair<std::string, std::string>>& resource, std::string_view worker);

  /// An ExportTraceServiceRequest, in place of what `json` has. A text that was one before has the memory for it.
  void write_request(std::span<const Span> spans, std::string& json);

 private:
  using ByTask = std::map<std::string, std::string, std::less<>>;

  void add_span(std::string& json, const Span& span);
  /// The members and attributes that all attempts of a task in a queue share. A worker has few tasks and queues.
  [[nodiscard]] const std::string& shared_by_attempts(const Span& span);

  std::string head_;                                               // up to the first span
  std::string worker_;                                             // its attribute, behind a comma; may be empty
  std::map<std::string, ByTask, std::less<>> shared_by_attempts_;  // by queue
};

/// How many spans of a request the collector says that it has refused, and why: an ExportTraceServiceResponse. Nothing
/// if it has refused none, or if `body` is another text.
struct RejectedSpans {
  std::uint64_t count = 0;
  std::string why;  ///< cut to 200 bytes; from outside
};
[[nodiscard]] RejectedSpans rejected_in(std::string_view body);

}  // namespace dogged::runtime
