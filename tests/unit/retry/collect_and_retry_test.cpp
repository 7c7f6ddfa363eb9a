// Collecting the answers of a call that goes on while they ask for more.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <dogged/retry.hpp>

#include "retry_world.hpp"
#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using retry_world::World;

namespace {

/// Pages 1 to `last`; each fails as often as `failures` says.
struct Pages {
  int last;
  int failures = 0;
  int calls = 0;
  int page(int number) {
    if (calls++ % (failures + 1) < failures) throw std::runtime_error{"page " + std::to_string(number)};
    return number;
  }
  [[nodiscard]] auto next() const {
    return [this](int page) { return page < last ? std::optional{page + 1} : std::nullopt; };
  }
};

const auto always = [](const std::exception&) { return true; };
const CollectPolicies policies{.errors = fixed(1s), .successes = linear(10ms, 10ms)};

}  // namespace

TEST_CASE("a collection gives all values in order, each call with its own retries if told so") {
  World world;
  Pages pages{.last = 4, .failures = 2};
  const CollectPolicies per_input{.errors = fixed(1s).with_max_retries(2),
                                  .successes = linear(10ms, 10ms),
                                  .error_retries = ErrorRetries::per_input};
  const auto result = collect_and_retry(
      per_input, [&](int number) { return pages.page(number); }, pages.next(), always, 1, world.options());
  CHECK(result.succeeded());
  CHECK(result.values == std::vector<int>{1, 2, 3, 4});
  CHECK(result.next == std::nullopt);
  CHECK(result.attempts == 12);
  CHECK(result.elapsed == 8s + 60ms);
  CHECK(std::count(world.waits.begin(), world.waits.end(), 1s) == 8);
}

TEST_CASE("the calls of a collection share the retries after errors, and their growing delays") {
  World world;
  Pages pages{.last = 9, .failures = 1};
  const auto result = collect_and_retry(
      {.errors = exponential(1s).with_max_retries(3).with_jitter(Jitter::none())},
      [&](int number) { return pages.page(number); }, pages.next(), always, 1, world.options());
  CHECK(result.end == RetryEnd::retries_spent);
  CHECK(result.values == std::vector<int>{1, 2, 3});
  CHECK(result.next == 4);
  CHECK(world.waits == std::vector<milliseconds>{1s, 2s, 4s});
  CHECK_THROWS_WITH(result.value(), "page 4");
}

TEST_CASE("a collection whose successes are spent gives what it has, and where to go on") {
  World world;
  Pages pages{.last = 9};
  const auto result = collect_and_retry(
      {.errors = fixed(1s), .successes = linear(10ms, 10ms).with_max_retries(2).with_jitter(Jitter::none())},
      [&](int number) { return pages.page(number); }, pages.next(), always, 1, world.options());
  CHECK(result.end == RetryEnd::retries_spent);
  CHECK(result.values == std::vector<int>{1, 2, 3});
  CHECK(result.next == 4);
  CHECK(result.error == nullptr);
  CHECK(world.waits == std::vector<milliseconds>{10ms, 20ms});
}

TEST_CASE("errors wait by one policy and successes by the other") {
  World world;
  Pages pages{.last = 4, .failures = 1};
  const auto result = collect_and_retry(
      policies, [&](int number, const AttemptContext&) { return pages.page(number); }, pages.next(), always, 1,
      world.options());
  CHECK(result.values.size() == 4);
  CHECK(world.waits == std::vector<milliseconds>{1s, 10ms, 1s, 20ms, 1s, 30ms, 1s});
}

TEST_CASE("one policy serves errors and successes alike") {
  World world;
  Pages pages{.last = 3, .failures = 1};
  const auto result = collect_and_retry(
      linear(10ms, 10ms).with_jitter(Jitter::none()), [&](int number) { return pages.page(number); }, pages.next(),
      always, 1, world.options());
  CHECK(result.values == std::vector<int>{1, 2, 3});
  CHECK(world.waits == std::vector<milliseconds>{10ms, 10ms, 20ms, 20ms, 30ms});
  const RetryPolicy none = NoRetry{};
  const auto once = collect_and_retry(
      none, [](int number) { return number; }, pages.next(), always, 1, world.options());
  CHECK(once.values == std::vector<int>{1});
  CHECK(once.end == RetryEnd::retries_spent);
}

