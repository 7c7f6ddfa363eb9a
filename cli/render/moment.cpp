// Times and durations as the command line reads and writes them.
#include "cli/render/moment.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <optional>

#include <dogged/error.hpp>

#include "text/message.hpp"

namespace dogged::cli {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

std::tm broken_down(Time time, Zone zone) {
  const std::time_t whole = std::chrono::floor<seconds>(time).time_since_epoch().count();
  std::tm parts{};
  if (zone == Zone::utc) {
    gmtime_r(&whole, &parts);
  } else {
    localtime_r(&whole, &parts);
  }
  return parts;
}

std::string formatted(Time time, Zone zone, const char* format) {
  const std::tm parts = broken_down(time, zone);
  std::array<char, 64> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), format, &parts);
  return {text.data(), length};
}

/// The part below a second, `digits` long.
std::string fraction_text(Time time, int digits) {
  auto fraction = (time - std::chrono::floor<seconds>(time)).count();
  for (int i = digits; i < 6; ++i) fraction /= 10;
  std::string text = std::to_string(fraction);
  return std::string(static_cast<std::size_t>(digits) - text.size(), '0') + text;
}

/// Takes apart a text of fixed shape from its beginning.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// Exactly `digits` of them.
  std::optional<int> number(std::size_t digits) {
    if (rest_.size() < digits) return std::nullopt;
    int value = 0;
    for (char c : rest_.substr(0, digits)) {
      if (c < '0' || c > '9') return std::nullopt;
      value = value * 10 + (c - '0');
    }
    rest_.remove_prefix(digits);
    return value;
  }
  /// Digits after the point as microseconds; more than six are cut.
  std::optional<microseconds> fraction() {
    std::int64_t value = 0;
    std::size_t digits = 0;
    for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; rest_.remove_prefix(1), ++digits) {
      if (digits < 6) value = value * 10 + (rest_.front() - '0');
    }
    if (digits == 0 || digits > 9) return std::nullopt;
    for (; digits < 6; ++digits) value *= 10;
    return microseconds{value};
  }

 private:
  std::string_view rest_;
};

struct DateAndTime {
  int year, month, day, hour, minute, second;
  microseconds fraction;
};

bool is_possible(const DateAndTime& t) {
  const std::chrono::year_month_day date{std::chrono::year{t.year}, std::chrono::month{static_cast<unsigned>(t.month)},
                                         std::chrono::day{static_cast<unsigned>(t.day)}};
  return date.ok() && t.hour <= 23 && t.minute <= 59 && t.second <= 59;
}

std::optional<DateAndTime> read_date_and_time(Reader& reader) {
  DateAndTime t{};
  const auto field = [&reader](int& into, std::size_t digits) {
    const auto number = reader.number(digits);
    into = number.value_or(0);
    return number.has_value();
  };
  if (!field(t.year, 4) || !reader.take('-') || !field(t.month, 2) || !reader.take('-') || !field(t.day, 2)) {
    return std::nullopt;
  }
  if (reader.at_end()) return is_possible(t) ? std::optional{t} : std::nullopt;
  if (!reader.take('T') && !reader.take(' ')) return std::nullopt;
  if (!field(t.hour, 2) || !reader.take(':') || !field(t.minute, 2)) return std::nullopt;
  if (reader.take(':')) {
    if (!field(t.second, 2)) return std::nullopt;
    if (reader.take('.')) {
      const auto fraction = reader.fraction();
      if (!fraction) return std::nullopt;
      t.fraction = *fraction;
    }
  }
  return is_possible(t) ? std::optional{t} : std::nullopt;
}

/// East of UTC. Nothing if the rest of the text is no zone.
std::optional<minutes> read_zone(Reader& reader) {
  if (reader.take('Z')) return reader.at_end() ? std::optional{minutes{0}} : std::nullopt;
  const bool east = reader.take('+');
  if (!east && !reader.take('-')) return std::nullopt;
  const auto hour = reader.number(2);
  if (!hour || *hour > 15) return std::nullopt;
  int minute = 0;
  if (!reader.at_end()) {
    reader.take(':');
    const auto number = reader.number(2);
    if (!number || *number > 59 || !reader.at_end()) return std::nullopt;
    minute = *number;
  }
  const minutes offset = hours{*hour} + minutes{minute};
  return east ? offset : -offset;
}

Time in_zone_of_this_machine(const DateAndTime& t) {
  std::tm parts{};
  parts.tm_year = t.year - 1900;
  parts.tm_mon = t.month - 1;
  parts.tm_mday = t.day;
  parts.tm_hour = t.hour;
  parts.tm_min = t.minute;
  parts.tm_sec = t.second;
  parts.tm_isdst = -1;
  return Time{seconds{std::mktime(&parts)}} + t.fraction;
}

Time in_utc(const DateAndTime& t) {
  const std::chrono::sys_days date{std::chrono::year{t.year} / t.month / t.day};
  return Time{date} + hours{t.hour} + minutes{t.minute} + seconds{t.second} + t.fraction;
}

