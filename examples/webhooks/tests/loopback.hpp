// Sockets of 127.0.0.1 that fail in ways a real server does not on demand.
#pragma once

#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace loopback {

class Socket {
 public:
  Socket() : Socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Takes a free port; connections to it are refused until `listen`.
  void bind_any_port() const {
    const sockaddr_in address = loopback_address(0);
    if (bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error{"cannot bind on 127.0.0.1"};
    }
  }

  [[nodiscard]] int port() const {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &length);
    return ntohs(address.sin_port);
  }

  [[nodiscard]] std::string url(const std::string& scheme) const {
    return scheme + "://127.0.0.1:" + std::to_string(port()) + "/";
  }

  static sockaddr_in loopback_address(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<in_port_t>(port));
    return address;
  }

 private:
  int descriptor_;
};

/// Accepts connections, and never says a word.
class SilentServer {
 public:
  explicit SilentServer(int backlog = 16) {
    socket_.bind_any_port();
    listen(socket_.descriptor(), backlog);
  }
  [[nodiscard]] std::string url(const std::string& scheme) const { return socket_.url(scheme); }
  [[nodiscard]] int port() const { return socket_.port(); }

  /// A connection on which a request has begun to arrive.
  [[nodiscard]] Socket await_request() const {
    Socket client{accept(socket_.descriptor(), nullptr, nullptr)};
    char first = 0;
    if (read(client.descriptor(), &first, 1) != 1) throw std::runtime_error{"no request arrived"};
    return client;
  }

 private:
  Socket socket_;
};

/// Does not even complete connections: its queue of them is full, so that the kernel drops what asks for
/// more.
class FullServer {
 public:
  FullServer() : server_(0) {
    const sockaddr_in address = Socket::loopback_address(server_.port());
    for (int i = 0; i < 4; ++i) {
      const int client = clients_.emplace_back().descriptor();
      fcntl(client, F_SETFL, O_NONBLOCK);
      static_cast<void>(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address));
    }
  }
  [[nodiscard]] std::string url(const std::string& scheme) const { return server_.url(scheme); }

 private:
  SilentServer server_;
  std::vector<Socket> clients_;
};

/// Takes one connection, reads what comes first, sends `reply`, and closes.
class OneReplyServer {
 public:
  explicit OneReplyServer(std::string reply) {
    socket_.bind_any_port();
    listen(socket_.descriptor(), 1);
    thread_ = std::jthread{[this, reply = std::move(reply)] {
      const Socket client{accept(socket_.descriptor(), nullptr, nullptr)};
      char request[4096];
      if (read(client.descriptor(), request, sizeof request) > 0) {
        static_cast<void>(send(client.descriptor(), reply.data(), reply.size(), MSG_NOSIGNAL));
      }
    }};
  }
  ~OneReplyServer() { shutdown(socket_.descriptor(), SHUT_RDWR); }  // wakes accept
  OneReplyServer(const OneReplyServer&) = delete;
  OneReplyServer& operator=(const OneReplyServer&) = delete;
  [[nodiscard]] std::string url(const std::string& scheme) const { return socket_.url(scheme); }

 private:
  Socket socket_;
  std::jthread thread_;
};

}  // namespace loopback
