// When the claims of a worker are summed up.
#include "claim/core/claims_sum.hpp"

#include <chrono>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using dogged::test::start;

TEST_CASE("claims are summed up once a second, and never while nothing was claimed since the last sum") {
  ClaimsSum sum;
  CHECK_FALSE(sum.is_due(start));
  sum.on_claimed(1);
  CHECK(sum.is_due(start));
  sum.on_summed_up(7, start);
  CHECK_FALSE(sum.is_due(start + 1h));
  sum.on_claimed(1);
  CHECK_FALSE(sum.is_due(start + 999ms));
  CHECK(sum.is_due(start + 1s));
}

TEST_CASE("a long list of claimed tasks is summed up before the second is over") {
  ClaimsSum sum;
  sum.on_claimed(1);
  sum.on_summed_up(7, start);
  sum.on_claimed(15'999);
  CHECK_FALSE(sum.is_due(start));
  sum.on_claimed(1);
  CHECK(sum.is_due(start));
}

TEST_CASE("the sum replaces the last entry that is known, and after a new claim session none is known") {
  ClaimsSum sum;
  CHECK(sum.last_entry() == 0);
  sum.on_summed_up(7, start);
  CHECK(sum.last_entry() == 7);
  sum.on_summed_up(0, start);  // the statement was fenced, so the entry is still there
  CHECK(sum.last_entry() == 7);
  sum.forget_entry();
  CHECK(sum.last_entry() == 0);
}
