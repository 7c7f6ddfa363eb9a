// When the claims of a worker are summed up.
#include "claim/core/claims_sum.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using dogged::test::start;

namespace {

/// The entries of a worker in dogged.claims.
struct SummingWorld {
  ClaimsSum sum = {};
  TimePoint now = start;
  std::string trace = {};
  std::size_t entries_list = 0;             // tasks that were claimed since the last sum
  std::optional<TimePoint> summed_up = {};  // when
  std::int64_t known = 0;                   // the entry of the last sum in this claim session
  std::int64_t newest = 0;

  void event(int number) {
    switch (number) {
      case 0:
        return claim(1);
      case 1:
        return claim(8'000);
      case 2:
        known = ++newest;
        return sum_up(newest);
      case 3:  // the worker holds nothing
        return sum_up(0);
      case 4:
        sum.forget_entry();
        known = 0;
        return;
      default:
        now += 500ms;
    }
  }

  void claim(std::size_t tasks) {
    sum.on_claimed(tasks);
    entries_list += tasks;
  }

  void sum_up(std::int64_t entry) {
    sum.on_summed_up(entry, now);
    entries_list = 0;
    summed_up = now;
  }

  void check() const {
    INFO(trace);
    const bool is_recent = summed_up && now - *summed_up < 1s;
    REQUIRE(sum.is_due(now) == (entries_list >= 16'000 || (entries_list > 0 && !is_recent)));
    REQUIRE(sum.last_entry() == known);
  }
};

}  // namespace

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

TEST_CASE(
    "in all sequences of claims, sums, claim sessions and pauses, a sum is due after a second or with a long list, and "
    "replaces the entry of its session",
    "[one_thread]") {
  const std::function<void(const SummingWorld&, int)> walk = [&](const SummingWorld& world, int depth) {
    world.check();
    if (depth == 0) return;
    for (int event = 0; event < 6; ++event) {
      SummingWorld next = world;
      next.trace += static_cast<char>('0' + event);
      next.event(event);
      walk(next, depth - 1);
    }
  };
  walk(SummingWorld{}, 6);
}
