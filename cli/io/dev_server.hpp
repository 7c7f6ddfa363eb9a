// The private PostgreSQL of a directory, for development: `dogged dev`.
//
//   .dogged/url, url.stopped   how to connect, with the password; the name says whether it is meant to run
//   .dogged/postgres/          all that belongs to the server; a symbolic link where root cannot keep it here
//     made_by_dogged_dev       the marker without which nothing is ever deleted
//     data/                    the cluster; appears by a rename once it is complete
//     log                      the server's log
//
// The server listens on 127.0.0.1 alone, on a port that was free, and wants a random password (SCRAM). There is no Unix
// socket: no path can be too long for one, and every driver understands the one URL. PostgreSQL refuses to run as root;
// there it runs as `postgres` or `nobody`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <sys/types.h>

namespace dogged::cli {

struct DevServerState {
  bool exists = false;  ///< a cluster is there
  bool running = false;
  std::string url;  ///< empty unless it runs
  pid_t pid = 0;
  int port = 0;
  int major_version = 0;
  std::filesystem::path data_directory;
  std::filesystem::path log;
};

class DevServer {
 public:
  /// `directory`: where .dogged is or will be.
  explicit DevServer(const std::filesystem::path& directory);

  [[nodiscard]] DevServerState state() const;
  /// Makes the missing parts and starts the server. Leaves a running server alone. Throws Failure.
  DevServerState up();
  /// Stops it, ending its connections; false if it did not run.
  bool down();
  /// Deletes a stopped server and its data; false if there was none. Throws Failure for a directory that it
  /// did not make.
  bool remove();

 private:
  [[nodiscard]] std::filesystem::path data() const { return home_ / "data"; }
  [[nodiscard]] std::filesystem::path log() const { return home_ / "log"; }
  [[nodiscard]] std::filesystem::path marker() const { return home_ / "made_by_dogged_dev"; }

  void make_own_directory();
  void make_home();
  void make_home_for_other_user();
  void make_cluster();
  void make_url();
  void start();

  std::filesystem::path own_;   ///< .dogged
  std::filesystem::path home_;  ///< .dogged/postgres, links followed
};

}  // namespace dogged::cli
