// The settings that one JSON object says.
#pragma once

#include <string>
#include <string_view>

#include <dogged/resolved_retry_config.hpp>

namespace dogged {

/// `text` is the object itself. Throws InvalidPolicy as RetryConfig::from_json does, except for what only all layers
/// together show: that a setting is not used, or a delay cut.
[[nodiscard]] RetrySettings settings_from_json(std::string_view text);

/// A key as a step of a JSON pointer (RFC 6901). A key that is no name is cut and made printable.
[[nodiscard]] std::string pointer_step(std::string_view key);

}  // namespace dogged
