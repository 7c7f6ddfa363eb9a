// An eventfd that wakes a thread in poll(), also from a signal handler.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <system_error>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/time.hpp"

namespace dogged::runtime {

/// A copy is the same descriptor, which is closed with the last copy.
class WakeFd {
 public:
  WakeFd() : fd_(new int{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}, close) {
    if (*fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }

  /// Async-signal-safe.
  void wake() const noexcept {
    const std::uint64_t one = 1;
    (void)!::write(*fd_, &one,
                   sizeof one);  // it fails only if the counter is full, and then the descriptor is readable
  }
  void reset() const noexcept {
    std::uint64_t count = 0;
    (void)!::read(*fd_, &count, sizeof count);
  }
  /// Whether wake() was called, and reset() not since.
  [[nodiscard]] bool is_readable() const noexcept { return wait_until({}); }
  /// Waits until the descriptor is readable, or until `until`. True if it is readable. The descriptor stays readable
  /// until reset().
  [[nodiscard]] bool wait_until(TimePoint until) const noexcept {
    constexpr milliseconds longest{std::chrono::hours{24}};  // of one call: poll takes an int
    while (true) {
      const auto left = std::max(until - SteadyClock::now(), SteadyClock::duration{0});
      const auto time = left < longest ? std::chrono::ceil<milliseconds>(left) : longest;
      pollfd waiting{*fd_, POLLIN, 0};
      const int ready = ::poll(&waiting, 1, static_cast<int>(time.count()));
      if (ready > 0) return true;
      if (ready == 0 && SteadyClock::now() >= until) return false;  // else: a signal, or a call's longest time
    }
  }
  [[nodiscard]] int fd() const noexcept { return *fd_; }

 private:
  static void close(const int* fd) {
    ::close(*fd);
    delete fd;
  }

  std::shared_ptr<const int> fd_;
};

}  // namespace dogged::runtime
