// Tasks that another worker declares differently. The newest declaration of a task counts for all workers. So a failure
// has the same consequences on every worker.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <spdlog/logger.h>

#include "db/connection_fwd.hpp"
#include "sql/registration.hpp"
#include "tasks/definition_fwd.hpp"

namespace dogged::runtime {

/// For one thread.
class AdoptedDeclarations {
 public:
  AdoptedDeclarations(std::shared_ptr<const Definitions> definitions, std::shared_ptr<spdlog::logger> log);

  /// Puts the newest declaration of each task in force, and says so where that is another one than before.
  void compare(db::Connection& connection);

 private:
  void adopt(const sql::DifferingDefinitions::Row& other);
  void tell_of_unreadable(const sql::DifferingDefinitions::Row& other, std::string_view reason);
  void give_up_all_but(const std::set<std::string>& differing);

  const std::shared_ptr<const Definitions> definitions_;
  const std::shared_ptr<spdlog::logger> log_;
  std::set<std::string> adopted_;     // tasks for which another worker's declaration is in force
  std::set<std::string> unreadable_;  // tasks for which that cannot be read
};

}  // namespace dogged::runtime
