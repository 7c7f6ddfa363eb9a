// A handler's stop token, and why it was set.
#pragma once

#include <atomic>
#include <stop_token>
#include <system_error>
#include <thread>

#include <dogged/context.hpp>

namespace dogged::runtime {

/// Thread-safe.
class StopSignal {
 public:
  /// Sets the token; the first reason counts. The handler's callbacks (std::stop_callback) run on a thread of their
  /// own, so that a callback that blocks holds up its handler alone.
  void request(StopReason reason) {
    StopReason none = StopReason::none;
    if (!reason_.compare_exchange_strong(none, reason)) return;
    try {
      std::thread{[source = source_]() mutable { source.request_stop(); }}.detach();
    } catch (const std::system_error&) {  // the system refuses a thread
      source_.request_stop();
    }
  }

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }
  [[nodiscard]] StopReason reason() const noexcept { return reason_; }

 private:
  std::stop_source source_;
  std::atomic<StopReason> reason_{StopReason::none};
};

}  // namespace dogged::runtime
