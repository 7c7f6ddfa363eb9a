// A private PostgreSQL that can be stopped and killed. The server listens on a Unix socket in its directory alone;
// workers reach the server over TCP through their proxies.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "process.hpp"

namespace dogged::faults {

class Server {
 public:
  /// Makes a cluster in `directory`/postgres and starts it. Throws Error, which says what PostgreSQL said.
  explicit Server(const std::filesystem::path& directory);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::filesystem::path socket() const { return directory_ / ".s.PGSQL.5432"; }

  /// Sends `signal` to the postmaster and waits until it has ended. SIGINT is a fast shutdown, SIGQUIT an immediate
  /// one.
  void stop(int signal);
  /// Returns when it answers.
  void start();

 private:
  [[nodiscard]] bool answers() const;
  void spawn();

  std::filesystem::path binaries_;
  std::filesystem::path directory_;
  std::optional<private_server::User> user_;  ///< PostgreSQL refuses to run as root
  std::unique_ptr<Process> postmaster_;
};

}  // namespace dogged::faults
