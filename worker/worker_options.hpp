// The command line of worker binaries.
#pragma once

#include <optional>
#include <string>

#include "worker.hpp"

namespace dogged::runtime {

/// A worker that starts itself anew says by this variable to the next which lease it had; nobody else sets it.
inline constexpr const char* previous_lease_variable = "DOGGED_PREVIOUS_LEASE";

struct WorkerOptions {
  WorkerSettings settings;
  std::string log_level = "info";
  bool list_tasks = false;
  std::optional<std::string> retry_config = {};  ///< path of the file
};

/// Reads argv and the environment, from which it takes the previous lease away. Gives an exit code where the process
/// should end at once: 0 after --help, 2 after a mistake, which it has printed. Throws InvalidInput where no database
/// is named.
[[nodiscard]] std::optional<int> parse_worker_options(int argc, char** argv, WorkerOptions& options);

}  // namespace dogged::runtime
