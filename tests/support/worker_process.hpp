// The program tests/postgres/runtime/load_worker.cpp as a process that a test starts, stops and kills.
#pragma once

#include <array>
#include <string>
#include <system_error>
#include <vector>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test_database.hpp"

namespace dogged::test {

/// A load_worker of its own process, which serves the queue load; stopped by SIGTERM.
class WorkerProcess {
 public:
  /// `application`: by which its sessions are found in pg_stat_activity; empty: as any worker's.
  explicit WorkerProcess(const TestDatabase& database, const std::string& application = {}) {
    std::string url = database.settings().url;
    if (!application.empty()) url += (contains(url, "?") ? "&application_name=" : "?application_name=") + application;
    std::array<std::string, 9> words{DOGGED_LOAD_WORKER, "--database-url", url,           "--schema", database.schema(),
                                     "--queues",         "load:4",         "--log-level", "warn"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int error = ::posix_spawn(&pid_, DOGGED_LOAD_WORKER, nullptr, nullptr, arguments.data(), environ);
    if (error != 0) throw std::system_error(error, std::generic_category(), DOGGED_LOAD_WORKER);
  }
  ~WorkerProcess() {
    if (pid_ > 0) (void)stop();
  }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  [[nodiscard]] bool runs() const {
    siginfo_t ended{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT);
    return ended.si_pid == 0;
  }

  /// The worker's exit code; -1 if a signal ended the worker.
  int stop(int signal = SIGTERM) {
    ::kill(pid_, signal);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = 0;
};

}  // namespace dogged::test
