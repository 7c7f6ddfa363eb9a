// dogged::testing::FakeContext.
#include <limits>

#include <spdlog/sinks/ringbuffer_sink.h>

#include <dogged/testing.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using dogged::StopReason;
using dogged::testing::FakeContext;

TEST_CASE("a fake context says what the test gave it") {
  const FakeContext ctx{{.task_id = 7,
                         .attempt = 3,
                         .retry_count = 2,
                         .task_name = "mail.send",
                         .queue = "mail",
                         .args_json = R"({"to": "a"})",
                         .trace_context = "00-1-2-01",
                         .scheduled_for = std::chrono::sys_days{std::chrono::January / 2 / 2026}}};
  CHECK(ctx.task_id() == 7);
  CHECK(ctx.attempt() == 3);
  CHECK(ctx.retry_count() == 2);
  CHECK(ctx.task_name() == "mail.send");
  CHECK(ctx.queue() == "mail");
  CHECK(ctx.args_json() == R"({"to": "a"})");
  CHECK(ctx.trace_context() == "00-1-2-01");
  CHECK(ctx.scheduled_for() == std::chrono::sys_days{std::chrono::January / 2 / 2026});
  CHECK(FakeContext{}.scheduled_for() == std::nullopt);
  CHECK(ctx.deadline() == FakeContext::Clock::time_point::max());
  CHECK(ctx.stop_reason() == StopReason::none);
  CHECK_FALSE(ctx.stop_token().stop_requested());
}

TEST_CASE("virtual time stands still until it is moved, and passes at once") {
  FakeContext ctx;
  const auto start = ctx.now();
  CHECK(ctx.now() == start);
  ctx.advance(2h);
  CHECK(ctx.now() == start + 2h);
  CHECK(ctx.wait_for(30min));
  CHECK(ctx.now() == start + 150min);
  CHECK_FALSE(ctx.stop_token().stop_requested());
}

