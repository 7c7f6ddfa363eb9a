// Collects during a run what the checker looks at after it.
#pragma once

#include <filesystem>

#include "checker.hpp"
#include "database.hpp"

namespace dogged::faults {

/// Notes the attempt rows that are new since the last look, as they are now.
void note_attempts_seen(Database& database, Evidence& evidence);

/// Removes keys and waits that no task needs, as workers do now and then, and reads what is left of them.
[[nodiscard]] Moment moment_after_retention(Database& database);

/// Reads tasks, attempts, workers, ticks, keys, steps and the handlers' log. The producer's tasks, the outages and the
/// rows seen during the run stay as they are.
void read_evidence(Database& database, const std::filesystem::path& handler_log, Evidence& evidence);

}  // namespace dogged::faults
