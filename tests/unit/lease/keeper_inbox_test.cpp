// The messages of other threads to the lease keeper: the progress of handlers, and that the worker stops.
#include "lease/keeper_inbox.hpp"

#include <string>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged::runtime;
using dogged::test::start;

namespace {

/// `1/2 0.5 half`: task, attempt, fraction and message of each.
std::string text_of(const std::vector<ReportedProgress>& reports) {
  std::string text;
  for (const ReportedProgress& report : reports) {
    text += (text.empty() ? "" : ", ") + std::to_string(report.attempt.id) + "/" +
            std::to_string(report.attempt.number) + " " +
            (report.fraction ? std::to_string(static_cast<int>(*report.fraction * 100)) : "?") + " " + report.message;
  }
  return text;
}

}  // namespace

TEST_CASE("of each attempt the inbox keeps what was said last") {
  KeeperInbox inbox;
  CHECK_FALSE(inbox.has_unwritten());
  inbox.note({.id = 1, .number = 1}, 0.25, "a quarter", start);
  inbox.note({.id = 2, .number = 3}, std::nullopt, "begun", start);
  inbox.note({.id = 1, .number = 1}, 0.5, "half", start + 1s);
  CHECK(inbox.has_unwritten());
  const auto taken = inbox.take();
  CHECK(text_of(taken) == "1/1 50 half, 2/3 ? begun");
  CHECK(taken.front().reported_at == start + 1s);
  CHECK_FALSE(inbox.has_unwritten());
}

TEST_CASE("what could not be written comes again, unless something newer was said") {
  KeeperInbox inbox;
  inbox.note({.id = 1, .number = 1}, 0.25, "old", start);
  inbox.note({.id = 2, .number = 1}, 0.75, "kept", start);
  auto taken = inbox.take();
  inbox.note({.id = 1, .number = 1}, 0.5, "new", start);
  inbox.put_back(std::move(taken));
  CHECK(text_of(inbox.take()) == "1/1 50 new, 2/1 75 kept");
}

TEST_CASE("of what could not be written a thousand attempts come again at most, and everything that was said since") {
  KeeperInbox inbox;
  for (int id = 1; id <= 3000; ++id) inbox.note({.id = id, .number = 1}, 0.25, "", start);
  inbox.put_back(inbox.take());
  CHECK(inbox.take().size() == 1000);
  for (int id = 1; id <= 3000; ++id) inbox.note({.id = id, .number = 1}, 0.25, "", start);
  CHECK(inbox.take().size() == 3000);
}

TEST_CASE("an attempt that was given up does not replace what its successor has said") {
  KeeperInbox inbox;
  inbox.note({.id = 1, .number = 2}, 0.5, "successor", start);
  inbox.note({.id = 1, .number = 1}, 0.75, "given up", start);
  CHECK(text_of(inbox.take()) == "1/1 75 given up, 1/2 50 successor");
}

TEST_CASE("the first that is unwritten wakes the keeper, and no further one does") {
  KeeperInbox inbox;
  CHECK_FALSE(inbox.wake().is_readable());
  inbox.note({.id = 1, .number = 1}, 0.25, "", start);
  CHECK(inbox.wake().is_readable());
  inbox.wake().reset();
  inbox.note({.id = 1, .number = 1}, 0.5, "", start);
  inbox.note({.id = 2, .number = 1}, 0.5, "", start);
  CHECK_FALSE(inbox.wake().is_readable());
  (void)inbox.take();
  inbox.note({.id = 1, .number = 1}, 0.75, "", start);
  CHECK(inbox.wake().is_readable());
}

TEST_CASE("the keeper wakes when the worker drains, and knows it from then on") {
  KeeperInbox inbox;
  CHECK_FALSE(inbox.is_draining());
  inbox.note_draining();
  CHECK(inbox.wake().is_readable());
  CHECK(inbox.is_draining());
}
