// The services of a worker that fail now. Their sessions note each failure, and the worker's status shows it.
#pragma once

#include <map>
#include <string>
#include <utility>

#include <dogged/detail/mutex.hpp>

namespace dogged::runtime {

/// Thread-safe.
class Failures {
 public:
  /// The service fails until it works.
  void note_failure(const std::string& service, std::string why) {
    const detail::Lock lock{mutex_};
    reasons_[service] = std::move(why);
  }
  void note_works(const std::string& service) {
    const detail::Lock lock{mutex_};
    reasons_.erase(service);
  }
  /// The last error of each service that fails, by the service's name.
  [[nodiscard]] std::map<std::string, std::string> read() const {
    const detail::Lock lock{mutex_};
    return reasons_;
  }

 private:
  mutable detail::Mutex mutex_;
  std::map<std::string, std::string> reasons_ DOGGED_GUARDED_BY(mutex_);
};

}  // namespace dogged::runtime
