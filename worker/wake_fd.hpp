// An eventfd: wakes a thread that waits in poll(), also from a signal handler.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <system_error>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace dogged::runtime {

class WakeFd {
 public:
  WakeFd() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  ~WakeFd() { ::close(fd_); }
  WakeFd(const WakeFd&) = delete;
  WakeFd& operator=(const WakeFd&) = delete;

  /// Async-signal-safe.
  void wake() const noexcept {
    const std::uint64_t one = 1;
    (void)!::write(fd_, &one, sizeof one);  // it fails only when the counter is full, and then it is readable anyway
  }
  void reset() const noexcept {
    std::uint64_t count = 0;
    (void)!::read(fd_, &count, sizeof count);
  }
  /// Waits until it is readable, or `time` is over; true if it is. It stays so: whoever asks next sees it as well.
  [[nodiscard]] bool wait(std::chrono::milliseconds time) const noexcept {
    pollfd waiting{fd_, POLLIN, 0};
    return ::poll(&waiting, 1, static_cast<int>(time.count())) > 0;
  }
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

}  // namespace dogged::runtime
