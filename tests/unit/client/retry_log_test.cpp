// The ready-made hook that logs retries.
#include <algorithm>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <dogged/retry.hpp>
#include <dogged/retry_log.hpp>

#include "support/catch.hpp"
#include "unit/retry/retry_world.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using retry_world::World;

namespace {

struct Log {
  std::ostringstream lines;
  std::shared_ptr<spdlog::logger> logger =
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_st>(lines));
  Log() { logger->set_pattern("%l %v"); }
};

struct Busy : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The lines of two retries of a call that fails with `message`.
std::string lines_of(const std::string& operation, const std::string& message, milliseconds attempt_timeout = 0ms) {
  World world;
  Log log;
  auto options = world.options();
  options.attempt_timeout = attempt_timeout;
  options.on_retry =
      log_retries(operation, log.logger, ExceptionMapper{}.map<Busy>([](const Busy&) { return classify_http(503); }));
  const auto fails = [&] {
    world.now += 1s;
    throw Busy{message};
  };
  static_cast<void>(retry(fixed(2s).with_max_retries(2), fails, options));
  return log.lines.str();
}

}  // namespace

TEST_CASE("each retry is a line with operation, attempt, code, delay and message") {
  CHECK(lines_of("fetch_page", "not now") ==
        "warning event=retry operation=fetch_page attempt=1 error=HTTP_503 delay_ms=2000 message=\"not now\"\n"
        "warning event=retry operation=fetch_page attempt=2 error=HTTP_503 delay_ms=2000 message=\"not now\"\n");
}

TEST_CASE("an attempt that failed too late is logged as TIMEOUT") {
  CHECK_THAT(lines_of("fetch_page", "not now", 1ms), Catch::Matchers::Contains(" error=TIMEOUT "));
}

TEST_CASE("a failure's message forges no line of the log, and fills none") {
  const std::string lines = lines_of("a\nb", "1\n\"2\" \x1b[31m\x80\xe2\x80\xae" + std::string(10'000, 'x'));
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 2);
  CHECK_THAT(lines, Catch::Matchers::Contains(R"(operation="a\nb" attempt=1)"));
  CHECK_THAT(lines, Catch::Matchers::Contains(R"(message="1\n\"2\" \u001b[31m\x80\u202exxx)"));
  CHECK(lines.size() < 1'500);
}

TEST_CASE("a hook without a log is refused") {
  CHECK_THROWS_WITH(log_retries("fetch_page", nullptr), "log_retries needs a log, and got none");
}
