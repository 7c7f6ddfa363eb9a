// The parameters of claim.sql.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "db/connection.hpp"
#include "watermarks.hpp"

namespace dogged::runtime {

/// What is claimed from one queue.
struct QueueClaim {
  std::string queue;
  std::size_t how_many = 0;
  std::vector<Watermarks::Range> ranges = Watermarks{}.ranges();  ///< where it looks
  bool of_all = true;  ///< false: what others have locked or claimed since is not tried
};

/// `names`: of the tasks that the worker knows.
[[nodiscard]] db::Params claim_params(std::int64_t worker_id, const std::vector<QueueClaim>& claims,
                                      const std::vector<std::string>& names, std::int64_t claim_session);

}  // namespace dogged::runtime
