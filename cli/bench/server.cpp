// See server.hpp.
#include "cli/bench/server.hpp"

#include <algorithm>
#include <fstream>
#include <thread>

#include <unistd.h>

#include "sql/bench.hpp"

namespace dogged::cli::bench {
namespace {

struct Trap {
  const char* setting;
  const char* value;
  const char* sentence;
};

constexpr Trap traps[]{
    {"fsync", "off", "fsync is off: what is measured is not durable, and a crash may destroy the database; turn it on"},
    {"synchronous_commit", "off",
     "synchronous_commit is off: the last commits are lost when the server crashes, and figures of single enqueues are "
     "too "
     "good; turn it on"},
    {"full_page_writes", "off",
     "full_page_writes is off: a crash may destroy the database, and less is written than should be; turn it on"},
    {"autovacuum", "off",
     "autovacuum is off: the live table grows, and longer runs get slower than they should; turn it on"},
    {"debug_assertions", "on", "the server is built with assertions: it is slower than one that is installed"},
    {"log_statement", "all", "log_statement is all: the server writes each statement to its log; set it to none"},
    {"log_min_duration_statement", "0",
     "log_min_duration_statement is 0: the server writes each statement to its log; set it to -1"},
};

}  // namespace

Server look_at_server(db::Connection& connection) {
  Server server;
  for (const auto& [name, setting] : connection.run(sql::BenchServer{})) {
    const std::string value = setting.value_or("");
    if (name == "server_version") {
      server.version = value;
    } else if (name == "is_on_this_machine") {
      server.is_on_this_machine = value == "true";
    } else if (name == "may_checkpoint") {
      server.may_checkpoint = value == "true";
    } else {
      server.settings.emplace(name, value);
    }
  }
  return server;
}

std::vector<std::string> warnings_for(const Server& server, const Conditions& conditions) {
  std::vector<std::string> warnings;
  for (const Trap& trap : traps) {
    const auto setting = server.settings.find(trap.setting);
    if (setting != server.settings.end() && setting->second == trap.value) warnings.emplace_back(trap.sentence);
  }
  if (must_be_settled(conditions) && !server.may_checkpoint) {
    warnings.emplace_back(
        "this role may not ask for a checkpoint: writing the pages of --history and --deferred will be counted as the "
        "queue's work; grant pg_checkpoint to it");
  }
  return warnings;
}

double busy_seconds_of_machine() {
  std::ifstream file{"/proc/stat"};
  std::string cpu;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft_interrupts = 0;
  file >> cpu >> user >> nice >> system >> idle >> waiting >> interrupts >> soft_interrupts;
  return (user + nice + system + interrupts + soft_interrupts) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

int cpus_of_machine() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

}  // namespace dogged::cli::bench
