// How an attempt ended.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace dogged {

/// docs/lifecycle.md explains each. The values are those of attempt_outcome in SQL.
enum class AttemptOutcome { succeeded, failed, timed_out, cancelled, lost, interrupted, snoozed };

namespace detail {
/// In the order of the enum.
inline constexpr std::array<std::string_view, 7> outcome_texts = {"succeeded", "failed",      "timed_out", "cancelled",
                                                                  "lost",      "interrupted", "snoozed"};
}  // namespace detail

[[nodiscard]] constexpr std::string_view to_text(AttemptOutcome outcome) noexcept {
  return detail::outcome_texts[static_cast<std::size_t>(outcome)];
}

}  // namespace dogged
