// report.send and its schedule. No other file refers to this one, and both must be in the worker nevertheless.
#include <dogged/worker.hpp>

#include "tasks.hpp"

namespace {

void send(dogged::Context& ctx, const shop::Report& report) { ctx.log().info("sent {} copies", report.copies); }
TASK_REGISTER(send, shop::send_report);
TASK_SCHEDULE("yearly-report", "0 3 1 1 *", .task = "report.send", .time_zone = "Europe/Berlin",
              .args = R"({"copies": 2})");

}  // namespace
