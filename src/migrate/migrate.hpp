// Brings a database's schema to what this program needs.
//
// migrations/NNNN_name.sql are applied once each, in order, each in a transaction of its own under a lock. An applied
// file never changes: its SHA-256 is stored and compared. schema/*.sql (views and functions) are applied again whenever
// they differ from the applied text.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/connection_fwd.hpp"

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

/// Every step, applied or pending. Throws SchemaMismatch if the database is newer than this program, or if an applied
/// migration has changed since.
[[nodiscard]] Report status(db::Connection& connection);

/// Applies pending steps, creates the partitions of the coming days and grants rights to the roles, if there are any.
/// Gives the applied steps; calls `on_step` after each. Several programs may run it at once. Throws as `status` does.
Report apply(db::Connection& connection, const std::function<void(const Step&)>& on_step = {});

/// Creates the roles of producers, workers, viewers and operators and grants them their rights (schema/rights.sql);
/// call it after `apply`. The names of the roles begin with `prefix`; without one, with the former prefix or the
/// schema's name. Gives the names. Throws DatabaseError if a role is missing that this login may not create.
std::vector<std::string> make_roles(db::Connection& connection, const std::optional<std::string>& prefix = {});

/// Throws SchemaMismatch, with the command that fixes it, unless this program can work with the present schema. Views
/// and functions may be those of another version: old and new workers overlap in a rolling deploy.
void require_current(db::Connection& connection);

}  // namespace dogged::migrate
