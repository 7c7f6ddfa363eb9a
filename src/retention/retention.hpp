// Retention: drops days of ended tasks and of attempts that are older than dogged.settings allows. schema/retention.sql
// decides which days. This code drops them, in one short transaction a step. Workers and `dogged maintain` call it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/connection_fwd.hpp"

namespace dogged::retention {

struct Step {
  std::string what;     ///< a partition, or its table if none could be named; `workers`
  std::string outcome;  ///< `dropped`, `thinned`, `forgotten`; `postponed`, `busy`: not done, to be tried again
  /// Rows that stay of a dropped or thinned day: tasks of queues that are kept longer, and attempts of tasks that still
  /// exist. For `workers`: how many were forgotten.
  std::optional<std::int64_t> rows;
  bool is_thinning = false;  ///< of the rows that stayed when their day was dropped

  [[nodiscard]] bool is_done() const { return outcome != "postponed" && outcome != "busy"; }
};

enum class Extent {
  days,       ///< days that are due; the rest only if there was one
  everything  ///< also rows of dropped days that need not stay any more, and workers that nothing names
};

/// One round. Gives what it did; empty if nothing was due. `goes_on` is asked before each step.
std::vector<Step> apply(db::Connection& connection, Extent extent, const std::function<bool()>& goes_on);

}  // namespace dogged::retention
