// Retention: drops the days of ended tasks and of attempts that are older than dogged.settings keeps them. What is kept
// is decided in schema/retention.sql; this carries it out, one short transaction a step. Workers and `dogged maintain`
// call it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.hpp"

namespace dogged::retention {

struct Step {
  std::string what;     ///< a partition or, where none could be named, its table; `workers`
  std::string outcome;  ///< `dropped`, `thinned`, `forgotten`; `postponed`, `busy`: not done, to be tried again
  /// What stays of a day that was dropped or thinned: tasks of queues that are kept longer, attempts of tasks that are
  /// still there. Of `workers` how many were forgotten.
  std::optional<std::int64_t> rows;
  bool is_thinning = false;  ///< of what stayed when its day was dropped

  [[nodiscard]] bool is_done() const { return outcome != "postponed" && outcome != "busy"; }
};

enum class Extent {
  days,       ///< days that are due; the rest only where there was one
  everything  ///< what stayed of a day and need not any more, and workers that nothing names, as well
};

/// One round; what it did, nothing where nothing was due. `goes_on` is asked before each step.
std::vector<Step> apply(db::Connection& connection, Extent extent, const std::function<bool()>& goes_on);

}  // namespace dogged::retention
