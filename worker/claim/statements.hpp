// The statements that ask for tasks: claim.sql and look.sql.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "claim/core/queues.hpp"
#include "sql/claim.hpp"

namespace dogged::runtime {

/// `names`: the tasks that the worker knows. `versions`: for each name, the latest version of the args that the worker
/// knows.
[[nodiscard]] sql::Claim claim_of(std::int64_t worker_id, const std::vector<QueueClaim>& claims,
                                  std::vector<std::string> names, std::int64_t claim_session,
                                  std::vector<int> versions);

/// `for_ready`: the places where the statement looks for a ready task. `queues`: the queues whose earliest due time it
/// gives.
[[nodiscard]] sql::Look look_for(const std::vector<QueueClaim>& for_ready, std::vector<std::string> names,
                                 std::vector<std::string> queues, std::vector<int> versions);

}  // namespace dogged::runtime
