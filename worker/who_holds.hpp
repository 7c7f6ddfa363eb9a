// What who_holds.sql says of a task whose worker's word did not count.
#pragma once

#include <string>

#include "db/connection.hpp"

namespace dogged::runtime {

/// For the log: who has the task now, or how it ended, and what is on record of the attempt.
[[nodiscard]] std::string whose_it_is(const db::Row& row);

}  // namespace dogged::runtime
