// Which tasks upkeep ends because they have expired.
#include "upkeep/core/expiry_plan.hpp"

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using dogged::runtime::ExpiryPlan;
using dogged::test::start;

TEST_CASE("a look for what has expired goes back to the last look and a minute more, and every ten minutes for ever") {
  ExpiryPlan plan;
  CHECK_FALSE(plan.look_back(start).has_value());
  plan.on_looked(false, start);
  CHECK(plan.look_back(start + 5s) == 65s);
  plan.on_looked(false, start + 5s);
  CHECK(plan.look_back(start + 6s) == 61s);
  CHECK(plan.look_back(start + 6s + 1us) == 61'001ms);  // rounded up: nothing between two looks is left out
  CHECK(plan.look_back(start + 10min - 1ms).has_value());
  CHECK_FALSE(plan.look_back(start + 10min).has_value());
}

TEST_CASE("expired tasks are ended in batches, as far back as the look that has found them, until a batch finds none") {
  ExpiryPlan plan;
  plan.on_looked(false, start);
  plan.on_looked(true, start + 5s);
  CHECK(plan.state() == ExpiryPlan::State::ending);
  CHECK(plan.looked_back(start + 5s) == 65s);
  plan.on_expired(1000);
  CHECK(plan.state() == ExpiryPlan::State::ending);
  plan.on_looked(true, start + 7s);               // a look that is due meanwhile
  CHECK(plan.looked_back(start + 5min) == 360s);  // of a batch that comes late
  plan.on_looked(false, start + 8s);
  CHECK(plan.state() == ExpiryPlan::State::ending);
  plan.on_expired(0);
  CHECK(plan.state() == ExpiryPlan::State::idle);
  CHECK(plan.look_back(start + 9s) == 64s);  // since the look whose tasks were ended
}

TEST_CASE("after a failure the next look goes back for the tasks that were not ended") {
  ExpiryPlan plan;
  plan.on_looked(false, start);
  plan.on_looked(true, start + 5s);
  plan.on_failure();
  CHECK(plan.state() == ExpiryPlan::State::idle);
  CHECK(plan.look_back(start + 6s) == 66s);
}
