// The mistake of dogged that ends a worker: what a service has thrown, and no retry mends.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include <dogged/detail/mutex.hpp>

#include "base/wake_fd.hpp"

namespace dogged::runtime {

/// The message of an exception, in one line.
[[nodiscard]] std::string message_of(const std::exception_ptr& error);

/// Thread-safe. The first mistake counts.
class FirstDefect {
 public:
  /// Wakes `attention` for each mistake.
  explicit FirstDefect(WakeFd attention) : attention_(std::move(attention)) {}

  void note(const std::string& service, std::exception_ptr error);
  [[nodiscard]] bool is_noted() const;
  /// Throws Defect, which names the service and the mistake, if there is one.
  void rethrow() const;

 private:
  struct Found {
    std::string service;
    std::exception_ptr error;
  };

  const WakeFd attention_;
  mutable detail::Mutex mutex_;
  std::optional<Found> found_ DOGGED_GUARDED_BY(mutex_);
};

}  // namespace dogged::runtime
