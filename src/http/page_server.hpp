// Serves pages over HTTP, on threads of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <dogged/delay.hpp>

#include "http/listen_address.hpp"
#include "http/page.hpp"

namespace dogged::http {

/// Bounded, so that a slow or greedy scraper costs nobody else anything. Bounds: three threads, four connections that
/// wait for them, and Limits. Further connections wait in the kernel.
class PageServer {
 public:
  /// The number of requests that the server answers at once. A `respond` that may wait must leave one of these threads
  /// free.
  static constexpr int threads = 3;

  /// A connection that exceeds one is closed.
  struct Limits {
    milliseconds without_progress{2000};  ///< in which nothing is asked or read
    milliseconds request{10'000};         ///< with its answer: as long as Prometheus waits
  };
  using Respond = std::function<Page(std::string_view path, std::string_view accept)>;

  /// Listens from now on. `respond` is called on the threads of this. Throws InvalidInput, with `name`
  /// and the address, if the port is in use or the address is not one of this machine.
  PageServer(const std::string& name, const ListenAddress& address, Respond respond, const Limits& limits);
  PageServer(const std::string& name, const ListenAddress& address, Respond respond)
      : PageServer(name, address, std::move(respond), Limits{}) {}
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
