// Serves pages over HTTP, on threads of its own.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "http/listen_address.hpp"
#include "http/page.hpp"

namespace dogged::http {

/// Bounded, so that a slow or greedy scraper costs nobody else anything. Bounds: two threads, four connections that
/// wait for them, 2 s in which nothing is asked or read, and 10 s for an answer. Further connections wait in the
/// kernel.
class PageServer {
 public:
  using Respond = std::function<Page(std::string_view path, std::string_view accept)>;

  /// Listens from now on. `respond` is called on the threads of this. Throws InvalidInput, which calls the address
  /// `name`, if the port is in use or the address is not one of this machine.
  PageServer(const std::string& name, const ListenAddress& address, Respond respond);
  /// Ends the connections, and joins the threads.
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  /// With the port that it listens on.
  [[nodiscard]] const ListenAddress& address() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dogged::http
