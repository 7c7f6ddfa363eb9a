// report.send. No other file refers to this one, and its registration must be in the worker nevertheless.
#include <dogged/worker.hpp>

#include "tasks.hpp"

namespace {

void send(dogged::Context& ctx, const shop::Report& report) { ctx.log().info("sent {} copies", report.copies); }
TASK_REGISTER(send, shop::send_report);

}  // namespace
