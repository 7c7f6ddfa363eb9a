// A place for a fault_worker, with a proxy of its own in front of the server. One process at a time; a new process
// starts after the last one has ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "process.hpp"
#include "proxy.hpp"
#include "server.hpp"

namespace dogged::faults {

/// Short for the fault tests: a lease lasts half a minute by default, and here a second or two.
inline constexpr std::chrono::milliseconds lease{1500};
inline constexpr std::chrono::milliseconds heartbeat{300};

/// Of fault_worker: `--lease`, and its value.
using CommandOptions = std::map<std::string, std::string>;

struct WorkerSettings {
  std::filesystem::path directory;  ///< of the run: its logs are there
  std::string schema = "dogged";
  int number = 0;               ///< of the slot; part of the worker's name
  CommandOptions options = {};  ///< beside the usual ones, and in their place
};

class WorkerSlot {
 public:
  WorkerSlot(const Server& server, WorkerSettings settings);

  /// Starts a process. The one before must have ended.
  void start();
  /// The latest one. Only after start().
  [[nodiscard]] Process& process() { return *process_; }
  [[nodiscard]] Proxy& proxy() noexcept { return proxy_; }
  /// SIGTERM, and waits; its exit status, or nothing where it does not end within 30 s.
  [[nodiscard]] std::optional<int> stop();
  /// Whether the latest process has come to the point where it works, so that it must not end unasked.
  [[nodiscard]] bool was_ready() const;

  /// In pg_stat_activity, of all connections of this slot.
  [[nodiscard]] std::string application_name() const;
  [[nodiscard]] std::filesystem::path log() const;
  /// The log of the latest process so far.
  [[nodiscard]] std::string log_of_process() const;

 private:
  WorkerSettings settings_;
  Proxy proxy_;
  std::unique_ptr<Process> process_;
  int started_ = 0;
  std::uintmax_t log_begins_at_ = 0;  ///< of the latest process
};

[[nodiscard]] std::filesystem::path handler_log_of(const std::filesystem::path& directory);

}  // namespace dogged::faults
