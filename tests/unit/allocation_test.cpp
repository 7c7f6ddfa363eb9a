// What every failure goes through takes no memory from the heap.
#include <cstddef>
#include <string>

#include <dogged/circuit_breaker.hpp>
#include <dogged/policy.hpp>

#include "lifecycle/lifecycle.hpp"
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

TEST_CASE("deciding what follows a failure allocates nothing for codes of up to 15 bytes") {
  const lifecycle::Rules rules{.policy = exponential(1s),
                               .auto_retry_for = {"HTTP_429", "HTTP_500", "HTTP_502", "HTTP_503", "HTTP_504",
                                                  "CONNECT_TIMEOUT", "CONNECT_REFUSED", "TIMEOUT"}};
  bool is_retried = false;
  const auto decide = [&] {
    is_retried = lifecycle::after_attempt({}, rules,
                                          {.outcome = lifecycle::Outcome::failed, .error_code = "CONNECT_TIMEOUT"}, 0.3)
                     .value()
                     .will_retry();
  };
  CHECK(allocations_of(decide) == 0);
  CHECK(is_retried);
}

TEST_CASE("a closed breaker allocates nothing") {
  CircuitBreaker breaker;
  CHECK(allocations_of([&] {
          breaker.acquire().succeeded();
          breaker.acquire().failed();
          breaker.acquire().succeeded();
        }) == 0);
}
