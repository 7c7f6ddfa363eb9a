// A collector on a free port of this machine, which reads requests by OpenTelemetry's own definition of its protocol. A
// field that the definition does not have, or of another type, is an error.
#pragma once

#include <map>
#include <string>
#include <thread>
#include <vector>

#include <httplib.h>

#include <dogged/detail/mutex.hpp>

#include "opentelemetry/proto/trace/v1/trace.pb.h"
#include "support/test_database.hpp"

namespace dogged::test {

class OtlpReceiver {
 public:
  using Span = opentelemetry::proto::trace::v1::Span;
  using Attributes = std::map<std::string, std::string>;  ///< numbers as their digits
  struct Answer {
    int status = 200;
    std::string body = "{}";
    std::string retry_after = {};
  };

  OtlpReceiver();
  /// Lets requests that it holds go on.
  ~OtlpReceiver();

  /// For OTEL_EXPORTER_OTLP_ENDPOINT.
  [[nodiscard]] std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(port_); }
  /// The answers to the next requests; after them, 200.
  void will_answer(std::vector<Answer> answers);
  /// No request is answered until release().
  void hold() { is_holding_ = true; }
  void release() { gate_.open(); }

  /// So many requests have come, answered or not.
  [[nodiscard]] int requests() const;
  /// Of the requests that were answered with 200, in their order.
  [[nodiscard]] std::vector<Span> spans() const;
  [[nodiscard]] Attributes resource() const;              ///< of the last request
  [[nodiscard]] httplib::Headers headers() const;         ///< of the last request
  [[nodiscard]] std::vector<std::string> errors() const;  ///< of requests that are not as the definition wants them

  [[nodiscard]] static Attributes attributes_of(const Span& span);

 private:
  void take(const httplib::Request& request, httplib::Response& response);
  [[nodiscard]] Answer next_answer();

  httplib::Server server_;
  int port_ = 0;
  std::atomic<bool> is_holding_{false};
  Gate gate_;
  mutable detail::Mutex mutex_;
  int requests_ DOGGED_GUARDED_BY(mutex_) = 0;
  std::vector<Answer> answers_ DOGGED_GUARDED_BY(mutex_);
  std::vector<Span> spans_ DOGGED_GUARDED_BY(mutex_);
  Attributes resource_ DOGGED_GUARDED_BY(mutex_);
  httplib::Headers headers_ DOGGED_GUARDED_BY(mutex_);
  std::vector<std::string> errors_ DOGGED_GUARDED_BY(mutex_);
  std::thread thread_;
};

/// An id of a span as hexadecimal digits.
[[nodiscard]] std::string hex(const std::string& bytes);

}  // namespace dogged::test
