// Sends requests to a collector: libcurl's easy interface. The collector's connection is kept between requests.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "trace/otlp_settings.hpp"

namespace dogged::runtime {

/// For one thread, except the constructor.
class OtlpPost {
 public:
  struct Answer {
    int status = 0;  ///< of HTTP; 0: there was none, and `error` says why
    std::optional<milliseconds> retry_after = {};
    std::string body = {};   ///< its first 64 KiB
    std::string error = {};  ///< shows neither headers nor a password
  };

  /// Throws Error if libcurl cannot be initialised.
  explicit OtlpPost(const OtlpSettings& settings);
  ~OtlpPost();
  OtlpPost(const OtlpPost&) = delete;
  OtlpPost& operator=(const OtlpPost&) = delete;

  /// Asks `must_abort` at least once a second while it waits.
  [[nodiscard]] Answer send(const std::string& json, milliseconds timeout, const std::function<bool()>& must_abort);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dogged::runtime
