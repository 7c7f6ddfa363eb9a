// Declarations of other workers: what is put in force, what this worker cannot read, and mistakes of dogged meanwhile.
#include "upkeep/adopted_declarations.hpp"

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <spdlog/logger.h>
#include <spdlog/sinks/ringbuffer_sink.h>

#include "support/catch.hpp"
#include "support/test_database.hpp"
#include "support/usual_task.hpp"
#include "tasks/custom_policies.hpp"
#include "tasks/in_force.hpp"

using namespace dogged;
using namespace std::chrono_literals;
using runtime::AdoptedDeclarations;
using runtime::CustomPolicies;
using runtime::Definition;
using runtime::Definitions;
using test::contains;
using test::does_nothing;
using test::TestDatabase;

namespace {

/// This worker declares the task `work` without retries, and has the policies. Another one declares it with the policy
/// `patient`.
struct DeclaredTwice {
  explicit DeclaredTwice(std::map<std::string, DelayFunction> policies = {}) {
    test::declare(database, {does_nothing({.retry = Custom{.name = "patient", .max_retries = 2}})});
    Definitions own = runtime::make_definitions({does_nothing()});
    for (auto& [name, definition] : own) {
      definition.policies = std::make_shared<const CustomPolicies>(std::move(policies), log);
    }
    definitions = std::make_shared<const Definitions>(std::move(own));
  }

  [[nodiscard]] std::string policy_in_force() const {
    return definitions->find("work")->second.in_force->current().policy_text;
  }

  TestDatabase database;
  std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> lines = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(100);
  std::shared_ptr<spdlog::logger> log = std::make_shared<spdlog::logger>("test", lines);
  std::shared_ptr<const Definitions> definitions;
};

/// A delay function whose copy fails, which nothing that another worker declares can cause.
struct FailingCopy {
  FailingCopy() = default;
  FailingCopy(const FailingCopy& other) : fails(other.fails) {
    if (*fails) throw std::logic_error{"a mistake of dogged"};
  }
  FailingCopy(FailingCopy&&) = default;
  milliseconds operator()(int /*attempt*/, const FailedAttempt& /*failure*/) const { return 1ms; }

  std::shared_ptr<bool> fails = std::make_shared<bool>(false);
};

}  // namespace

TEST_CASE("a declaration of another worker that this worker can read counts here") {
  DeclaredTwice declared{{{"patient", [](int, const FailedAttempt&) { return 1ms; }}}};
  AdoptedDeclarations adopted{declared.definitions, declared.log};
  adopted.compare(declared.database.connection());
  CHECK(contains(declared.policy_in_force(), "patient"));
}

TEST_CASE("a declaration of another worker that this worker cannot read does not count here, and is logged once") {
  DeclaredTwice declared;
  SECTION("a policy that is not registered here") {}
  SECTION("a policy of another version") {
    declared.database.run(R"(update dogged.task_definitions set retry_policy = '{"policy": "of a later version"}')");
  }
  SECTION("sources of another form") {
    declared.database.run(
        "update dogged.task_definitions set retry_policy = '{\"policy\": \"none\"}', max_losses = 7, "
        "retry_sources = '{\"max_retries\": 1}'");
  }
  const std::string own = declared.policy_in_force();
  AdoptedDeclarations adopted{declared.definitions, declared.log};
  for (int i = 0; i < 2; ++i) adopted.compare(declared.database.connection());
  CHECK(declared.policy_in_force() == own);
  const std::vector<std::string> told = declared.lines->last_formatted();
  REQUIRE(told.size() == 1);
  CHECK(contains(told.front(), "task work: its declaration by a worker of version "));
  CHECK(contains(told.front(), " cannot be read here"));
}

TEST_CASE("a mistake of dogged while the declaration of another worker is adopted is raised, and not passed over") {
  FailingCopy policy;
  DeclaredTwice declared{{{"patient", policy}}};
  AdoptedDeclarations adopted{declared.definitions, declared.log};
  *policy.fails = true;
  CHECK_THROWS_AS(adopted.compare(declared.database.connection()), std::logic_error);
  *policy.fails = false;
}
