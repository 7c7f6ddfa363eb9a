// Retry-After: both forms, whose clock counts, and what cannot be read.
#include <chrono>
#include <optional>
#include <string_view>

#include <dogged/retry_after.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using dogged::parse_retry_after;

namespace {

using Wait = std::optional<std::chrono::seconds>;

// Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110, and 640 ms.
const std::chrono::system_clock::time_point now = std::chrono::sys_days{1994y / 11 / 6} + 8h + 49min + 37s + 640ms;
constexpr std::string_view no_date;

}  // namespace

TEST_CASE("Retry-After in seconds is taken as it stands") {
  CHECK(parse_retry_after("0", no_date, now) == Wait{0s});
  CHECK(parse_retry_after("2", no_date, now) == Wait{2s});
  CHECK(parse_retry_after(" 120\t", no_date, now) == Wait{120s});
  CHECK(parse_retry_after("86400", no_date, now) == Wait{24h});
}

TEST_CASE("Retry-After is read in the three date formats of RFC 9110") {
  CHECK(parse_retry_after("Sun, 06 Nov 1994 08:50:07 GMT", no_date, now) == Wait{30s});
  CHECK(parse_retry_after("Sunday, 06-Nov-94 08:50:07 GMT", no_date, now) == Wait{30s});
  CHECK(parse_retry_after("Sun Nov  6 08:50:07 1994", no_date, now) == Wait{30s});
  CHECK(parse_retry_after("Sun, 06 Nov 1994 08:49:60 GMT", no_date, now) == Wait{23s});  // a leap second
}

TEST_CASE("A Retry-After date is held against the response's own Date") {
  const std::string_view an_hour_slow = "Sun, 06 Nov 1994 07:49:37 GMT";
  CHECK(parse_retry_after("Sun, 06 Nov 1994 07:49:47 GMT", an_hour_slow, now) == Wait{10s});
  CHECK(parse_retry_after("Sun, 06 Nov 1994 08:50:07 GMT", "garbage", now) == Wait{30s});
  CHECK(parse_retry_after("10", an_hour_slow, now) == Wait{10s});
}

TEST_CASE("A Retry-After that is negative or past means at once") {
  CHECK(parse_retry_after("-5", no_date, now) == Wait{0s});
  CHECK(parse_retry_after("Sun, 06 Nov 1994 08:49:36 GMT", no_date, now) == Wait{0s});
  CHECK(parse_retry_after("Thu, 01 Jan 1970 00:00:00 GMT", no_date, now) == Wait{0s});
}

TEST_CASE("An absurd Retry-After is cut to 24 hours") {
  CHECK(parse_retry_after("86401", no_date, now) == Wait{24h});
  CHECK(parse_retry_after("9223372036854775807", no_date, now) == Wait{24h});
  CHECK(parse_retry_after("99999999999999999999999999", no_date, now) == Wait{24h});
  CHECK(parse_retry_after("Fri, 31 Dec 9999 23:59:59 GMT", no_date, now) == Wait{24h});
}

TEST_CASE("A two-digit year is the one that is at most 50 years ahead") {
  const std::chrono::system_clock::time_point end_of_1999 = std::chrono::sys_days{1999y / 12 / 31} + 23h + 59min + 59s;
  CHECK(parse_retry_after("Saturday, 01-Jan-00 00:00:09 GMT", no_date, end_of_1999) == Wait{10s});  // 2000
  const std::chrono::system_clock::time_point in_2026 = std::chrono::sys_days{2026y / 11 / 21};
  CHECK(parse_retry_after("Saturday, 21-Nov-26 00:00:09 GMT", no_date, in_2026) == Wait{9s});
  CHECK(parse_retry_after("Saturday, 21-Nov-76 00:00:00 GMT", no_date, in_2026) == Wait{24h});  // 2076
  CHECK(parse_retry_after("Sunday, 21-Nov-77 00:00:00 GMT", no_date, in_2026) == Wait{0s});     // 1977
}

TEST_CASE("A Retry-After that cannot be read is nothing") {
  const auto* const text =
      GENERATE("", " ", "soon", "1.5", "1e3", "10s", "+5", "--5", "-", "0x10", "5 5", "Sun, 06 Nov 1994 08:49:37",
               "Sun, 06 Nov 1994 08:49:37 GMT+1", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nox 1994 08:49:37 GMT",
               "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, -6 Nov 1994 08:49:37 GMT",
               "Sun, 06 Nov 1994 08:49:-7 GMT", "12:00");
  CAPTURE(text);
  CHECK(parse_retry_after(text, no_date, now) == std::nullopt);
}

TEST_CASE("A Retry-After date without a clock to hold it against is nothing") {
  CHECK(parse_retry_after("Sun, 06 Nov 1994 08:50:07 GMT", no_date, std::nullopt) == std::nullopt);
  CHECK(parse_retry_after("Sun, 06 Nov 1994 08:50:07 GMT", "garbage", std::nullopt) == std::nullopt);
  CHECK(parse_retry_after("Sun, 06 Nov 1994 08:50:07 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", std::nullopt) == Wait{30s});
  CHECK(parse_retry_after("Sunday, 06-Nov-94 08:50:07 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", std::nullopt) ==
        Wait{30s});
  CHECK(parse_retry_after("Sunday, 06-Nov-94 08:50:07 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", std::nullopt) ==
        std::nullopt);  // of which century?
  CHECK(parse_retry_after("30", no_date, std::nullopt) == Wait{30s});
}

TEST_CASE("A wait in milliseconds is taken as it stands, its fraction left out, and cut to 24 hours") {
  using dogged::parse_retry_after_ms;
  using Milliseconds = std::optional<std::chrono::milliseconds>;
  CHECK(parse_retry_after_ms("0") == Milliseconds{0ms});
  CHECK(parse_retry_after_ms(" 33\t") == Milliseconds{33ms});
  CHECK(parse_retry_after_ms("8.5") == Milliseconds{8ms});
  CHECK(parse_retry_after_ms("-1") == Milliseconds{0ms});
  CHECK(parse_retry_after_ms("86400001") == Milliseconds{24h});
  CHECK(parse_retry_after_ms("99999999999999999999999999") == Milliseconds{24h});
  for (const char* text :
       {"", " ", "-", ".", "8.", ".5", "8.-5", "8.5.1", "1e3", "0x10", "00:00:00.033", "Sun, 06 Nov 1994"}) {
    INFO(text);
    CHECK(parse_retry_after_ms(text) == std::nullopt);
  }
}
