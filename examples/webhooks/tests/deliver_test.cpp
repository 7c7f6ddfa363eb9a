// The handler's use of its context and of the answer, against the real receiver.
#include "deliver.hpp"

#include <chrono>
#include <optional>
#include <string>

#include <dogged/testing.hpp>

#include "receiver.hpp"
#include "support/catch.hpp"

using namespace std::chrono_literals;

namespace {

class DeliverFixture {
 protected:
  [[nodiscard]] webhooks::Delivery delivery(const std::string& target) const {
    return {.url = "http://127.0.0.1:" + std::to_string(port_) + target, .body = {{"n", 1}}};
  }

  /// How the delivery fails; nothing if it does not.
  [[nodiscard]] static std::optional<dogged::TaskError> failure(dogged::Context& context,
                                                                const webhooks::Delivery& delivery) {
    try {
      webhooks::deliver(context, delivery);
      return std::nullopt;
    } catch (const dogged::TaskError& error) {
      return error;
    }
  }

  [[nodiscard]] static bool is_worth_retrying(const dogged::ErrorCode& code) {
    return webhooks::worth_retrying.contains(code.view());
  }

  webhooks::Receiver receiver_;
  int port_ = receiver_.listen("127.0.0.1", 0);
  dogged::testing::FakeContext context_;
};

}  // namespace

TEST_CASE_METHOD(DeliverFixture, "A delivery that is taken gives a receipt") {
  const webhooks::Receipt receipt = webhooks::deliver(context_, delivery("/ok"));
  CHECK(receipt.status == 200);
  CHECK(receipt.duration_ms >= 0);
}

TEST_CASE_METHOD(DeliverFixture, "Attempts of one task carry one Idempotency-Key") {
  CHECK(failure(context_, delivery("/flaky?fail=1")));
  CHECK_FALSE(failure(context_, delivery("/flaky?fail=1")));
  CHECK(nlohmann::json::parse(receiver_.stats()).at("deliveries") == 1);
}

TEST_CASE_METHOD(DeliverFixture, "A failure carries the code, and what was answered as details") {
  const auto error = failure(context_, delivery("/gone"));
  REQUIRE(error);
  CHECK(error->code() == "HTTP_404");
  CHECK_FALSE(error->retry_after());
  CHECK_FALSE(is_worth_retrying(error->code()));
  const nlohmann::json details = nlohmann::json::parse(error->details_json());
  CHECK(details.at("status") == 404);
  CHECK(details.at("body_truncated") == false);
  CHECK(nlohmann::json::parse(details.at("body").get<std::string>()).contains("story"));
}

TEST_CASE_METHOD(DeliverFixture, "Retry-After is honoured in both its forms") {
  const auto in_seconds = failure(context_, delivery("/throttled?retry_after=7&form=seconds"));
  REQUIRE(in_seconds);
  CHECK(in_seconds->code() == "HTTP_429");
  CHECK(in_seconds->retry_after() == 7s);
  CHECK(is_worth_retrying(in_seconds->code()));
  const auto as_date = failure(context_, delivery("/down?retry_after=9&form=date"));
  REQUIRE(as_date);
  CHECK(as_date->code() == "HTTP_503");
  CHECK(as_date->retry_after() == 9s);
}

TEST_CASE_METHOD(DeliverFixture, "A receiver that is too slow is given up on by the deadline") {
  dogged::testing::FakeContext context{{.timeout = 1s}};
  const auto error = failure(context, delivery("/slow?seconds=60"));
  CHECK(dogged::Context::Clock::now() < context.deadline() + 15s);  // without a deadline it takes 30 s
  REQUIRE(error);
  CHECK(error->code() == "RESPONSE_TIMEOUT");
  CHECK(is_worth_retrying(error->code()));
}

TEST_CASE_METHOD(DeliverFixture, "A deadline that is too near fails the attempt at once") {
  dogged::testing::FakeContext context{{.timeout = 1ms}};
  const auto error = failure(context, delivery("/slow?seconds=60"));
  REQUIRE(error);
  CHECK(is_worth_retrying(error->code()));
}

TEST_CASE_METHOD(DeliverFixture, "A delivery that a stop aborts is worth another attempt") {
  context_.stop(dogged::StopReason::shutdown);
  const auto error = failure(context_, delivery("/slow?seconds=60"));
  REQUIRE(error);
  CHECK(error->code() == "DELIVERY_ABORTED");
  CHECK(is_worth_retrying(error->code()));
}
