// One run of the simulation. Workers, producers and operators run under faults; then the faults stop, all tasks must
// end, and the promises are checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mutant.hpp"

namespace dogged::sim {

struct RunSettings {
  std::uint64_t seed = 1;
  Mutant mutant = Mutant::none;
  int disturbances = 1'000;  ///< at most so many crashes, freezes, locks and the like: fewer make a shorter story
  bool traces = false;
  bool traces_steps = false;  ///< of the claimers as well
};

struct RunResult {
  std::optional<std::string> broken;  ///< the promise that was not kept
  std::vector<std::string> trace;
  std::size_t tasks = 0;
  std::size_t attempts = 0;
  int disturbances = 0;
};

[[nodiscard]] RunResult run(const RunSettings& settings);

/// The same failure with the fewest disturbances that show it.
[[nodiscard]] RunResult shrink(const RunSettings& failing);

}  // namespace dogged::sim
