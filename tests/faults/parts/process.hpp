// A child process that leads a process group of its own. So Ctrl-C does not reach the child, and the processes that the
// child forks end with it. The destructor kills it; the kernel kills it if this program dies first.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "private_server/child_process.hpp"

namespace dogged::faults {

class Process {
 public:
  struct Start {
    std::vector<std::string> argv;              ///< argv[0] is a path
    std::vector<std::string> environment = {};  ///< NAME=value, beside our own
    std::filesystem::path output = {};          ///< stdout and stderr are appended to it
    std::optional<private_server::User> user = {};
    int signal_if_we_die = SIGKILL;
  };

  /// Call it from the main thread: the kernel takes the end of the thread for ours. Throws std::system_error.
  explicit Process(const Start& start);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// Does nothing once it has ended.
  void signal(int number);
  [[nodiscard]] bool has_ended();
  /// 128 + the signal that ended it; nothing while it runs.
  [[nodiscard]] std::optional<int> exit_status();
  /// The same, waiting for the end; nothing if it still runs when the time is over.
  [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds at_most);

 private:
  pid_t pid_ = 0;
  std::optional<int> exit_status_;
};

}  // namespace dogged::faults
