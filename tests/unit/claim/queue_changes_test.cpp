// The changes of a queue after its settings were read.
#include "claim/core/queue_changes.hpp"

#include "support/catch.hpp"

using namespace dogged;
using namespace dogged::runtime;

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
