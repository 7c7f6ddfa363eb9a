// Times and durations as the command line reads and writes them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dogged::cli {

using std::chrono::microseconds;
/// PostgreSQL's resolution; UTC.
using Time = std::chrono::time_point<std::chrono::system_clock, microseconds>;

enum class Zone { local, utc };

[[nodiscard]] Time time_from_microseconds(std::int64_t since_1970);
[[nodiscard]] std::optional<Time> time_from_microseconds(std::optional<std::int64_t> since_1970);

/// `2026-11-21T13:02:11.250000Z`
[[nodiscard]] std::string to_iso8601(Time time);

/// Reads `2026-11-21T14:02:11.25+01:00`. Seconds, their fraction and the zone are optional. A space may stand for the
/// T, and a date alone means its midnight. `zone`: of a time without a zone. Throws InvalidInput.
[[nodiscard]] Time time_from_iso8601(std::string_view text, Zone zone = Zone::local);

/// `2026-11-21`, `14:02:11`, `14:02:11.250`, `2026-11-21 14:02:11`.
[[nodiscard]] std::string date_text(Time time, Zone zone);
[[nodiscard]] std::string clock_text(Time time, Zone zone);
[[nodiscard]] std::string clock_text_with_ms(Time time, Zone zone);
[[nodiscard]] std::string date_and_clock_text(Time time, Zone zone);

/// Rounded for reading: `0 ms`, `0.4 ms`, `120 ms`, `5.2 s`, `1 m 42 s`, `2 h 5 m`, `3 d 4 h`. Negative durations have
/// a minus.
[[nodiscard]] std::string readable(microseconds duration);

/// `in 41 s`, `12 s ago`, `now` (less than half a second away).
[[nodiscard]] std::string relative(Time time, Time now);

/// One unit, as tables have room for: `41 s`, `3 m`, `2 h`, `5 d`.
[[nodiscard]] std::string short_duration(microseconds duration);

/// A time as tables show it, in at most 12 columns. Within an hour: `now`, `41 s ago`, `in 3 m`. On the same day:
/// `08:36:11`. Within half a year: `Nov 21 08:36`. Otherwise: `2026-11-21`.
[[nodiscard]] std::string short_time(Time time, Time now, Zone zone);

}  // namespace dogged::cli
