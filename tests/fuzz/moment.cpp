// Times and durations of the command line.
#include "cli/render/moment.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sstream>

#include "fuzz.hpp"

using namespace dogged;
using namespace dogged::cli;
using std::chrono::seconds;

namespace {

/// The zone at the end of a time that was accepted, in seconds east of UTC.
long offset_of(const std::string& text) {
  const auto sign = text.find_first_of("+-", std::string{"2026-11-21T14:02"}.size());
  if (sign == std::string::npos) return 0;
  int hour = 0;
  int minute = 0;
  std::sscanf(text.c_str() + sign + 1, "%2d%*[:]%2d", &hour, &minute);
  if (minute == 0) std::sscanf(text.c_str() + sign + 1, "%2d%2d", &hour, &minute);
  return (text[sign] == '-' ? -1 : 1) * (hour * 3600L + minute * 60L);
}

/// The meaning of an accepted text, to the second, by the C library.
Time meaning_of(const std::string& text) {
  std::tm parts{};
  std::sscanf(text.c_str(), "%4d-%2d-%2d%*1[T ]%2d:%2d:%2d", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
              &parts.tm_hour, &parts.tm_min, &parts.tm_sec);
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return Time{seconds{timegm(&parts) - offset_of(text)}};
}

void require_time_is_read(std::string_view text) {
  try {
    const Time time = time_from_iso8601(text);
    fuzz::require(std::chrono::floor<seconds>(time) == meaning_of(std::string{text}), "a time is what it says",
                  to_iso8601(time));
    const Time first = time_from_iso8601("0000-01-01T00:00:00Z");
    const Time last = time_from_iso8601("9999-12-31T23:59:59.999999Z");
    if (time < first || time > last) return;  // moved out of the four-digit years by its zone
    fuzz::require(time_from_iso8601(to_iso8601(time)) == time, "a time that is written reads back", to_iso8601(time));
  } catch (const InvalidInput& error) {
    fuzz::require_sound_message(error);
  }
}

struct Unit {
  double microseconds;
  double most;       ///< of it, before the next unit is used
  double tolerance;  ///< of a duration whose larger unit it is, in microseconds: half of the last digit
};

Unit unit_of(const std::string& name) {
  if (name == "ms") return {1e3, 1e3, 0.5e3};
  if (name == "s") return {1e6, 60, 0.5e6};
  if (name == "m") return {60e6, 60, 0.5e6};
  if (name == "h") return {3600e6, 24, 30e6};
  fuzz::require(name == "d", "a unit is known", name);
  return {86400e6, 1e9, 1800e6};
}

/// `1 m 42 s` says 102 s.
void require_readable(microseconds duration) {
  const std::string text = readable(duration);
  std::istringstream words{text.substr(duration < microseconds{0} ? 1 : 0)};
  double said = 0;
  double tolerance = 0;
  double number = 0;
  std::string name;
  while (words >> number >> name) {
    const Unit unit = unit_of(name);
    fuzz::require(number < unit.most, "no unit is used past the next one", text);
    said += number * unit.microseconds;
    tolerance = std::max(tolerance, unit.tolerance);
  }
  const double difference = std::abs(said - std::abs(static_cast<double>(duration.count())));
  fuzz::require(difference <= tolerance, "a duration is what it says, but for rounding", text);
}

}  // namespace

FUZZ_TARGET(moment, input) {
  static const int utc = (setenv("TZ", "UTC", 1), tzset(), 0);
  (void)utc;
  require_time_is_read(input);
  constexpr std::int64_t ten_thousand_years = 315'569'520'000'000'000;
  const microseconds duration{Lines{input}.number(-ten_thousand_years, ten_thousand_years)};
  require_readable(duration);
  require(is_printable_line(relative(Time{duration}, Time{-duration})), "a distance is printable");
}
