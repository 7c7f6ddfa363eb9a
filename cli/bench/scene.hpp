// Where a benchmark takes place: a schema of its own, which is dropped at the end, and the conditions in it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "db/connection.hpp"

namespace dogged::cli::bench {

struct Conditions {
  std::int64_t history = 0;    ///< tasks that have succeeded before, in the last seven days
  std::int64_t deferred = 0;   ///< tasks due tomorrow, more urgent than the measured tasks
  bool hold_snapshot = false;  ///< a transaction stays open that may still see all that was there when it began
  std::int64_t payload = 0;    ///< bytes in the args of each task
  bool unique = false;         ///< each task has a unique key of its own
};

/// Whether there is something that must be vacuumed and written before measuring.
[[nodiscard]] bool must_be_settled(const Conditions& conditions) noexcept;

/// Called with the present step, and with how much of it is done: 0 of 0 if that is unknown. An empty step means that
/// nothing is under way, so that others may write.
using Progress = std::function<void(const std::string& doing, std::int64_t done, std::int64_t of)>;

class Scene {
 public:
  /// Makes the schema, with the queue and the conditions. Throws Failure where a schema of this name is there that no
  /// benchmark has made, or where another benchmark is under way.
  Scene(const db::Settings& settings, const Conditions& conditions, const Progress& progress);
  /// Drops the schema.
  ~Scene();
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  [[nodiscard]] db::Connection& connection() noexcept { return connection_; }
  [[nodiscard]] const db::Settings& settings() const noexcept { return connection_.settings(); }
  [[nodiscard]] const Conditions& conditions() const noexcept { return conditions_; }
  [[nodiscard]] const Progress& progress() const noexcept { return progress_; }

 private:
  void make_schema();
  void end();
  void add_history();
  void add_deferred();
  /// Brings the added rows into the state that days of use leave: vacuumed, and written to disk. Otherwise the next
  /// session that needs a buffer writes full pages first. Beside 1.6 GB of fresh rows in another table, a drain ran at
  /// 0.70 of its rate.
  void settle();

  Conditions conditions_;
  Progress progress_;
  db::Connection connection_;
};

/// Runs `work` while a transaction is open that may still see all that is there now, so that nothing of it is vacuumed.
void with_snapshot_held(const db::Settings& settings, const std::function<void()>& work);

/// Throws Failure after Ctrl-C.
void require_not_interrupted();

}  // namespace dogged::cli::bench
