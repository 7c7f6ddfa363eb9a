// Brings a database's schema to what this program needs.
//
// migrations/NNNN_name.sql are applied once each, in order, every one in a transaction of its own under a
// lock. A file that was applied never changes again: its SHA-256 is kept and compared. schema/*.sql (views and
// functions) are applied again whenever they differ from what was applied last.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <dogged/error.hpp>

#include "db/connection.hpp"

namespace dogged::migrate {

/// One migration or file of the SQL interface, and whether the database has it.
struct Step {
  std::string name;      ///< for example 0001_tasks, or views
  std::string checksum;  ///< SHA-256 of its text, hexadecimal
  bool applied = false;
  std::string applied_at;  ///< ISO 8601 in UTC; empty if it is not applied
  bool is_schema_file = false;
};

struct Report {
  std::vector<Step> steps;
  bool up_to_date = false;
};

/// Every step, applied or pending. Throws SchemaMismatch if the database is newer than this program or a migration that
/// was applied has changed since.
[[nodiscard]] Report status(db::Connection& connection);

/// Applies what is pending, makes the partitions of the coming days and grants rights to the roles, if there are; gives
/// the steps that it applied. `on_step` is called after each. Safe to run from several programs at once. Throws as
/// `status` does.
Report apply(db::Connection& connection, const std::function<void(const Step&)>& on_step = {});

/// Makes the roles of producers, workers, viewers and operators and grants them their rights (schema/rights.sql), after
/// `apply`. Their names begin with `prefix`; without one, with the former prefix or the schema's name. Gives the names.
/// Throws DatabaseError where a role is missing that this login may not make.
std::vector<std::string> make_roles(db::Connection& connection, const std::optional<std::string>& prefix = {});

/// Throws SchemaMismatch, with the command that mends it, unless this program can work with the database as it is.
/// Views and functions may be those of another version: old and new workers overlap in a rolling deploy.
void require_current(db::Connection& connection);

}  // namespace dogged::migrate
