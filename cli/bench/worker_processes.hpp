// The worker processes of a benchmark, from their start to their end.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <sys/types.h>

#include "cli/bench/worker/memory.hpp"

namespace dogged::cli::bench {

/// The resources that processes have used.
struct Usage {
  double cpu_seconds = 0;
  double max_memory_mb = 0;  ///< resident, of the largest
};

class WorkerProcesses {
 public:
  struct Settings {
    std::string database_url;
    std::string schema;
    int processes = 1;
    int concurrency = 10;
  };

  /// Starts them; they register soon after. Throws std::system_error.
  WorkerProcesses(const Settings& settings, const Memory& memory);
  /// Ends the processes that stop() has not ended.
  ~WorkerProcesses();
  WorkerProcesses(const WorkerProcesses&) = delete;
  WorkerProcesses& operator=(const WorkerProcesses&) = delete;

  /// Throws Failure where one has ended by itself.
  void require_alive();
  /// CPU seconds up to now.
  [[nodiscard]] double cpu_seconds() const;
  /// Asks them to shut down, waits until they have, and gives what they used. Throws Failure where one did not exit
  /// with 0, and after Ctrl-C.
  Usage stop();

 private:
  void start_all(const Settings& settings, const Memory& memory);
  void end() noexcept;

  std::vector<pid_t> pids_;
};

}  // namespace dogged::cli::bench
