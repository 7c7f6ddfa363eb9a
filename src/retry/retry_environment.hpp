// Retry settings of environment variables.
#pragma once

#include <string>
#include <string_view>

#include <dogged/resolved_retry_config.hpp>

namespace dogged {

/// The settings of the variables `prefix`RETRY_…, over the settings of the layers `below`. Throws InvalidPolicy for a
/// value that is none, which names the variable.
[[nodiscard]] RetrySettings settings_from_environment(const Environment& environment, const std::string& prefix,
                                                      const RetryConfig& below);

/// `RETRY_MAX_ATTEMPTS` for `max_attempts`; empty for a setting that has no variable.
[[nodiscard]] std::string_view variable_of(std::string_view field);

}  // namespace dogged
