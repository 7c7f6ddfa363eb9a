// The advice after an error.
#pragma once

#include <string>

#include <dogged/error.hpp>

#include "cli/invocation.hpp"

namespace dogged::cli {

/// The error's own hint, with the commands of this program in place of functions of SQL and C++. Where PostgreSQL has
/// said "permission denied": the role that this login lacks, as the database says it, and how to give it.
[[nodiscard]] std::string hint_for(const Invocation& invocation, const Error& error);

}  // namespace dogged::cli
