// A program's declarations of its schedules.
#include "tasks/schedules.hpp"

#include <nlohmann/json.hpp>

#include <dogged/worker.hpp>

#include "support/catch.hpp"

using namespace dogged;
using namespace std::chrono_literals;

namespace {

constexpr Task<nlohmann::json> make_report{"report.make", {.version = 3}};

runtime::Definitions one_task() {
  return runtime::make_definitions(Tasks{}.add([](Context&, const nlohmann::json&) {}, make_report).all());
}

std::string mistake_of(const std::vector<detail::DeclaredSchedule>& schedules) {
  try {
    (void)runtime::declarations_of(schedules, one_task());
  } catch (const InvalidInput& error) {
    return error.message();
  }
  return "";
}

}  // namespace

TASK_SCHEDULE("nightly-report", "0 3 * * *", .task = "report.make", .time_zone = "Europe/Berlin",
              .args = R"({"kind": "full"})", .jitter = 10min, .overlap = dogged::Overlap::buffer_one,
              .catch_up = {.window = 6h, .limit = {}});

TEST_CASE("what TASK_SCHEDULE says is declared, with the version of its task's args") {
  REQUIRE(detail::declared_schedules().size() == 1);
  CHECK(nlohmann::json::parse(runtime::declarations_of(detail::declared_schedules(), one_task())) ==
        nlohmann::json::parse(R"({"nightly-report": {
          "task": "report.make", "spec": "0 3 * * *", "time_zone": "Europe/Berlin", "args": {"kind": "full"}, "args_version": 3,
          "queue": null, "priority": 0, "jitter_ms": 600000, "overlap": "buffer_one", "catch_up_ms": 21600000, "catch_up_limit": null,
          "allow_frequent": false}})"));
  CHECK(runtime::declarations_of({}, one_task()).empty());
}

TEST_CASE(
    "a schedule whose task is not registered, that is declared twice, or whose args or options are wrong is refused") {
  CHECK(mistake_of({{"report.make", "@daily", {}}}).empty());
  CHECK(mistake_of({{"nightly", "@daily", {}}}) ==
        R"(the schedule "nightly": this program does not register its task "nightly")");
  CHECK(mistake_of({{"report.make", "@daily", {}}, {"report.make", "@weekly", {}}}) ==
        R"(the schedule "report.make": it is declared twice)");
  CHECK(mistake_of({{"report.make", "@daily", {.args = "{"}}}) ==
        R"(the schedule "report.make": its args are not JSON: "{")");
  CHECK(mistake_of({{"report.make", "@daily", {.jitter = 25h}}}) ==
        R"(the schedule "report.make": one of its options is out of its range)");
}
