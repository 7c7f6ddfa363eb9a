// How `dogged` and workers end, for scripts and supervisors. `dogged --help` lists the same under "Exit
// codes".
#pragma once

#include <exception>
#include <stdexcept>

#include <dogged/error.hpp>

namespace dogged {

enum class ExitCode {
  ok = 0,
  not_done = 1,          ///< the thing asked for does not exist, or only a part was done
  wrong_input = 2,       ///< a mistake on the command line or in the input
  unreachable = 3,       ///< no connection to the database, or it was lost
  schema_mismatch = 4,   ///< the schema is missing, older or newer
  database_refused = 5,  ///< another error of the database
  defect = 70,           ///< a mistake of dogged itself (EX_SOFTWARE of sysexits.h)
  interrupted = 130,     ///< Ctrl-C, SIGTERM or SIGHUP, in a command that ends in order
};

[[nodiscard]] inline ExitCode exit_code_for(const std::exception& error) noexcept {
  if (dynamic_cast<const InvalidInput*>(&error) != nullptr) return ExitCode::wrong_input;
  if (dynamic_cast<const ConnectionError*>(&error) != nullptr) return ExitCode::unreachable;
  if (dynamic_cast<const SchemaMismatch*>(&error) != nullptr) return ExitCode::schema_mismatch;
  if (dynamic_cast<const DatabaseError*>(&error) != nullptr) return ExitCode::database_refused;
  if (dynamic_cast<const Defect*>(&error) != nullptr || dynamic_cast<const std::logic_error*>(&error) != nullptr) {
    return ExitCode::defect;
  }
  return ExitCode::not_done;
}

}  // namespace dogged
