// The command line of worker binaries.
#pragma once

#include <optional>
#include <string>

#include <dogged/worker.hpp>

#include "client/log_format.hpp"

namespace dogged::runtime {

/// A worker that restarts itself passes its lease to the new process in this variable. Nothing else sets it.
inline constexpr const char* previous_lease_variable = "DOGGED_PREVIOUS_LEASE";

struct CommandLine {
  WorkerOptions worker;
  std::string log_level = "info";
  LogFormat log_format = LogFormat::text;
  bool list_tasks = false;
};

/// Reads argv and the environment over what `line` has, and removes the previous lease from the environment. Gives an
/// exit code if the process should end at once: 0 after --help, 2 after a mistake, which it has printed.
[[nodiscard]] std::optional<int> parse_command_line(int argc, char** argv, CommandLine& line);

}  // namespace dogged::runtime
