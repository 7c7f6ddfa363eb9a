// A TCP proxy between one worker and its server that makes the network's faults. The proxy delays bytes, resets
// connections, and leaves connections half open: it swallows their bytes and closes nothing. The proxy also cuts a
// connection at a statement. The cut comes before the server has seen the statement, or after the server has done it
// and before the worker hears of that.
//
// The proxy listens on a loopback port of the system's choice and reaches the server through its Unix socket. All
// members may be called from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <dogged/detail/mutex.hpp>

#include "base/wake_fd.hpp"
#include "messages.hpp"

namespace dogged::faults {

enum class Statement { completion, commit, definitions, call };  // call: of a client
enum class Side { before_server, after_server };

class Proxy {
 public:
  /// `server_socket`: of PostgreSQL; it may come and go. Throws std::system_error.
  explicit Proxy(std::filesystem::path server_socket);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  /// How to reach the server through this proxy.
  [[nodiscard]] std::string url() const;

  /// Every byte takes this much longer from now on, each way.
  void delay(std::chrono::milliseconds each_way);
  /// Resets every connection that there is.
  void cut();
  /// Nothing more goes through the connections that there are, and none is closed; new ones work. So it is when a
  /// router between the two has forgotten them.
  void forget_connections();
  /// From now on nothing goes through, and nothing is closed, new connections included. The end of the partition ends
  /// those connections: bytes that are still sent on them are answered with a reset.
  void partition(bool on);
  /// Cuts the connection on which the next such statement comes. Once.
  void cut_at(Statement statement, Side side);
  /// Forgets that connection. The statement may be one of a transaction. Once.
  void forget_at(Statement statement, Side side);
  /// How often cut_at and forget_at have done what they were to do.
  [[nodiscard]] int hits() const;
  /// No delay, no partition, no trap. Half-open connections are reset.
  void heal();

 private:
  class Link;
  struct Action {
    enum class What { cut, forget } what;
    Side side;
  };
  struct Trap {
    Statement statement;
    Action action;
  };

  void run();
  void accept_one() DOGGED_REQUIRES(mutex_);
  void serve(Link& link) DOGGED_REQUIRES(mutex_);
  void from_client(Link& link) DOGGED_REQUIRES(mutex_);
  void from_server(Link& link) DOGGED_REQUIRES(mutex_);
  void set(Trap trap);
  static void spring(Link& link, const Action& action);
  [[nodiscard]] std::optional<Action> spring_trap(std::string_view text) DOGGED_REQUIRES(mutex_);

  const std::filesystem::path server_socket_;
  int listener_;
  int port_ = 0;
  runtime::WakeFd wake_;

  mutable detail::Mutex mutex_;  // the thread lets go of it only to wait
  bool ended_ DOGGED_GUARDED_BY(mutex_) = false;
  std::chrono::milliseconds delay_ DOGGED_GUARDED_BY(mutex_){0};
  bool is_partitioned_ DOGGED_GUARDED_BY(mutex_) = false;
  std::optional<Trap> trap_ DOGGED_GUARDED_BY(mutex_);
  int hits_ DOGGED_GUARDED_BY(mutex_) = 0;
  std::list<Link> links_ DOGGED_GUARDED_BY(mutex_);

  std::thread thread_;  // after all that it uses
};

}  // namespace dogged::faults
