// Policies of one's own: a function decides.
#include <stdexcept>
#include <string>
#include <vector>

#include <dogged/retry.hpp>
#include <dogged/retry_executor.hpp>

#include "lifecycle/lifecycle.hpp"
#include "retry_world.hpp"
#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using retry_world::World;

namespace {

int fail() { throw std::runtime_error{"not now"}; }

}  // namespace

TEST_CASE("a function decides the delay before each retry, and that there is no further one") {
  World world;
  std::vector<std::string> asked;
  const auto policy = [&](int attempt, const FailedAttempt& failure) -> std::optional<milliseconds> {
    asked.push_back(std::to_string(attempt) + " " + std::string{failure.error_code} + " " +
                    std::string{failure.error_message} + (failure.exception ? " thrown" : ""));
    if (attempt == 3) return std::nullopt;
    return 10ms * attempt;
  };
  const auto result = retry(policy, fail, world.options());
  CHECK(result.end == RetryEnd::retries_spent);
  CHECK(world.waits == std::vector<milliseconds>{10ms, 20ms});
  CHECK(asked == std::vector<std::string>{"1 UNHANDLED_EXCEPTION not now thrown",
                                          "2 UNHANDLED_EXCEPTION not now thrown",
                                          "3 UNHANDLED_EXCEPTION not now thrown"});
}

TEST_CASE("a function of one's own has at most 20 retries, or the limit that it is given") {
  World world;
  const auto always = [](int, const FailedAttempt&) { return 1ms; };
  CHECK(retry(always, fail, world.options()).attempts == 21);
  CHECK(retry(CallPolicy{always, 2}, fail, world.options()).attempts == 3);
  CHECK_THROWS_WITH(retry(CallPolicy{always, 21}, fail), "max_retries is 21; it must be 1 to 20");
}

TEST_CASE("a function's delay is cut to 1 ms .. 24 h, and an error's retry_after replaces it") {
  World world;
  const auto policy = [](int attempt, const FailedAttempt&) { return attempt == 1 ? -5ms : milliseconds{48h}; };
  static_cast<void>(retry(CallPolicy{policy, 2}, fail, world.options()));
  CHECK(world.waits == std::vector<milliseconds>{1ms, 24h});
  world.waits.clear();
  const auto asks = [](const std::exception&) { return RetryVerdict{true, 7s}; };
  static_cast<void>(retry_if(CallPolicy{policy, 1}, fail, asks, world.options()));
  CHECK(world.waits == std::vector<milliseconds>{7s});
}

TEST_CASE("a function that throws ends the retry as a callback does") {
  World world;
  const auto throws = [](int, const FailedAttempt&) -> milliseconds { throw std::logic_error{"policy"}; };
  const auto result = retry(throws, fail, world.options());
  CHECK(result.end == RetryEnd::callback_failed);
  CHECK_THROWS_WITH(std::rethrow_exception(result.callback_error), "policy");
  CHECK_THROWS_WITH(result.value(), "not now");
}

TEST_CASE("executors and collections take a function as well") {
  World world;
  const auto policy = [](int attempt, const FailedAttempt&) { return 1s * attempt; };
  CHECK(RetryExecutor{CallPolicy{policy, 2}, world.options()}.execute(fail).attempts == 3);
  int calls = 0;
  const auto page = [&](int number) { return ++calls % 2 == 1 ? throw std::runtime_error{"?"} : number; };
  const auto next = [](int number) { return number < 2 ? std::optional{number + 1} : std::nullopt; };
  world.waits.clear();
  const auto result = collect_and_retry(
      CollectPolicies{.errors = policy}, page, next, [](const std::exception&) { return true; }, 1, world.options());
  CHECK(result.values == std::vector<int>{1, 2});
  CHECK(world.waits == std::vector<milliseconds>{1s, 2s});
}

TEST_CASE("a policy by its name reads back from text and JSON") {
  const RetryPolicy policy = Custom{.name = "patient", .max_retries = 8};
  CHECK(policy_to_text(policy) == "custom name=patient max_retries=8");
  CHECK(policy_from_text("custom name=patient max_retries=8") == policy);
  CHECK(policy_to_json(policy) == R"({"max_retries":8,"name":"patient","policy":"custom"})");
  CHECK(policy_from_json(policy_to_json(policy)) == policy);
  const RetryConfig config =
      RetryConfig::from_json(R"({"policy_type": "custom", "policy_name": "patient", "max_attempts": 9})");
  CHECK(config.policy() == policy);
  CHECK(RetryConfig::from_policy(policy) == config);
  CHECK(RetryConfig::from_json(config.to_json()) == config);
}

TEST_CASE("a policy's name that cannot be is refused") {
  const std::string rule = "; it must be 1 to 64 of A-Z a-z 0-9 . _ : / - beginning with a letter or a digit";
  CHECK_THROWS_WITH(require_valid(Custom{.name = "a b", .max_retries = 1}), "name is \"a b\"" + rule);
  CHECK_THROWS_AS(require_valid(Custom{.name = "", .max_retries = 1}), InvalidPolicy);
  CHECK_THROWS_AS(require_valid(Custom{.name = std::string_view{std::string(65, 'a')}, .max_retries = 1}),
                  InvalidPolicy);
  CHECK_NOTHROW(require_valid(Custom{.name = std::string_view{std::string(64, 'a')}, .max_retries = 1}));
  CHECK_THROWS_WITH(policy_from_text("custom name=patient"), "custom needs max_retries");
  CHECK_THROWS_WITH(RetryConfig::from_json(R"({"policy_type": "custom"})"),
                    "policy_type custom needs policy_name: a policy that the worker has registered");
  CHECK_THROWS_WITH(RetryConfig::from_json(R"({"policy_type": "custom", "policy_name": "a b"})"),
                    "/policy_name is \"a b\"" + rule);
}

TEST_CASE("a policy by its name has no delays without its function") {
  const RetryPolicy policy = Custom{.name = "patient", .max_retries = 8};
  CHECK_THROWS_WITH(
      next_delay(policy, 1, 0.5),
      "a function decides the delays of the policy \"patient\", and only the workers that have registered "
      "it know them");
  CHECK(next_delay(policy, 9, 0.5) == std::nullopt);
  CHECK_THROWS_WITH(retry(policy, fail),
                    "the policy \"patient\" is one of workers; in this process give its function in place of its name");
}

TEST_CASE("a task's policy of one's own is asked about listed codes while retries are left") {
  using namespace dogged::lifecycle;
  std::vector<int> asked;
  const Rules rules{.policy = Custom{.name = "patient", .max_retries = 2},
                    .delay = [&](int attempt, const FailedAttempt& failure) -> std::optional<milliseconds> {
                      asked.push_back(attempt);
                      if (failure.error_message == "enough") return std::nullopt;
                      return 3s;
                    },
                    .auto_retry_for = {"BUSY"}};
  const auto after = [&](int retry_count, const char* code, const char* message) {
    return after_attempt({.retry_count = retry_count}, rules,
                         {.outcome = Outcome::failed, .error_code = code, .error_message = message}, 0.5)
        .value();
  };
  CHECK(after(0, "BUSY", "?").next_run == NextRun{3s, 3s, true, false});
  CHECK(after(1, "BUSY", "?").retry_count == 2);
  CHECK(after(2, "BUSY", "?").status == Status::failed);
  CHECK(after(0, "OTHER", "?").status == Status::failed);
  CHECK(after(0, "BUSY", "enough").status == Status::failed);
  CHECK(after(0, "BUSY", "enough").is_retryable_failure);
  CHECK(asked == std::vector<int>{1, 2, 1, 1});
}
