// The Retry-After header (RFC 9110, section 10.2.3), and headers that mean the same: how long a server asks its
// callers to wait.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace dogged {

/// Longer waits are cut to this, the longest delay that dogged takes.
inline constexpr std::chrono::seconds retry_after_max = std::chrono::hours{24};

/// The wait that `retry_after` asks for, 0 to `retry_after_max`; nothing if it cannot be read.
///
/// The header is a number of seconds, or a date in one of the three formats of RFC 9110, section 5.6.7. A date is
/// compared with the response's own `date` header, so that the server's clock is compared with itself. If `date` is
/// empty or cannot be read, it is compared with `now`, the local clock; without either, a date cannot be read. A wait
/// that is negative or past is 0: at once. Thread-safe; allocates nothing.
[[nodiscard]] std::optional<std::chrono::seconds> parse_retry_after(
    std::string_view retry_after, std::string_view date,
    std::optional<std::chrono::system_clock::time_point> now) noexcept;

/// The wait of a header that counts milliseconds, such as Azure's `x-ms-retry-after-ms` and AWS's
/// `x-amz-retry-after`: 0 to `retry_after_max`. Nothing if it is not a number, 0 if it is negative; 8.5 counts as 8.
/// Thread-safe; allocates nothing.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_retry_after_ms(std::string_view retry_after_ms) noexcept;

}  // namespace dogged
