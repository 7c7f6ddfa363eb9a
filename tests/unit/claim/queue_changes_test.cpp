// The changes of a queue after its settings were read.
#include "claim/core/queue_changes.hpp"

#include <cstddef>
#include <optional>
#include <vector>

#include "support/catch.hpp"

using namespace dogged;
using namespace dogged::runtime;
using namespace std::chrono_literals;

namespace {

/// No two are alike: each of the last three differs from the second in one setting.
const std::vector<std::optional<RetryBudgetSettings>> budgets{
    std::nullopt, RetryBudgetSettings{.share = 0.1}, RetryBudgetSettings{.share = 0.2},
    RetryBudgetSettings{.share = 0.1, .min_retries_per_second = 5}, RetryBudgetSettings{.share = 0.1, .window = 60s}};

const std::vector<std::optional<std::size_t>> concurrencies{std::nullopt, 1, 4, 7};

/// Running, paused, and paused for some time.
const std::vector<QueueSettings> pauses{{}, {.is_paused = true}, {.is_paused = true, .resumes_in = 5s}};

}  // namespace

TEST_CASE("a queue runs as many tasks at once as is set for it, and as many as its worker was started with otherwise") {
  const std::size_t own = 4;
  CHECK(changes_of({.concurrency = own}, {}, own) == QueueChanges{});
  CHECK(changes_of({.concurrency = own}, {.concurrency = 7}, own) == QueueChanges{.concurrency = 7});
  CHECK(changes_of({.concurrency = 7}, {.concurrency = 7}, own) == QueueChanges{});
  CHECK(changes_of({.concurrency = 7}, {}, own) == QueueChanges{.concurrency = own});
}

TEST_CASE("a queue's retry budget changes where it is set, changed or taken away, and a pause leaves it") {
  const RetryBudgetSettings tenth{.share = 0.1};
  const RetryBudgetSettings fifth{.share = 0.2};
  const QueueChanges budget{.retry_budget = true};
  CHECK(changes_of({}, {.retry_budget = tenth}, 1) == budget);
  CHECK(changes_of({.retry_budget = tenth}, {.retry_budget = fifth}, 1) == budget);
  CHECK(changes_of({.retry_budget = tenth}, {}, 1) == budget);
  CHECK(changes_of({.retry_budget = tenth}, {.is_paused = true, .retry_budget = tenth}, 1) == QueueChanges{});
}

TEST_CASE("whatever was in force and is set now, a queue changes what differs alone, and then runs as is set") {
  for (const std::size_t own : {1U, 4U, 7U}) {
    for (const std::size_t ran : {1U, 4U, 7U}) {
      for (const std::optional<std::size_t> set : concurrencies) {
        for (std::size_t old_budget = 0; old_budget < budgets.size(); ++old_budget) {
          for (std::size_t new_budget = 0; new_budget < budgets.size(); ++new_budget) {
            for (const QueueSettings& pause : pauses) {
              CAPTURE(own, ran, set.value_or(0), old_budget, new_budget, pause.is_paused);
              QueueSettings now = pause;
              now.concurrency = set;
              now.retry_budget = budgets[new_budget];
              const std::size_t wanted = set ? *set : own;
              const QueueChanges expected{.concurrency = wanted == ran ? std::nullopt : std::optional{wanted},
                                          .retry_budget = old_budget != new_budget};
              REQUIRE(changes_of({ran, budgets[old_budget]}, now, own) == expected);
              REQUIRE(changes_of({wanted, budgets[new_budget]}, now, own) == QueueChanges{});
            }
          }
        }
      }
    }
  }
}
