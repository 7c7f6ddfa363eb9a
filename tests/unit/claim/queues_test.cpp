// Which queues are claimed from, by what the last claims gave.
#include "claim/core/queues.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace dogged::runtime;
using State = ServedQueues::State;

namespace {

std::vector<State> states(const ServedQueues& queues) {
  std::vector<State> states;
  for (const auto& queue : queues.all()) states.push_back(queue.state);
  return states;
}

QueueClaim claim_of(const ServedQueues& queues, const std::string& name, std::size_t how_many) {
  std::vector<std::size_t> demand;
  for (const auto& queue : queues.all()) demand.push_back(queue.name == name ? how_many : 0);
  return queues.claims(demand).at(0);
}

}  // namespace

TEST_CASE("a claim asks of each open queue for what its executor has room for") {
  ServedQueues queues{{"a", "b", "c"}};
  queues.set_paused(2, true);
  const std::vector<QueueClaim> claims = queues.claims({3, 0, 7});
  REQUIRE(claims.size() == 1);
  CHECK(claims[0].queue == "a");
  CHECK(claims[0].how_many == 3);
  CHECK(claims[0].of_all);
}

TEST_CASE("a claim that gives less than was asked for drains its queue, and a full one does not") {
  ServedQueues queues{{"a"}};
  queues.on_claimed(claim_of(queues, "a", 2), {1, 2});
  CHECK(states(queues) == std::vector{State::open});
  // The next claim passes over the places of the first, where others may have locked tasks. So the claimer looks at the
  // queue again.
  const QueueClaim second = claim_of(queues, "a", 2);
  CHECK_FALSE(second.of_all);
  queues.on_claimed(second, {3});
  CHECK(states(queues) == std::vector{State::open});
  const QueueClaim third = claim_of(queues, "a", 2);
  CHECK(third.of_all);
  queues.on_claimed(third, {});
  CHECK(states(queues) == std::vector{State::drained});
  CHECK(queues.claims({2}).empty());
}

TEST_CASE("a claim that gives more than was asked for is a mistake of dogged") {
  ServedQueues queues{{"a"}};
  CHECK_THROWS_AS(queues.on_claimed(claim_of(queues, "a", 2), {1, 2, 3}), std::logic_error);
}

TEST_CASE("a notification opens its own queue alone, or all, and never a paused one") {
  const auto drained = [] {
    ServedQueues queues{{"a", "b", "c"}};
    for (const char* name : {"a", "b"}) queues.on_claimed(claim_of(queues, name, 1), {});
    queues.set_paused(2, true);
    return queues;
  };
  ServedQueues one = drained();
  CHECK(one.on_notified("b"));
  CHECK(states(one) == std::vector{State::drained, State::open, State::paused});
  ServedQueues all = drained();
  CHECK(all.on_notified(""));
  CHECK(states(all) == std::vector{State::open, State::open, State::paused});
  ServedQueues none = drained();
  CHECK_FALSE(none.on_notified("c"));
  CHECK_FALSE(none.on_notified("elsewhere"));
  CHECK(states(none) == std::vector{State::drained, State::drained, State::paused});
  none.look_again();
  CHECK(states(none) == std::vector{State::open, State::open, State::paused});
}

TEST_CASE("a queue that goes on after a pause is open") {
  ServedQueues queues{{"a"}};
  queues.on_claimed(claim_of(queues, "a", 1), {});
  queues.set_paused(0, true);
  CHECK(queues.all_paused());
  CHECK(queues.drained().empty());
  queues.set_paused(0, false);
  CHECK(states(queues) == std::vector{State::open});
}

TEST_CASE("a sleeper looks in its drained queues for tasks without a notification, also where it claimed last") {
  ServedQueues queues{{"a", "b"}};
  queues.on_claimed(claim_of(queues, "a", 2), {5});
  const std::vector<QueueClaim> drained = queues.drained();
  REQUIRE(drained.size() == 1);
  CHECK(drained[0].queue == "a");
  CHECK(drained[0].ranges == Watermarks{}.ranges());
}

TEST_CASE("the claims of a queue pass over its settled places, until the watermarks are forgotten") {
  ServedQueues queues{{"a", "b"}};
  queues.on_claimed(claim_of(queues, "b", 1), {100});
  const auto parts = queues.unsettled(50, false);
  REQUIRE(parts.size() == 1);
  CHECK(parts[0] == ServedQueues::Part{1, {0, 50}});
  queues.on_settled({{1, 50}}, false);
  CHECK(queues.unsettled(50, false).empty());
  CHECK(queues.unsettled(50, true) == parts);
  CHECK(claim_of(queues, "b", 1).ranges.size() == 2);
  queues.forget_watermarks();
  CHECK(claim_of(queues, "b", 1).ranges.size() == 1);
}
