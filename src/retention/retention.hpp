// Retention: drops days of ended tasks and of attempts that are older than dogged.settings allows. schema/retention.sql
// decides which days. This code drops them, in one short transaction a step. Workers and `dogged maintain` call it.
#pragma once

#include <functional>
#include <vector>

#include "db/connection_fwd.hpp"
#include "retention/step.hpp"

namespace dogged::retention {

/// One round. Gives the steps that were due, done or not. `goes_on` is asked before each step.
std::vector<Step> apply(db::Connection& connection, Extent extent, const std::function<bool()>& goes_on);

}  // namespace dogged::retention
