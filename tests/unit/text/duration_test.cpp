// Durations to and from text.
#include "text/duration.hpp"

#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;

TEST_CASE("a duration is written in the largest units that fit, hours at most") {
  CHECK(duration_to_text(0ms) == "0ms");
  CHECK(duration_to_text(250ms) == "250ms");
  CHECK(duration_to_text(1'500ms) == "1s500ms");
  CHECK(duration_to_text(30s) == "30s");
  CHECK(duration_to_text(90s) == "1m30s");
  CHECK(duration_to_text(90min) == "1h30m");
  CHECK(duration_to_text(24h) == "24h");
  CHECK(duration_to_text(1h + 1ms) == "1h1ms");
  CHECK(duration_to_text(-5s) == "-5s");
  CHECK(duration_to_text(milliseconds::max()) == "2562047788015h12m55s807ms");
  CHECK(duration_to_text(milliseconds::min()) == "-2562047788015h12m55s808ms");
}

TEST_CASE("a duration is read from the forms that people write") {
  const std::vector<std::pair<std::string, milliseconds>> forms{
      {"250ms", 250ms},  {"30s", 30s},         {"5m", 5min},         {"1h", 1h},
      {"7d", 7 * 24h},   {"1h30m", 90min},     {"90m", 90min},       {"1m30s", 90s},
      {"1.5s", 1'500ms}, {"0.25h", 15min},     {"1s500ms", 1'500ms}, {"0s", 0ms},
      {"007s", 7s},      {"1d1ms", 24h + 1ms}, {"0.001s", 1ms},      {"2562047788015h12m55s807ms", milliseconds::max()},
  };
  for (const auto& [text, duration] : forms) {
    CAPTURE(text);
    CHECK(duration_from_text(text) == duration);
  }
}

TEST_CASE("a text that is not a duration is refused, quoted, with the forms that are") {
  const std::vector<std::string> refused{
      "",
      " ",
      "5",
      "s",
      "ms",
      "-5",
      "--5s",
      "-",
      "+5s",
      "5 s",
      " 5s",
      "5s ",
      "5S",
      "5sec",
      "1.s",
      ".5s",
      "1..5s",
      "1.5",
      "30m1h",
      "1s1s",
      "1ms1s",
      "1h-30m",
      "1e3s",
      "0x10s",
      "nan",
      "inf",
      "0.5ms",
      "1.0001s",
      "1,5s",
      "5\xc2\xb5s",
      std::string("5s\0", 3),
      "1.0000000000s",
      "99999999999999999999999",
      "1m99999999999999999999999h",
      "99999999999999999999999h0.5ms",
  };
  for (const std::string& text : refused) {
    CAPTURE(text);
    CHECK_THROWS_AS(duration_from_text(text), InvalidInput);
  }
  CHECK_THROWS_WITH(duration_from_text("5"),
                    "\"5\" is not a duration; write whole milliseconds as numbers with the units d, h, m, s and ms, "
                    "the larger first, such as 250ms, 30s, 1.5s or 1h30m");
}

TEST_CASE("a duration that is negative is refused as that, with the most that the caller takes") {
  for (const std::string text : {"-5s", "-1h30m", "-0.5s", "-99999999999999999999999h"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(duration_from_text(text), DurationOutOfRange);
    CHECK_THROWS_WITH(duration_from_text(text, 24h), '"' + text + "\" is negative; write a duration up to 24h");
  }
}

TEST_CASE("a duration that is longer than can be counted is refused as that, with the most that there is") {
  for (const std::string text : {"9223372036854775808ms", "99999999999999999999999h", "2562047788015h12m55s808ms",
                                 "1h9223372036854775807ms", "106751991167.5d", "2562047788015h2562047788015m"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(duration_from_text(text), DurationOutOfRange);
    CHECK_THROWS_WITH(duration_from_text(text),
                      '"' + text + "\" is too long; write a duration up to 2562047788015h12m55s807ms");
  }
}

TEST_CASE("a long or unprintable text is cut and masked in the message") {
  try {
    (void)duration_from_text("\x1b[31m" + std::string(10'000, 'x'));
    FAIL("was accepted");
  } catch (const InvalidInput& error) {
    const std::string message = error.what();
    CHECK(message.size() < 300);
    CHECK(message.rfind("\"?[31mxxx", 0) == 0);
  }
}
