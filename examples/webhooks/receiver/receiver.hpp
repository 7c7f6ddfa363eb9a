// A receiver of webhooks that misbehaves on a script: an HTTP server on threads of its own.
//
// POST /flaky?fail=2 plays a story of story.hpp. Each delivery has its own: it is known by its
// Idempotency-Key, or by its URL where it has none. GET /stats tells what was received so far.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace webhooks {

/// One request that was answered.
struct ReceivedRequest {
  std::string target;    ///< path and query
  std::string delivery;  ///< what its delivery is known by
  int attempt = 0;       ///< of this delivery at this path, from 1
  int status = 0;        ///< 0: the connection was reset
};

/// Thread-safe, except that `listen` and `listen_late` are called before others and one after another.
class Receiver {
 public:
  /// Called for each request, from the servers' threads, one call at a time.
  using Log = std::function<void(const ReceivedRequest&)>;

  explicit Receiver(Log log = {});
  /// Ends waits, answers the requests under way, and stops. It takes about a second while clients hold connections
  /// open.
  ~Receiver();
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  /// Serves `host`, an address of this machine, from now on. Port 0: any that is free. Returns the port;
  /// throws std::runtime_error where it cannot be had.
  int listen(const std::string& host, int port);

  /// Takes the port now, but refuses connections for `outage`. The port and errors as for `listen`.
  int listen_late(const std::string& host, int port, std::chrono::milliseconds outage);

  /// As JSON text: {"requests": 7, "deliveries": 4, "accepted": 3, "duplicates": 0,
  /// "by_status": {"200": 3, "503": 4}, "by_path": {"/flaky": 7}}. `accepted` counts deliveries that were
  /// answered 200, `duplicates` the further 200s that such deliveries got; a reset is the status "reset".
  [[nodiscard]] std::string stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace webhooks
