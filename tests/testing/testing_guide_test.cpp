// docs/testing.md: the guide's programs stand here word for word, and do what the guide says.
#include <map>
#include <string>

#include <dogged/client.hpp>
#include <dogged/testing.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;

namespace testing_guide {

struct Delivery {
  std::string url;
  int polls = 1;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Delivery, url, polls)

struct Receipt {
  int status = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Receipt, status)

inline constexpr dogged::Task<Delivery, Receipt> deliver_webhook{"webhook.deliver", {.queue = "webhooks"}};

namespace {

Receipt deliver(dogged::Context& ctx, const Delivery& delivery) {
  if (delivery.url == "busy" && ctx.attempt() < 3) throw dogged::TaskError{"HTTP_503", "busy"};
  for (int poll = 0; poll < delivery.polls; ++poll) {
    if (!ctx.wait_for(5s)) throw dogged::TaskError{"STOPPED", "asked to stop"};
    ctx.log().info("poll {}", poll);
  }
  return {200};
}
TASK_REGISTER(deliver, deliver_webhook, .retry = dogged::Fixed{.interval = 1h, .max_retries = 5},
              .auto_retry_for = {"HTTP_503"}, .timeout = 60s);

void sign_up(const std::string& database_url, const std::string& name) {
  if (name.empty()) return;
  dogged::Client client{database_url, {.warns_of_undeclared = false}};
  client.enqueue(deliver_webhook, {.url = name, .polls = 0});
}

}  // namespace

dogged::testing::Server& server() {
  static dogged::testing::Server one;
  return one;
}

TEST_CASE("a delivery that has no answer in time stops") {
  dogged::testing::FakeContext ctx{{.attempt = 3, .timeout = 12s}};
  CHECK_THROWS_AS(deliver(ctx, {.url = "busy", .polls = 100}), dogged::TaskError);
  CHECK(ctx.stop_reason() == dogged::StopReason::timeout);
  CHECK(ctx.log_lines().size() == 2);
}

TEST_CASE("a cancelled delivery stops") {
  dogged::testing::FakeContext ctx;
  ctx.stop_after(7s, dogged::StopReason::cancelled);
  CHECK_THROWS_AS(deliver(ctx, {.url = "a", .polls = 100}), dogged::TaskError);
}

TEST_CASE("a delivery gives the status") {
  dogged::testing::FakeContext ctx;
  CHECK(deliver(ctx, {.url = "a"}).status == 200);
}

TEST_CASE("signing up enqueues a delivery") {
  const dogged::testing::Database database = server().database();
  sign_up(database.url(), "busy");

  const auto task = dogged::testing::require_enqueued(database.url(), deliver_webhook,
                                                      [](const auto& one) { return one.args.url == "busy"; });
  CHECK(task.queue == "webhooks");
}

TEST_CASE("nobody signs up without a name") {
  const dogged::testing::Database database = server().database();
  sign_up(database.url(), "");
  dogged::testing::require_none_enqueued(database.url(), deliver_webhook);
}

TEST_CASE("a delivery to a busy receiver succeeds at the third attempt") {
  const dogged::testing::Database database = server().database();
  sign_up(database.url(), "busy");

  const auto result =
      dogged::testing::drain({.database_url = database.url()}, dogged::Tasks::registered(), {.with_scheduled = true});
  CHECK(result.count(dogged::AttemptOutcome::failed) == 2);
  CHECK(result.count(dogged::AttemptOutcome::succeeded) == 1);
  CHECK(result.attempts[0].error_code == "HTTP_503");
  CHECK(result.attempts[0].will_retry);
}

TEST_CASE("tasks of a test may have handlers of the test") {
  const dogged::testing::Database database = server().database();
  sign_up(database.url(), "a");
  std::map<std::string, int> delivered;

  dogged::Tasks tasks;
  tasks.add([&](dogged::Context&, const Delivery& delivery) { return Receipt{++delivered[delivery.url]}; },
            deliver_webhook);
  dogged::testing::drain({.database_url = database.url(), .default_concurrency = 1}, tasks);
  CHECK(delivered["a"] == 1);
}

}  // namespace testing_guide
