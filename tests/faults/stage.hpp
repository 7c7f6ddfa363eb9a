// The stage of a scenario: a schema of its own on a private server, and workers that are started and hurt one by one. A
// gate holds handlers, and the checker runs at the end.
#pragma once

#include <filesystem>
#include <list>
#include <string>
#include <vector>

#include <dogged/client.hpp>

#include "checker.hpp"
#include "database.hpp"
#include "server.hpp"
#include "tasks.hpp"
#include "worker_slot.hpp"

namespace dogged::faults {

class Stage {
 public:
  Stage();
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// The same for all scenarios of this program.
  [[nodiscard]] static Server& server();
  [[nodiscard]] Database& database() { return database_; }

  /// Another worker, which has not started. Each has one thread for each of four tasks.
  WorkerSlot& add_worker(const CommandOptions& options = {});
  /// Starts another worker, and waits until it works.
  WorkerSlot& start_worker(const CommandOptions& options = {});
  /// Starts the next process of a worker that has ended, and waits until it works.
  void start_again(WorkerSlot& worker);

  TaskId enqueue(const Task<Plan>& task, Plan plan);
  /// For Plan::gate.
  [[nodiscard]] std::string gate() const { return (directory_ / "gate").string(); }
  void open_gate();

  /// Waits until the handlers' log says so; false after a generous time. `how` as in handler_log.hpp.
  [[nodiscard]] bool has_started(TaskId task, int attempt);
  [[nodiscard]] bool has_ended(TaskId task, int attempt, std::string_view how);
  /// Waits until no task is pending or running; false after a generous time.
  [[nodiscard]] bool all_ended();
  /// `pending`, `succeeded` …
  [[nodiscard]] std::string status_of(TaskId task);
  /// `1 lost true, 2 succeeded false`: number, outcome and will_retry of every attempt.
  [[nodiscard]] std::string history_of(TaskId task);
  /// How many incarnations a worker's process has had: rows of `workers`.
  [[nodiscard]] int incarnations_of(WorkerSlot& worker);

  /// The checker's findings; "none" if there are none. The server must answer.
  [[nodiscard]] std::string broken_promises();
  /// See checker.hpp.
  [[nodiscard]] milliseconds worst_lateness();

 private:
  const Evidence& read();

  std::filesystem::path directory_;
  Database database_;
  std::list<WorkerSlot> workers_;
  Evidence evidence_;
  std::int64_t next_key_ = 1;
};

}  // namespace dogged::faults
