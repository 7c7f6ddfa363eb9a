// The Retry-After header, which a stranger's server sends. The first two lines of the input are
// the headers Retry-After and Date.
#include <algorithm>
#include <array>
#include <ctime>

#include <dogged/retry_after.hpp>

#include "fuzz.hpp"

using std::chrono::seconds;
using namespace std::chrono_literals;

namespace {

const std::chrono::sys_seconds now{seconds{1'795'262'400}};

std::string date_text(std::chrono::sys_seconds time, const char* format) {
  const std::time_t count = time.time_since_epoch().count();
  std::tm parts{};
  gmtime_r(&count, &parts);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

/// A date in each of RFC 9110's formats is as far ahead as the test made it.
void require_dates_are_read(seconds ahead) {
  const auto expected = std::clamp(ahead, seconds{0}, dogged::retry_after_max);
  for (const char* format : {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"}) {
    const std::string text = date_text(now + ahead, format);
    fuzz::require(dogged::parse_retry_after(text, "", now) == expected, "a date is a wait until it", text);
    const std::string same = date_text(now, format);
    fuzz::require(dogged::parse_retry_after(text, same, now + seconds{12345}) == expected,
                  "a date is held against the server's clock", text);
  }
}

}  // namespace

FUZZ_TARGET(retry_after, input) {
  Lines lines{input};
  const std::string header = lines.text();
  const std::string date = lines.text();
  const auto wait = dogged::parse_retry_after(header, date, now);
  if (wait) require(*wait >= seconds{0} && *wait <= dogged::retry_after_max, "a wait is 0 to 24 h", header);

  const std::int64_t number = Lines{header}.number(-1'000'000'000, 1'000'000'000);
  const auto said = dogged::parse_retry_after(std::to_string(number), date, now);
  require(said == std::clamp(seconds{number}, seconds{0}, dogged::retry_after_max), "a number is that many seconds");
  require_dates_are_read(seconds{number});

  const std::chrono::milliseconds most{dogged::retry_after_max};
  const auto wait_ms = dogged::parse_retry_after_ms(header);
  if (wait_ms) require(*wait_ms >= 0ms && *wait_ms <= most, "a wait in milliseconds is 0 to 24 h", header);
  require(
      dogged::parse_retry_after_ms(std::to_string(number)) == std::clamp(std::chrono::milliseconds{number}, 0ms, most),
      "a number is that many milliseconds");
}
