// The parameters of claim.sql and look.sql.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "claim/queues.hpp"
#include "db/connection.hpp"

namespace dogged::runtime {

/// `names`: the tasks that the worker knows. `versions`: for each name, the latest version of the args that the worker
/// knows; empty: 1 for all.
[[nodiscard]] db::Params claim_params(std::int64_t worker_id, const std::vector<QueueClaim>& claims,
                                      const std::vector<std::string>& names, std::int64_t claim_session,
                                      const std::vector<std::int64_t>& versions = {});

/// `for_ready`: the places where the statement looks for a ready task. `queues`: the queues whose earliest due time it
/// gives.
[[nodiscard]] db::Params look_params(const std::vector<QueueClaim>& for_ready, const std::vector<std::string>& names,
                                     const std::vector<std::string>& queues, const std::vector<std::int64_t>& versions);

}  // namespace dogged::runtime
