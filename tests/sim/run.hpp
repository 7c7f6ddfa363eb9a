// One run of the simulation. Workers, producers and operators run under faults; then the faults stop, all tasks must
// end, and the promises are checked.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mutant.hpp"
#include "worker.hpp"

namespace dogged::sim {

struct RunSettings {
  std::uint64_t seed = 1;
  Mutant mutant = Mutant::none;
  std::set<Incident> left_out = {};  ///< that do not happen
  bool traces = false;
  bool traces_steps = false;  ///< of the claimers as well
};

struct RunResult {
  std::optional<std::string> broken;  ///< the promise that was not kept
  std::vector<std::string> trace;
  std::size_t tasks = 0;
  std::size_t attempts = 0;
  std::vector<Incident> incidents;  ///< that happened
};

[[nodiscard]] RunResult run(const RunSettings& settings);

/// A run that breaks the same guarantee, with as few incidents as `most_runs` tries find to show it.
[[nodiscard]] RunResult shrink(const RunSettings& failing, int most_runs);

}  // namespace dogged::sim
