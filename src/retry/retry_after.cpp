// The Retry-After header. Pure: no clock, no locale.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <system_error>

#include <dogged/retry_after.hpp>

namespace dogged {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;
using namespace std::chrono_literals;

struct DateFields {
  int year = 0;
  char month[4] = {};
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
};

/// Digits, and a sign, which RFC 9110 does not allow and servers send. A negative number is 0, and a number that is too
/// large is the most.
std::optional<long> parse_count(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::string_view digits = negative ? text.substr(1) : text;
  const bool only_digits = std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits.empty() || !only_digits) return std::nullopt;
  if (negative) return 0;
  long count = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return parsed.ec == std::errc::result_out_of_range ? std::numeric_limits<long>::max() : count;
}

/// Seconds of the header's first form.
std::optional<seconds> parse_delta(std::string_view text) {
  const auto count = parse_count(text);
  return count ? std::optional{seconds{*count}} : std::nullopt;
}

/// The longest date has 33 characters; sscanf skips more blanks.
constexpr std::size_t date_bytes_max = 63;

/// RFC 9110, section 5.6.7: of the years that end in two digits, the latest that is at most 50 years ahead.
int full_year(int two_digits, int this_year) {
  const int latest = this_year + 50;
  return latest - (latest % 100 - two_digits + 100) % 100;
}

// sscanf reads "%n" only where everything before it matched.
std::optional<DateFields> scan_date(std::string_view text, std::optional<int> this_year) {
  if (text.empty() || text.size() > date_bytes_max) return std::nullopt;
  std::array<char, date_bytes_max + 1> copy{};  // ends in NUL, as sscanf needs it
  std::copy(text.begin(), text.end(), copy.begin());
  const auto whole = static_cast<int>(text.size());
  DateFields f;
  int end = -1;
  // Sun, 06 Nov 1994 08:49:37 GMT
  std::sscanf(copy.data(), "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT%n", &f.day, f.month, &f.year, &f.hour,
              &f.minute, &f.second, &end);
  if (end == whole) return f;
  // Sunday, 06-Nov-94 08:49:37 GMT
  std::sscanf(copy.data(), "%*[A-Za-z], %2d-%3[A-Za-z]-%2d %2d:%2d:%2d GMT%n", &f.day, f.month, &f.year, &f.hour,
              &f.minute, &f.second, &end);
  if (end == whole) {
    if (!this_year) return std::nullopt;
    f.year = full_year(f.year, *this_year);
    return f;
  }
  // Sun Nov  6 08:49:37 1994
  std::sscanf(copy.data(), "%*3[A-Za-z] %3[A-Za-z] %2d %2d:%2d:%2d %4d%n", f.month, &f.day, &f.hour, &f.minute,
              &f.second, &f.year, &end);
  if (end == whole) return f;
  return std::nullopt;
}

std::optional<std::chrono::month> month_from_name(std::string_view name) {
  static constexpr std::array<std::string_view, 12> names = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                             "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto* const found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return std::chrono::month{static_cast<unsigned>(found - names.begin()) + 1};
}

int year_of(sys_seconds time) {
  return static_cast<int>(std::chrono::year_month_day{std::chrono::floor<std::chrono::days>(time)}.year());
}

/// `near` tells the century of a year of two digits; without it, such a date cannot be read.
std::optional<sys_seconds> parse_http_date(std::string_view text, std::optional<sys_seconds> near) {
  const auto fields = scan_date(text, near ? std::optional{year_of(*near)} : std::nullopt);
  if (!fields) return std::nullopt;
  const auto month = month_from_name(fields->month);
  if (!month || fields->day < 1) return std::nullopt;
  const std::chrono::year_month_day day{std::chrono::year{fields->year}, *month,
                                        std::chrono::day{static_cast<unsigned>(fields->day)}};
  const auto within = [](int value, int max) { return value >= 0 && value <= max; };
  // A leap second is 60.
  if (!day.ok() || !within(fields->hour, 23) || !within(fields->minute, 59) || !within(fields->second, 60)) {
    return std::nullopt;
  }
  return std::chrono::sys_days{day} + std::chrono::hours{fields->hour} + std::chrono::minutes{fields->minute} +
         seconds{fields->second};
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace

std::optional<seconds> parse_retry_after(std::string_view retry_after, std::string_view date,
                                         std::optional<std::chrono::system_clock::time_point> now) noexcept {
  const std::string_view text = trimmed(retry_after);
  auto wait = parse_delta(text);
  if (!wait) {
    const auto local_clock = now ? std::optional{std::chrono::floor<seconds>(*now)} : std::nullopt;
    const auto responded = parse_http_date(trimmed(date), local_clock);
    const auto asked_at = responded ? responded : local_clock;
    const auto due = parse_http_date(text, asked_at);
    if (!due || !asked_at) return std::nullopt;
    wait = *due - *asked_at;
  }
  return std::clamp(*wait, seconds{0}, retry_after_max);
}

std::optional<std::chrono::milliseconds> parse_retry_after_ms(std::string_view retry_after_ms) noexcept {
  std::string_view text = trimmed(retry_after_ms);
  if (const std::size_t point = text.find('.'); point != std::string_view::npos) {
    if (!parse_count(text.substr(point + 1)) || text[point + 1] == '-') return std::nullopt;
    text = text.substr(0, point);
  }
  const auto count = parse_count(text);
  if (!count) return std::nullopt;
  return std::clamp(std::chrono::milliseconds{*count}, 0ms, std::chrono::milliseconds{retry_after_max});
}

}  // namespace dogged
