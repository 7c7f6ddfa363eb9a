// The Retry-After header (RFC 9110, section 10.2.3), and others that mean the same: how long the server asks its
// callers to wait.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace dogged {

/// What asks for longer is cut to this, the longest delay that dogged takes.
inline constexpr std::chrono::seconds retry_after_max = std::chrono::hours{24};

/// The wait that `retry_after` asks for, 0 to `retry_after_max`; nothing where it cannot be read.
///
/// It is a number of seconds, or a date in one of the three formats of RFC 9110, section 5.6.7. A date is held against
/// the response's own `date` header, so that the server's clock is compared with itself, and against `now`, the local
/// clock, where `date` is empty or cannot be read; with neither, a date cannot be read. A wait that is negative or past
/// is 0: at once. Thread-safe; allocates nothing.
[[nodiscard]] std::optional<std::chrono::seconds> parse_retry_after(
    std::string_view retry_after, std::string_view date,
    std::optional<std::chrono::system_clock::time_point> now) noexcept;

/// The wait of a header that counts milliseconds, as Azure's `x-ms-retry-after-ms` and AWS's `x-amz-retry-after`; 0 to
/// `retry_after_max`, nothing where it is not a number, 0 where that is negative. Of 8.5 the 8 counts. Thread-safe;
/// allocates nothing.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_retry_after_ms(std::string_view retry_after_ms) noexcept;

}  // namespace dogged
