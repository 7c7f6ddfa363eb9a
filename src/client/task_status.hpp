// The statuses and outcomes that the database names.
#pragma once

#include <string_view>

#include <dogged/attempt_outcome.hpp>
#include <dogged/outcome.hpp>

namespace dogged {

// Throw SchemaMismatch for a text that this program does not know.
[[nodiscard]] TaskStatus task_status_of(std::string_view text);
[[nodiscard]] AttemptOutcome attempt_outcome_of(std::string_view text);

}  // namespace dogged