TEST_CASE("a collection that fails keeps its values, the last error, and where to go on") {
  World world;
  const auto call = [](int number) {
    if (number == 3) throw std::runtime_error{"page 3"};
    return number;
  };
  const auto more = [](int page) { return std::optional{page + 1}; };
  const auto result = collect_and_retry(
      policies, call, more, [](const std::exception&) { return false; }, 1, world.options());
  CHECK(result.end == RetryEnd::not_retryable);
  CHECK(result.values == std::vector<int>{1, 2});
  CHECK(result.next == 3);
  CHECK_THROWS_WITH(result.value(), "page 3");
}

TEST_CASE("a collection that is asked for more without end ends at max_results") {
  World world;
  const auto more = [](int page) { return std::optional{page + 1}; };
  const auto call = [](int number) { return number; };
  const auto result =
      collect_and_retry({.errors = fixed(1s), .max_results = 3}, call, more, always, 1, world.options());
  CHECK(result.end == RetryEnd::retries_spent);
  CHECK(result.values == std::vector<int>{1, 2, 3});
  CHECK(result.next == 4);
  CHECK(world.waits.empty());  // no policy between successes: no wait
  CHECK_THROWS_WITH(collect_and_retry({.errors = fixed(1s), .max_results = 0}, call, more, always, 1),
                    "max_results is 0; it must be at least 1");
}

TEST_CASE("a deadline and a stop hold between successes as well") {
  World world;
  auto options = world.options();
  options.deadline = world.now + 30ms;
  const auto more = [](int page) { return std::optional{page + 1}; };
  const auto call = [](int number) { return number; };
  const auto late = collect_and_retry(policies, call, more, always, 1, options);
  CHECK(late.end == RetryEnd::deadline);
  CHECK(late.values == std::vector<int>{1, 2});
  const auto stops = [&](int page) { return world.stop.request_stop(), std::optional{page + 1}; };
  const auto stopped = collect_and_retry(policies, call, stops, always, 1, world.options());
  CHECK(stopped.end == RetryEnd::stopped);
  CHECK(stopped.values == std::vector<int>{1});
  CHECK(stopped.next == 2);
}

TEST_CASE("a success condition that throws ends the collection and loses nothing") {
  World world;
  const auto throws = [](int) -> std::optional<int> { throw std::logic_error{"callback"}; };
  const auto result = collect_and_retry(
      policies, [](int number) { return number; }, throws, always, 1, world.options());
  CHECK(result.end == RetryEnd::callback_failed);
  CHECK(result.values == std::vector<int>{1});
  CHECK_THROWS_WITH(std::rethrow_exception(result.callback_error), "callback");
}

TEST_CASE("in a collection the first hook that throws is reported, and a callback that ends it goes before hooks") {
  World world;
  int calls = 0;
  auto options = world.options();
  options.on_success = [&](const RetrySummary&) { throw std::logic_error{"hook " + std::to_string(++calls)}; };
  const auto call = [](int number) { return number; };
  const auto two = [](int page) { return page < 2 ? std::optional{page + 1} : std::nullopt; };
  const auto good = collect_and_retry(policies, call, two, always, 1, options);
  CHECK(good.values == std::vector<int>{1, 2});
  CHECK_THROWS_WITH(std::rethrow_exception(good.callback_error), "hook 1");
  const auto fails_at_2 = [](int page) {
    if (page == 2) throw std::runtime_error{"page 2"};
    return page;
  };
  const auto throws = [](const std::exception&) -> bool { throw std::logic_error{"callback"}; };
  const auto bad = collect_and_retry(policies, fails_at_2, two, throws, 1, options);
  CHECK(bad.end == RetryEnd::callback_failed);
  CHECK_THROWS_WITH(std::rethrow_exception(bad.callback_error), "callback");
  CHECK_THROWS_WITH(std::rethrow_exception(bad.error), "page 2");
}
