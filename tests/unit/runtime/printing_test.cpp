// The output of a failed check of the cores: words, and not numbers.
#include <string_view>

#include "base/core/answer_patience.hpp"
#include "base/core/hearing.hpp"
#include "base/core/outage.hpp"
#include "circuits/core/ledger.hpp"
#include "claim/core/last_release.hpp"
#include "claim/core/mailbox.hpp"
#include "claim/core/plan.hpp"
#include "claim/core/queue_changes.hpp"
#include "claim/core/sorting_out.hpp"
#include "claim/core/told.hpp"
#include "lease/core/keeper_plan.hpp"
#include "lease/core/lease.hpp"
#include "report/core/batch.hpp"
#include "report/core/completer_plan.hpp"
#include "run/core/pool.hpp"
#include "runtime/core/registering.hpp"
#include "runtime/core/shutdown.hpp"
#include "step/core/known_steps.hpp"
#include "step/core/turns.hpp"
#include "step/core/wait_plan.hpp"
#include "support/catch.hpp"
#include "tasks/core/claimed_task.hpp"
#include "trace/core/export_plan.hpp"
#include "upkeep/core/chores_plan.hpp"
#include "upkeep/core/plan.hpp"

using namespace dogged::runtime;
using Catch::Detail::stringify;

namespace {

template <class... Values>
void check_printed(const Values&... values) {
  const auto check = [](const auto& value) {
    CHECK(stringify(value) == to_text(value));
    CHECK(to_text(value).find('_') == std::string_view::npos);
  };
  (check(values), ...);
}

}  // namespace

TEST_CASE("a failed check prints the states, questions and steps of the cores in words") {
  check_printed(Certainty::State::sure, Certainty::Ask::nothing, DueTime::State::none, DueTime::Ask::promote,
                ServedQueues::State::open, Settling::State::settled, Settling::Outcome::taken, Sleep::State::busy,
                Sleep::Ask::wake_up, Sleep::Look::nowhere, ClaimPlan::Step::claim, LastRelease::Step::release);
  check_printed(Hearing::State::polls_only, Hearing::State::deaf, Hearing::State::listening, Outage::State::works,
                Outage::State::fails, Outage::Tell::other_reason, AnswerPatience::State::patient,
                AnswerPatience::State::gave_up, AnswerPatience::Step::give_up_again);
  check_printed(Record::perhaps_committed, Lease::State::held, Lease::Turn::lapsed, Mailbox::State::waits,
                KeeperPlan::State::works, KeeperPlan::State::drains, KeeperPlan::State::writes_last,
                KeeperPlan::State::ends, KeeperPlan::Step::beat);
  check_printed(LookPlan::Ask::look, ComparisonPlan::State::due, ExpiryPlan::State::idle, RescuePlan::State::trusts,
                RescuePlan::Rescue::none, UpkeepPlan::State::rest, UpkeepPlan::Step::look);
  check_printed(Pool::SlotState::idle, Pool::Next::wait, KnownSteps::State::unasked, KnownSteps::State::all_known,
                KnownSteps::State::some_known, KnownSteps::Ask::names, WaitPlan::Answer::busy, WaitPlan::Step::pause,
                WaitPlan::Step::at_limit, WaitPlan::Step::other_kind, Turns::State::away, Turns::Entry::leave,
                Turns::Sequel::end_worker, Registering::Step::ask, ChoresPlan::Step::tidy);
  check_printed(ExportPlan::State::gathering, ExportPlan::State::trying_again, ExportPlan::State::trying_last,
                ExportPlan::State::flushing, ExportPlan::State::ended, ExportPlan::Step::take,
                ExportPlan::Verdict::refused);
}

