// The schedules that this worker's program declares. The newest declaration of a schedule counts for all workers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <spdlog/logger.h>

#include "sql/registration.hpp"

namespace dogged::db {
class Connection;
}

namespace dogged::runtime {

/// Not thread-safe.
class DeclaredSchedules {
 public:
  /// `declarations`: as declarations_of() gives them; empty: none.
  DeclaredSchedules(std::string declarations, std::shared_ptr<spdlog::logger> log);

  /// Declares them for a worker. Logs which schedules that has changed, and which other workers declare otherwise.
  /// False, and none is declared, while another transaction has locked a schedule, or other workers declare theirs.
  /// Throws InvalidInput for a schedule that the database refuses; then none is declared either.
  bool declare(db::Connection& connection, std::int64_t worker_id);

 private:
  void tell_of_others(const sql::DeclareSchedules::Row& schedule);

  const std::string declarations_;
  const std::shared_ptr<spdlog::logger> log_;
  bool is_told_of_lock_ = false;
  std::map<std::string, std::string> told_;  // of the schedules that others declare otherwise: the last message
};

}  // namespace dogged::runtime
