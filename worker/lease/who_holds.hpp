// Asks the database who holds tasks (who_holds.sql).
#pragma once

#include <cstdint>
#include <vector>

#include "db/connection_fwd.hpp"
#include "lease/core/holder.hpp"
#include "sql/lease.hpp"
#include "tasks/core/claimed_task.hpp"

namespace dogged::runtime {

[[nodiscard]] Holder holder_of(const sql::WhoHolds::Row& row);

/// One holder for each of `attempts` of worker `worker_id`, in their order.
[[nodiscard]] std::vector<Holder> read_holders(db::Connection& connection, std::int64_t worker_id,
                                               const std::vector<Attempt>& attempts);

}  // namespace dogged::runtime
