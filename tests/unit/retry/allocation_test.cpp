// The code that every failure runs through takes no memory from the heap.
#include <cstddef>
#include <optional>
#include <string>

#include <dogged/circuit_breaker.hpp>
#include <dogged/classification.hpp>
#include <dogged/policy.hpp>
#include <dogged/retry_metrics.hpp>
#include <dogged/retry_options.hpp>

#include "base/attempt_counts.hpp"
#include "lifecycle/lifecycle.hpp"
#include "retry/operation_counts.hpp"
#include "support/catch.hpp"
#include "support/count_allocations.hpp"

using namespace std::chrono_literals;
using namespace dogged;

namespace {

template <class Fn>
std::size_t allocations_of(Fn fn) {
  const std::size_t before = support::allocations;
  fn();
  return support::allocations - before;
}

}  // namespace

TEST_CASE("allocations are counted, except under sanitizers") {
  const std::string longer_than_its_own_buffer(100, 'x');
  std::string copy;
  CHECK(allocations_of([&] { copy = longer_than_its_own_buffer; }) == (support::counts_allocations ? 1 : 0));
}

TEST_CASE("deciding a delay allocates nothing") {
  for (const RetryPolicy& policy :
       {RetryPolicy{fixed(1s)}, RetryPolicy{linear(1s, 1s)}, RetryPolicy{exponential(1s)}}) {
    CHECK(allocations_of([&] { static_cast<void>(next_delay(policy, 1, 0.3)); }) == 0);
  }
}

TEST_CASE("deciding what follows a failure allocates nothing, however long its code is") {
  const std::string longest(limits::error_code_bytes, 'E');
  const lifecycle::Rules rules{.policy = exponential(1s),
                               .auto_retry_for = {"HTTP_429", "CONNECT_TIMEOUT", "UNHANDLED_EXCEPTION", longest}};
  for (const std::string& code : {std::string{"CONNECT_TIMEOUT"}, std::string{"UNHANDLED_EXCEPTION"}, longest}) {
    const lifecycle::Ending failed{.outcome = lifecycle::Outcome::failed, .error_code = code};
    std::optional<lifecycle::Transition> after;
    CHECK(allocations_of([&] { after = lifecycle::after_attempt({}, rules, failed, 0.3); }) == 0);
    CHECK((after->will_retry() && after->code() == code));
    CHECK(allocations_of([&] { after = lifecycle::under_cancel(*after); }) == 0);
    CHECK(allocations_of([&] { after = lifecycle::after_attempt({}, {}, failed, 0.3); }) == 0);
    CHECK((!after->will_retry() && after->code() == code));
  }
}

TEST_CASE("from a service's answer to the time of the next attempt nothing is allocated") {
  static_cast<void>(random_draw());  // the first of a thread seeds its generator
  const lifecycle::Rules rules{.policy = exponential(1s), .auto_retry_for = {"HTTP_503", "PG_40001", "HTTP_429"}};
  const auto decide = [&](auto classify) {
    std::optional<lifecycle::Transition> after;
    const std::size_t allocations = allocations_of([&] {
      const Classification failure = classify();
      const lifecycle::Ending ending{
          .outcome = lifecycle::Outcome::failed, .error_code = failure.code, .retry_after = failure.retry_after};
      after = lifecycle::after_attempt({}, rules, ending, random_draw());
    });
    CHECK(after->will_retry());
    return allocations;
  };
  CHECK(decide([] { return classify_http(503); }) == 0);
  CHECK(decide([] { return classify_http(429, {.retry_after = "120"}); }) == 0);
  CHECK(decide([] { return classify_sqlstate("40001"); }) == 0);
}

TEST_CASE("counting a success, of a retry too, allocates nothing after the first one of its task") {
  runtime::AttemptCounts attempts;
  RetryMetrics retries;
  const RetryPolicy policy = exponential(1s);
  OperationCounts operations;
  const runtime::CountedAttempt success{
      .queue = "a queue with a long name", .task = "a.task.with.a.long.name", .ran = 3ms};
  const auto count = [&] {
    attempts.ended(success);
    for (const int retry : {0, 3}) {
      retries.succeeded({.source = {.name = success.task}, .policy = policy, .retry = retry, .ran = 3ms});
    }
    operations.sent(success.queue, success.task, no_label, 1);
    operations.ended(QueueOperation::settle, no_label, no_label, 3ms);
  };
  count();
  CHECK(allocations_of(count) == 0);
}

TEST_CASE("a closed breaker allocates nothing") {
  CircuitBreaker breaker;
  CHECK(allocations_of([&] {
          breaker.acquire().succeeded();
          breaker.acquire().failed();
          breaker.acquire().succeeded();
        }) == 0);
}
