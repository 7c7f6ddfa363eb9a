// Durations as people write them: 250ms, 30s, 5m, 1h30m.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <dogged/delay.hpp>
#include <dogged/error.hpp>

namespace dogged {

[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Hours are the largest unit: `24h`, `1h30m`, `1m30s`, `1s500ms`, `0ms`, `-5s`.
[[nodiscard]] std::string duration_to_text(milliseconds duration);

/// A duration that is below zero, or longer than can be counted.
class DurationOutOfRange : public InvalidInput {
 public:
  using InvalidInput::InvalidInput;
};

/// Reads numbers with the units d, h, m, s and ms, the larger before the smaller: `250ms`, `30s`, `1h30m`, `1.5s`.
/// Throws DurationOutOfRange, which names `most` as the limit, for a minus and for a number that does not fit. The
/// caller enforces `most`. Throws InvalidInput for other texts: no unit, a plus, a fraction of a millisecond.
[[nodiscard]] milliseconds duration_from_text(std::string_view text, milliseconds most = milliseconds::max());

}  // namespace dogged