TEST_CASE("a failed check prints the actions of the cores with what they are about") {
  CHECK(stringify(LastRelease::Action{LastRelease::Step::wait, TimePoint{}}) == "wait until 0");
  CHECK(stringify(LastRelease::Action{LastRelease::Step::release}) == "release");
  CHECK(stringify(KeeperPlan::Action{KeeperPlan::Step::wait, TimePoint{}}) == "wait until 0");
  CHECK(stringify(CompleterPlan::Action{CompleterPlan::Step::wait, TimePoint{}}) == "wait until 0");
  CHECK(stringify(Registering::Action{Registering::Step::wait, TimePoint{}}) == "wait until 0");
  CHECK(stringify(WaitPlan::Action{WaitPlan::Step::pause, TimePoint{}}) == "pause until 0");
  CHECK(stringify(ExportPlan::Action{ExportPlan::Step::wait, TimePoint{}}) == "wait until 0");
  CHECK(stringify(ExportPlan::Action{ExportPlan::Step::send_again}) == "send again");
  CHECK(stringify(ClaimPlan::Action{.step = ClaimPlan::Step::hear, .for_room = true}) == "hear until 0 or for room");
  CHECK(stringify(ClaimPlan::Action{.step = ClaimPlan::Step::give_back_paused, .paused = {0, 2}}) ==
        "give back paused queue 0 queue 2");
  CHECK(stringify(ClaimPlan::Action{.step = ClaimPlan::Step::settle, .question = {{5, 7}}}) ==
        "settle up to position 5 before transaction 7");
  CHECK(stringify(Settling::Question{{5, 7}, true}) == "up to position 5 before transaction 7, from the beginning");
  CHECK(stringify(Shutdown::Action{Shutdown::Step::give_back, TimePoint{}}) == "give back until 0");
  CHECK(stringify(Pool::Stop{2, dogged::StopReason::timeout, TimePoint{}}) == "slot 2 for timeout, given up at 0");
  CHECK(stringify(Pool::Due{.overdue = {1}, .next = TimePoint{}}) == "give up slot 1; next at 0");
  CHECK(stringify(Pool::Load{.at_once = 3, .busy = 2, .waiting = 1}) == "2 of 3 busy, 1 waiting");
  CHECK(stringify(QueueClaim{.queue = "a", .how_many = 3, .ranges = {{0, 5}}}) == "a:3 (0, 5]");
  CHECK(stringify(ServedQueues::Part{1, {0, 5}}) == "queue 1 (0, 5]");
  CHECK(stringify(QueueChanges{.concurrency = 5}) == "concurrency 5 same retry budget");
}

TEST_CASE("a failed check prints which messages the claimer has, and how a circuit answers") {
  CHECK(stringify(Told{}) == "told:");
  CHECK(stringify(Told{.has_ready = true, .due_at = TimePoint{}}) == "told: tasks are ready, a retry is due at 0,");
  CHECK(stringify(Told{.has_rescued = true, .server_is_back = true, .has_expired = true}) ==
        "told: tasks were rescued, the server is back, tasks have expired,");
  CHECK(stringify(CircuitLedger::Answer{.let_through = 3, .generation = 5}) == "3 let through as generation 5");
  CHECK(stringify(CircuitLedger::Answer{1, 5, {milliseconds{50}, milliseconds{70}}, true}) ==
        "1 let through as generation 5, the others wait 50 ms 70 ms, open");
}

TEST_CASE("a failed check prints which attempt it is about, and what becomes of the attempt") {
  Report report;
  report.id = 7;
  report.attempt = 2;
  CHECK(stringify(report) == "attempt 2 of task 7: succeeded");
  CHECK(stringify(ReportBatch::Taken{&report, TimePoint{}}) == "attempt 2 of task 7: succeeded, sent at 0");
  ClaimedTask task;
  task.id = 7;
  task.attempt = 2;
  SortedOut sorted;
  sorted.begin = {task};
  sorted.by_circuit = {{task, milliseconds{50}}};
  CHECK(stringify(sorted) ==
        "begin: attempt 2 of task 7, expired: by circuit: attempt 2 of task 7 for 50 ms, over budget:");
}
