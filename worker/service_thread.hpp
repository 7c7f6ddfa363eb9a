// The thread of a service, which can be waited for without waiting for whatever its statement waits for.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include "session.hpp"

namespace dogged::runtime {

/// Not thread-safe. join() must have been called before it is destroyed, if it was started.
class ServiceThread {
 public:
  void start(std::function<void()> run) {
    thread_ = std::thread{[this, run = std::move(run)] {
      run();
      ended_.set_value();
    }};
  }

  [[nodiscard]] bool is_joinable() const noexcept { return thread_.joinable(); }

  /// Waits for the thread, which has been asked to end. After `patience` the connection of `session` is broken, again
  /// and again, until it has ended: neither a lock that somebody holds nor a dead network may hold up a shutdown.
  void join(Session& session, milliseconds patience) {
    if (!thread_.joinable()) return;
    const std::future<void> ended = ended_.get_future();
    while (ended.wait_for(patience) != std::future_status::ready) {
      session.abort();
      patience = milliseconds{200};
    }
    thread_.join();
  }

 private:
  std::promise<void> ended_;
  std::thread thread_;
};

}  // namespace dogged::runtime
