// The schedules of a program as the worker declares them.
#pragma once

#include <string>
#include <vector>

#include <dogged/schedule.hpp>

#include "tasks/definition.hpp"

namespace dogged::runtime {

/// The settings of each schedule by its name, as JSON for dogged.declare_schedules; empty if there is none. Throws
/// InvalidInput for a rule that a schedule breaks, or two schedules of one name. Args that are not JSON are
/// InvalidInput, too, and so is a task that is not among `definitions`.
[[nodiscard]] std::string declarations_of(const std::vector<detail::DeclaredSchedule>& schedules,
                                          const Definitions& definitions);

}  // namespace dogged::runtime
