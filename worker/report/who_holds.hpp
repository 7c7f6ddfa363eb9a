// The answer of who_holds.sql on a task when a statement of its worker changed nothing.
#pragma once

#include <string>

#include "sql/claim.hpp"

namespace dogged::runtime {

/// For the log: which worker has the task now, or how the task ended, and what is on record of the attempt.
[[nodiscard]] std::string whose_it_is(const sql::WhoHolds::Row& task);

}  // namespace dogged::runtime
