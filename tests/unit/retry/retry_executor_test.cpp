// RetryExecutor: each call ends within its time.
#include <stdexcept>
#include <string>

#include <dogged/retry_executor.hpp>

#include "retry_world.hpp"
#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using retry_world::World;

namespace {

const RetryPolicy each_minute = fixed(1min).with_max_retries(20).with_jitter(Jitter::none());

int fail() { throw std::runtime_error{"?"}; }

}  // namespace

TEST_CASE("a call of an executor ends after five minutes, though retries are left") {
  World world;
  const auto result = RetryExecutor{each_minute, world.options()}.execute(fail);
  CHECK(result.end == RetryEnd::deadline);
  CHECK(result.attempts == 5);  // the wait for the next one would end at five minutes, when none may begin
}

TEST_CASE("each call of an executor has the whole time") {
  World world;
  const RetryExecutor executor = RetryExecutor{each_minute, world.options()}.with_timeout(2min + 1ms);
  CHECK(executor.execute(fail).attempts == 3);
  CHECK(executor.execute(fail).attempts == 3);
}

TEST_CASE("a deadline of the options that is sooner than an executor's time counts") {
  World world;
  RetryOptions options = world.options();
  options.deadline = world.now + 90s;
  CHECK(RetryExecutor{each_minute, options}.execute(fail).attempts == 2);
}

TEST_CASE("an executor gives the value, and retries what its condition accepts") {
  World world;
  const RetryExecutor executor{each_minute, world.options()};
  int calls = 0;
  const auto page = executor.execute([&] { return ++calls < 3 ? throw std::runtime_error{"?"} : calls; });
  CHECK(page.value() == 3);
  const auto refused = executor.execute_if(fail, [](const std::exception&) { return false; });
  CHECK(refused.end == RetryEnd::not_retryable);
}

TEST_CASE("an executor refuses a policy, options and a time out of their limits when it is made") {
  CHECK_THROWS_AS((RetryExecutor{Fixed{.interval = 0ms, .max_retries = 1}}), InvalidPolicy);
  CHECK_THROWS_AS((RetryExecutor{NoRetry{}, {.attempt_timeout = -1ms}}), InvalidInput);
  const RetryExecutor executor{NoRetry{}};
  CHECK_THROWS_WITH(executor.with_timeout(0ms), "the timeout is 0 ms; it must be 1 ms to 24 h");
  CHECK_THROWS_AS(executor.with_timeout(24h + 1ms), InvalidInput);
  CHECK(executor.with_timeout(24h).execute([] { return 1; }).value() == 1);
}
