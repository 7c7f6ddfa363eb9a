// A scraper that connects, asks and never reads the answer.
#pragma once

#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dogged::test {

class UnreadScrape {
 public:
  /// Asks for `path`, and for nothing if it is empty.
  UnreadScrape(int port, std::string_view path) {
    const int least_buffer = 1;  // the kernel makes some 2 KiB of it
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &least_buffer, sizeof least_buffer);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("cannot connect to port " + std::to_string(port));
    }
    if (path.empty()) return;
    if (!send("GET " + std::string{path} + " HTTP/1.1\r\nHost: scraper\r\n\r\n")) {
      throw std::runtime_error("cannot ask for " + std::string{path});
    }
  }
  UnreadScrape(UnreadScrape&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  ~UnreadScrape() {
    if (socket_ >= 0) ::close(socket_);
  }

  /// False if the server has closed the connection.
  [[nodiscard]] bool send(std::string_view bytes) const {
    return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) >= 0;
  }

  /// Waits until the server has closed the connection, up to a minute. An answer that is not read hides the end behind
  /// it: so this is for one that asked for nothing.
  [[nodiscard]] bool is_closed() const {
    constexpr int longest_ms = 60'000;
    pollfd ready{socket_, POLLRDHUP, 0};
    return ::poll(&ready, 1, longest_ms) == 1 && (ready.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  }

 private:
  int socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
};

}  // namespace dogged::test
