// What to do where PostgreSQL has said "permission denied".
#pragma once

#include <string>

#include <dogged/error.hpp>

#include "cli/invocation.hpp"

namespace dogged::cli {

/// The role that this login lacks, as the database says it, and how to give it; else the error's own hint.
[[nodiscard]] std::string hint_for(const Invocation& invocation, const Error& error);

}  // namespace dogged::cli
