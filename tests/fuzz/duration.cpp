// Durations as people write them.
#include "text/duration.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "fuzz.hpp"

using namespace dogged;

namespace {

long double milliseconds_in(std::string_view unit) {
  if (unit == "ms") return 1;
  if (unit == "s") return 1e3L;
  if (unit == "m") return 60e3L;
  if (unit == "h") return 3600e3L;
  fuzz::require(unit == "d", "a unit is known", unit);
  return 86400e3L;
}

/// The value of an accepted text, by the standard library's numbers.
long double sum_of(const std::string& text) {
  long double sum = 0;
  for (const char* at = text.c_str(); *at != '\0';) {
    char* after = nullptr;
    const long double number = std::strtold(at, &after);
    const std::size_t letters = std::strcspn(after, "0123456789");
    sum += number * milliseconds_in({after, letters});
    at = after + letters;
  }
  return sum;
}

void require_round_trip(milliseconds duration) {
  const std::string written = duration_to_text(duration);
  if (duration < milliseconds{0}) {
    fuzz::require(written.starts_with('-'), "a negative duration has a minus", written);
    return;
  }
  fuzz::require(duration_from_text(written) == duration, "a duration that was written reads back", written);
}

}  // namespace

FUZZ_TARGET(duration, input) {
  std::int64_t count = 0;
  if (std::from_chars(input.data(), input.data() + input.size(), count).ec == std::errc{}) {
    require_round_trip(milliseconds{count});
  }
  try {
    const milliseconds duration = duration_from_text(input);
    require(duration >= milliseconds{0}, "what is read is not negative");
    const auto read = static_cast<long double>(duration.count());
    const long double rounding = 2e-19L * read;  // of the 64 bits that a long double has
    require(std::abs(sum_of(std::string{input}) - read) < 0.5L + rounding, "a duration is the sum of its parts");
    require_round_trip(duration);
  } catch (const InvalidInput& error) {
    require_sound_message(error);
  }
}
