// Jitter as people write it: none, full, 25%, 50ms.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <dogged/policy.hpp>

namespace dogged {

[[nodiscard]] std::string jitter_to_text(const Jitter& jitter);

/// Nothing where the text is none of the forms. Throws DurationOutOfRange (duration.hpp) for one that is negative or
/// too long to be counted; whether the amount is within its limits is not asked else.
[[nodiscard]] std::optional<Jitter> jitter_from_text(std::string_view text);

}  // namespace dogged
