// Whether the model is the database: the same random statements run against both, and must answer alike and leave the
// same rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mutant.hpp"

namespace dogged::sim {

struct ConformanceResult {
  std::optional<std::string> difference = {};  ///< the first one
  std::vector<std::string> trace = {};         ///< what ran up to it
};

/// Runs `steps` statements, chosen by `seed`, on a model and on the database of `url`, which has no tasks and no
/// workers yet. Throws what the database throws.
[[nodiscard]] ConformanceResult compare_with_postgres(const std::string& url, std::uint64_t seed, int steps,
                                                      Mutant mutant = Mutant::none);

}  // namespace dogged::sim
