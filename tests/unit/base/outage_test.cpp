// What the log says of an outage.
#include "base/core/outage.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.hpp"

using dogged::runtime::Outage;
using dogged::runtime::ToldOnce;

namespace {

struct OutageWorld {
  Outage outage = {};
  std::string trace = {};
  std::vector<std::string> reasons = {};  // of the outage under way; none: it works

  void event(int number) {
    if (number == 3) {
      REQUIRE(outage.on_success() == !reasons.empty());
      return reasons.clear();
    }
    const std::string reason(1, static_cast<char>('a' + number));
    const bool is_known = std::find(reasons.begin(), reasons.end(), reason) != reasons.end();
    const Outage::Tell of_further = is_known ? Outage::Tell::nothing : Outage::Tell::other_reason;
    REQUIRE(outage.on_failure(reason) == (reasons.empty() ? Outage::Tell::first : of_further));
    reasons.push_back(reason);
  }
};

int walk_outages(const OutageWorld& world, int depth) {
  if (depth == 0) return 0;
  int count = 0;
  for (int event = 0; event < 4; ++event) {
    OutageWorld next = world;
    next.trace += static_cast<char>('0' + event);
    INFO(next.trace);
    next.event(event);
    REQUIRE(next.outage.state() == (next.reasons.empty() ? Outage::State::works : Outage::State::fails));
    count += 1 + walk_outages(next, depth - 1);
  }
  return count;
}

}  // namespace

TEST_CASE(
    "in all sequences of failures and successes, the log has the first failure of an outage, each further reason once, "
    "and the end once",
    "[one_thread]") {
  CHECK(walk_outages(OutageWorld{}, 8) > 80'000);
}

TEST_CASE("an outage with ever new reasons makes no endless list in the log, and the next outage is told") {
  Outage outage;
  CHECK(outage.on_failure("0") == Outage::Tell::first);
  for (std::size_t i = 1; i < ToldOnce::most; ++i) {
    REQUIRE(outage.on_failure(std::to_string(i)) == Outage::Tell::other_reason);
  }
  CHECK(outage.on_failure("one more") == Outage::Tell::nothing);
  CHECK(outage.on_success());
  CHECK(outage.on_failure("one more") == Outage::Tell::first);
}
