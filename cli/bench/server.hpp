// The settings of a server that decide its speed, and warnings of conditions that falsify a benchmark.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/bench/scene.hpp"
#include "db/connection.hpp"

namespace dogged::cli::bench {

struct Server {
  std::string version;
  std::map<std::string, std::string> settings;  ///< by name, as SHOW gives them
  bool is_on_this_machine = false;              ///< then the CPU time of this machine is its own too
  bool may_checkpoint = false;                  ///< this role may ask for a checkpoint
};

[[nodiscard]] Server look_at_server(db::Connection& connection);

/// The conditions that falsify figures, each a sentence with its remedy. Pure.
[[nodiscard]] std::vector<std::string> warnings_for(const Server& server, const Conditions& conditions);

/// How long the CPUs of this machine have been busy since it was started, in seconds, and how many there are.
[[nodiscard]] double busy_seconds_of_machine();
[[nodiscard]] int cpus_of_machine();

}  // namespace dogged::cli::bench