std::optional<Time> read_iso8601(std::string_view text, Zone zone) {
  Reader reader{text};
  const auto parts = read_date_and_time(reader);
  if (!parts) return std::nullopt;
  if (reader.at_end()) return zone == Zone::utc ? in_utc(*parts) : in_zone_of_this_machine(*parts);
  const auto offset = read_zone(reader);
  if (!offset) return std::nullopt;
  return in_utc(*parts) - *offset;
}

/// With one digit after the point below ten, unless it is 0.
std::string few_digits(double number) {
  std::array<char, 32> text{};
  const bool tenths = number < 99.95 && std::fmod(std::round(number * 10), 10) != 0;
  std::snprintf(text.data(), text.size(), tenths ? "%.1f" : "%.0f", number);
  return text.data();
}

/// `1 h 5 m`: the larger unit, and the smaller one unless it is 0.
std::string two_units(std::int64_t large, const char* large_unit, std::int64_t small, const char* small_unit) {
  std::string text = std::to_string(large) + " " + large_unit;
  if (small != 0) text += " " + std::to_string(small) + " " + small_unit;
  return text;
}

}  // namespace

Time time_from_microseconds(std::int64_t since_1970) { return Time{microseconds{since_1970}}; }

std::optional<Time> time_from_microseconds(std::optional<std::int64_t> since_1970) {
  return since_1970 ? std::optional{time_from_microseconds(*since_1970)} : std::nullopt;
}

std::string to_iso8601(Time time) {
  return formatted(time, Zone::utc, "%Y-%m-%dT%H:%M:%S.") + fraction_text(time, 6) + "Z";
}

Time time_from_iso8601(std::string_view text, Zone zone) {
  if (const auto time = read_iso8601(text, zone)) return *time;
  throw InvalidInput(in_quotes(text) +
                     " is not a time; write it as in 2026-11-24, 2026-11-24T14:02 or 2026-11-24T14:02:11+01:00 (a time "
                     "without a zone is in the zone of this machine, or with --utc in UTC)");
}

std::string date_text(Time time, Zone zone) { return formatted(time, zone, "%Y-%m-%d"); }

std::string clock_text(Time time, Zone zone) { return formatted(time, zone, "%H:%M:%S"); }

std::string clock_text_with_ms(Time time, Zone zone) {
  return formatted(time, zone, "%H:%M:%S.") + fraction_text(time, 3);
}

std::string date_and_clock_text(Time time, Zone zone) { return formatted(time, zone, "%Y-%m-%d %H:%M:%S"); }

std::string readable(microseconds duration) {
  if (duration < microseconds{0}) return "-" + readable(-duration);
  const auto us = static_cast<double>(duration.count());
  if (us < 999.5 * 1000) {
    return (us < 10'000 ? few_digits(us / 1000) : std::to_string(std::lround(us / 1000))) + " ms";
  }
  if (us < 59.95e6) return few_digits(us / 1e6) + " s";
  const std::int64_t s = std::llround(us / 1e6);
  if (s < 3600) return two_units(s / 60, "m", s % 60, "s");
  const std::int64_t m = std::llround(us / 60e6);
  if (m < 24 * 60) return two_units(m / 60, "h", m % 60, "m");
  const std::int64_t h = std::llround(us / 3600e6);
  return two_units(h / 24, "d", h % 24, "h");
}

std::string relative(Time time, Time now) {
  const microseconds ahead = time - now;
  if (std::chrono::abs(ahead) < std::chrono::milliseconds{500}) return "now";
  // Whole seconds: a countdown's tenths are noise.
  const microseconds rounded = std::chrono::round<seconds>(ahead);
  return ahead > microseconds{0} ? "in " + readable(rounded) : readable(-rounded) + " ago";
}

std::string short_duration(microseconds duration) {
  const auto rounded = [duration](auto unit) { return std::chrono::round<decltype(unit)>(duration).count(); };
  if (const auto count = rounded(seconds{}); count < 60) return std::to_string(count) + " s";
  if (const auto count = rounded(minutes{}); count < 60) return std::to_string(count) + " m";
  if (const auto count = rounded(hours{}); count < 24) return std::to_string(count) + " h";
  return std::to_string(rounded(days{})) + " d";
}

std::string short_time(Time time, Time now, Zone zone) {
  const microseconds ahead = time - now;
  const microseconds distance = std::chrono::abs(ahead);
  constexpr microseconds rounded_to_an_hour = minutes{59} + seconds{30};
  constexpr microseconds half_a_year = days{180};
  if (distance < std::chrono::milliseconds{500}) return "now";
  if (distance < rounded_to_an_hour) {
    return ahead > microseconds{0} ? "in " + short_duration(distance) : short_duration(distance) + " ago";
  }
  if (date_text(time, zone) == date_text(now, zone)) return clock_text(time, zone);
  return distance < half_a_year ? formatted(time, zone, "%b %d %H:%M") : date_text(time, zone);
}

}  // namespace dogged::cli
