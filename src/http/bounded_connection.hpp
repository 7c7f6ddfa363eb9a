// A connection of the page server, which nobody can hold for longer than a request and its answer may take.
#pragma once

#include <array>
#include <chrono>
#include <string>

#include <httplib.h>

#include "http/page_server.hpp"

namespace dogged::http {

/// httplib's own limits begin again with each byte: a client that sends a byte a second holds a thread for ever.
/// Belongs to the thread that serves the connection.
class BoundedConnection final : public httplib::Stream {
 public:
  /// The socket is the caller's.
  BoundedConnection(socket_t socket, const PageServer::Limits& limits) : socket_(socket), limits_(limits) {}

  /// A request has begun. The request and its answer must end in time from now on.
  void limit_request() { deadline_ = std::chrono::steady_clock::now() + limits_.request; }

  [[nodiscard]] bool has_input_within(milliseconds time) const;

  bool is_readable() const override;
  bool is_writable() const override;
  /// The number of bytes, 0 at the end, -1 if the time is over.
  ssize_t read(char* to, std::size_t size) override;
  ssize_t write(const char* from, std::size_t size) override;
  socket_t socket() const override { return socket_; }
  // The pages are the same for every client.
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}

 private:
  [[nodiscard]] bool waits_until_ready(short events) const;
  [[nodiscard]] int wait_for(short events, milliseconds time) const;  // as poll()

  const socket_t socket_;
  const PageServer::Limits limits_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  // httplib reads byte by byte.
  std::array<char, 4096> read_ahead_{};
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace dogged::http