TEST_CASE("advancing to the deadline stops the handler as a timeout") {
  FakeContext ctx{{.timeout = 10s}};
  CHECK(ctx.deadline() == ctx.now() + 10s);
  ctx.advance(9'999ms);
  CHECK(ctx.stop_reason() == StopReason::none);
  ctx.advance(1ms);
  CHECK(ctx.stop_reason() == StopReason::timeout);
  CHECK(ctx.stop_token().stop_requested());
}

TEST_CASE("a wait ends at the deadline, and none begins after a stop") {
  FakeContext ctx{{.timeout = 10s}};
  const auto start = ctx.now();
  CHECK(ctx.wait_for(4s));
  CHECK_FALSE(ctx.wait_for(1h));
  CHECK(ctx.now() == start + 10s);
  CHECK(ctx.stop_reason() == StopReason::timeout);
  CHECK_FALSE(ctx.wait_for(1s));
  CHECK(ctx.now() == start + 10s);
}

TEST_CASE("the longest wait there is does not overflow the clock") {
  FakeContext ctx;
  CHECK(ctx.wait_for(dogged::milliseconds::max()));
  CHECK(ctx.wait_for(1h));
  FakeContext timed{{.timeout = 1s}};
  CHECK_FALSE(timed.wait_for(dogged::milliseconds::max()));
}

TEST_CASE("a stop that was planned comes in the midst of a wait") {
  FakeContext ctx{{.timeout = 1min}};
  const auto start = ctx.now();
  ctx.stop_after(5s, StopReason::cancelled);
  int waits = 0;
  while (ctx.wait_for(2s)) ++waits;
  CHECK(waits == 2);
  CHECK(ctx.now() == start + 5s);
  CHECK(ctx.stop_reason() == StopReason::cancelled);
}

TEST_CASE("the first reason to stop counts, and callbacks may ask the context") {
  FakeContext ctx{{.timeout = 1s}};
  StopReason seen = StopReason::none;
  const std::stop_callback callback{ctx.stop_token(), [&] { seen = ctx.stop_reason(); }};
  ctx.stop(StopReason::shutdown);
  ctx.advance(5s);
  ctx.stop(StopReason::cancelled);
  CHECK(seen == StopReason::shutdown);
  CHECK(ctx.stop_reason() == StopReason::shutdown);
}

TEST_CASE("a message that a handler logs is read with its level, and reaches the test's own logger") {
  const auto ring = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(10);
  const FakeContext ctx{{.log = std::make_shared<spdlog::logger>("mine", ring)}};
  ctx.log().debug("looked at {} rows", 3);
  ctx.log().warn("no answer");
  const auto lines = ctx.log_lines();
  CHECK((lines == std::vector<std::string>{"debug: looked at 3 rows", "warning: no answer"}));
  CHECK(ring->last_formatted().size() == 1);  // that logger's level is info
}

TEST_CASE("values of the attempt are kept for hooks and handlers") {
  FakeContext ctx;
  ctx.local<int>() = 42;
  CHECK(ctx.local<int>() == 42);
}

TEST_CASE("steps run without a database, and another context gets what was recorded") {
  int runs = 0;
  const auto handle = [&](dogged::Context& ctx) {
    const std::string text = ctx.step("text", [&] { return "run " + std::to_string(++runs); });
    if (ctx.attempt() == 1) throw dogged::TaskError{"CUT_SHORT", "after its first step"};
    ctx.step("end", [&] { ++runs; });
    return text;
  };
  FakeContext first;
  CHECK_THROWS_AS(handle(first), dogged::TaskError);
  FakeContext second{{.attempt = 2, .steps = first.steps()}};
  CHECK(handle(second) == "run 1");
  CHECK(runs == 2);
  CHECK(second.steps() == std::map<std::string, std::string>{{"end", "null"}, {"text", "\"run 1\""}});
  CHECK_THROWS_AS(second.step("end", [] {}), dogged::TaskError);
}

TEST_CASE("what a handler says last of its progress is kept, and a bad fraction is refused") {
  FakeContext ctx{{.attempt = 2}};
  CHECK_FALSE(ctx.last_progress());
  ctx.progress(0.25, "12,000 of 48,000 rows");
  ctx.progress("cleans up");
  CHECK(ctx.last_progress() == dogged::TaskProgress{2, std::nullopt, "cleans up", {}});
  ctx.progress(1);
  CHECK(ctx.last_progress() == dogged::TaskProgress{2, 1.0, "", {}});
  for (const double bad : {40.0, -0.1, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_THROWS_AS(ctx.progress(bad), dogged::InvalidInput);
  }
  CHECK(ctx.last_progress()->fraction == 1.0);
}

TEST_CASE("waits let the virtual time pass, and an event that is given is found") {
  FakeContext ctx{{.events = {{"payment:42", "7"}}}};
  const auto begin = ctx.now();
  ctx.sleep(1h);
  CHECK(ctx.wait_event<int>("payment:42", 1h) == 7);
  CHECK_FALSE(ctx.wait_event("payment:43", 1h));
  CHECK_THROWS_AS(ctx.sleep(0ms, "too-short"), dogged::InvalidInput);
  CHECK_THROWS_AS((void)ctx.wait_event("payment:44", 24h * 366), dogged::InvalidInput);
  CHECK(ctx.now() - begin == 2h);
}

TEST_CASE("a loop saves its place each second of virtual time, and where it is stopped") {
  FakeContext first;
  auto at = first.checkpoint<int>("rows");
  at.advance(1);
  CHECK(first.checkpoints().empty());
  first.advance(1s);
  at.advance(2);
  CHECK(first.checkpoints() == std::map<std::string, std::string>{{"rows", "2"}});
  at.advance(3);
  CHECK(first.checkpoints().at("rows") == "2");
  first.stop(dogged::StopReason::shutdown);
  CHECK_THROWS_AS(at.advance(4), dogged::Stopped);
  FakeContext second{{.attempt = 2, .checkpoints = first.checkpoints()}};
  CHECK(*second.checkpoint<int>("rows") == 4);
}

TEST_CASE("a fake context refuses what no worker does") {
  CHECK_THROWS_AS((FakeContext{{.timeout = -1ms}}), dogged::InvalidInput);
  FakeContext ctx;
  CHECK_THROWS_AS(ctx.advance(-1ms), dogged::InvalidInput);
  CHECK_THROWS_AS(ctx.stop(StopReason::none), dogged::InvalidInput);
  CHECK_THROWS_AS(ctx.stop_after(1s, StopReason::none), dogged::InvalidInput);
  CHECK_THROWS_AS(ctx.stop_after(-1s, StopReason::cancelled), dogged::InvalidInput);
  std::string hint;
  try {
    static_cast<void>(ctx.begin_completion());
  } catch (const dogged::InvalidInput& error) {
    hint = error.hint();
  }
  CHECK(hint.find("dogged::testing::drain") != std::string::npos);
}
