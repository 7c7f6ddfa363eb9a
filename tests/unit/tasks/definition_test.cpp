// Registered tasks as the worker uses them.
#include "tasks/definition.hpp"

#include <dogged/custom_policy.hpp>

#include "support/catch.hpp"
#include "tasks/custom_policies.hpp"

using namespace dogged;

TEST_CASE("definitions that were given no policies refuse another worker's policy, which is not registered here") {
  const runtime::Definitions definitions = runtime::make_definitions({{"mail.send", {}, {}}, {"mail.sort", {}, {}}});
  for (const auto& [name, definition] : definitions) {
    REQUIRE(definition.policies != nullptr);
    lifecycle::Rules declared_elsewhere{.policy = Custom{.name = "by_hand", .max_retries = 3}};
    CHECK_THROWS_AS(definition.policies->bind(name, declared_elsewhere), InvalidInput);
  }
}
