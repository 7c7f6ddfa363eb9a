// Runs the checks of `dogged doctor` on a database.
#pragma once

#include "cli/doctor/finding.hpp"
#include "db/connection_fwd.hpp"

namespace dogged::cli::doctor {

/// The findings of all checks, in a fixed order. A check that the database refuses is a finding itself. Throws
/// ConnectionError, and SchemaMismatch where there is no schema to look at.
[[nodiscard]] Findings run_checks(db::Connection& connection);

}  // namespace dogged::cli::doctor
