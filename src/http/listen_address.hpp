// Where pages are served.
#pragma once

#include <string>

namespace dogged::http {

struct ListenAddress {
  std::string host;  ///< a name or a number; 0.0.0.0 for every IPv4 address of this machine
  int port = 0;      ///< 0: any free one

  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

/// `127.0.0.1:9464`, `[::1]:9464`, or `:9464` for every IPv4 address. Throws InvalidInput, which calls the value
/// `name`.
[[nodiscard]] ListenAddress listen_address_from_text(const std::string& name, const std::string& text);

/// `127.0.0.1:9464`.
[[nodiscard]] std::string to_text(const ListenAddress& address);

}  // namespace dogged::http
