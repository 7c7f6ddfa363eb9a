// Jitter as people write it: none, full, 25%, 50ms.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <dogged/policy.hpp>

namespace dogged {

[[nodiscard]] std::string jitter_to_text(const Jitter& jitter);

/// Nothing if the text has another form. Throws DurationOutOfRange (duration.hpp) for a negative duration, and for
/// one that is too long to count. Does not check the limits of jitter.
[[nodiscard]] std::optional<Jitter> jitter_from_text(std::string_view text);

}  // namespace dogged
