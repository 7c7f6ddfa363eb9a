// See bounded_connection.hpp.
#include "http/bounded_connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>

namespace dogged::http {

using std::chrono::steady_clock;

bool BoundedConnection::waits_until_ready(short events) const {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline_ - steady_clock::now());
    if (left <= milliseconds{0}) return false;
    const int found = wait_for(events, std::min(left, limits_.without_progress));
    if (found >= 0 || errno != EINTR) return found > 0;
  }
}

int BoundedConnection::wait_for(short events, milliseconds time) const {
  pollfd ready{socket_, events, 0};
  return ::poll(&ready, 1, static_cast<int>(time.count()));
}

bool BoundedConnection::has_input_within(milliseconds time) const {
  return begin_ < end_ || wait_for(POLLIN, time) > 0;
}

bool BoundedConnection::is_readable() const { return begin_ < end_ || waits_until_ready(POLLIN); }
bool BoundedConnection::is_writable() const { return waits_until_ready(POLLOUT); }

ssize_t BoundedConnection::read(char* to, std::size_t size) {
  if (begin_ == end_) {
    if (!is_readable()) return -1;
    const ssize_t received = ::recv(socket_, read_ahead_.data(), read_ahead_.size(), MSG_DONTWAIT);
    if (received <= 0) return received;
    begin_ = 0;
    end_ = static_cast<std::size_t>(received);
  }
  const std::size_t given = std::min(size, end_ - begin_);
  std::memcpy(to, read_ahead_.data() + begin_, given);
  begin_ += given;
  return static_cast<ssize_t>(given);
}

ssize_t BoundedConnection::write(const char* from, std::size_t size) {
  if (!is_writable()) return -1;
  return ::send(socket_, from, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace dogged::http
