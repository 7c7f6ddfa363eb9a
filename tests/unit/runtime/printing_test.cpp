// The output of a failed check of the cores: words, and not numbers.
#include "claim/core/last_release.hpp"
#include "claim/core/plan.hpp"
#include "lease/core/keeper_plan.hpp"
#include "lease/core/lease.hpp"
#include "run/core/pool.hpp"
#include "step/core/known_steps.hpp"
#include "step/core/wait_plan.hpp"
#include "support/catch.hpp"
#include "tasks/core/claimed_task.hpp"
#include "trace/core/export_plan.hpp"
#include "upkeep/core/plan.hpp"

using namespace dogged::runtime;
using Catch::Detail::stringify;

namespace {

template <class... Values>
void check_printed(const Values&... values) {
  const auto check = [](const auto& value) { CHECK(stringify(value) == to_text(value)); };
  (check(values), ...);
}

}  // namespace

TEST_CASE("a failed check prints the states, questions and steps of the cores in words") {
  check_printed(Certainty::State::sure, Certainty::Ask::nothing, DueTime::State::none, DueTime::Ask::promote,
                ServedQueues::State::open, Settling::Outcome::taken, Sleep::State::busy, Sleep::Ask::wake_up,
                Sleep::Look::nowhere, ClaimPlan::Step::claim, LastRelease::Step::release);
  check_printed(Record::perhaps_committed, Lease::State::held, KeeperPlan::State::deaf, KeeperPlan::Step::beat);
  check_printed(LookPlan::Ask::look, ComparisonPlan::State::due, ExpiryPlan::State::idle, RescuePlan::State::trusts,
                RescuePlan::Rescue::none, UpkeepPlan::State::rest, UpkeepPlan::Step::look);
  check_printed(Pool::SlotState::idle, Pool::Next::wait, KnownSteps::Ask::names, WaitPlan::Answer::busy,
                WaitPlan::Step::pause, ExportPlan::Action::Kind::take, ExportPlan::Verdict::refused);
}

TEST_CASE("a failed check prints the actions of the cores with what they are about") {
  CHECK(stringify(LastRelease::Action{LastRelease::Step::wait}) == "wait");
  CHECK(stringify(ExportPlan::Action{.kind = ExportPlan::Action::Kind::send_again}) == "send again");
  CHECK(stringify(Settling::Question{{5, 7}, true}) == "up to position 5 before transaction 7, from the beginning");
}
