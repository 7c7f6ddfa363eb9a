// The report of an attempt that was lost with its worker, and the next state of its task.
#include "upkeep/core/lost_report.hpp"

#include <dogged/codes.hpp>
#include <dogged/policy.hpp>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using namespace dogged::runtime;
using dogged::test::start;
using lifecycle::Outcome;
using lifecycle::Status;

namespace {

/// The second attempt of a task that was retried, and that no worker has declared.
LostAttempt lost_attempt() { return {.id = 7, .name = "work", .queue = "mail", .attempt = 2, .retry_count = 1}; }

LostAttempt lost_attempt_declared(bool retry_lost, int max_losses, bool dead_letter) {
  LostAttempt lost = lost_attempt();
  lost.declared = {.retry_lost = retry_lost, .max_losses = max_losses, .dead_letter = dead_letter};
  return lost;
}

Report report_of_lost(const LostAttempt& lost) { return lost_report(lost, "silent", start); }

lifecycle::Transition lost_transition(const LostAttempt& lost) { return report_of_lost(lost).transition; }

}  // namespace

TEST_CASE("the report of a lost attempt names its task and the reason, and ends now") {
  LostAttempt lost = lost_attempt();
  lost.trace = TraceContext::from_text("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  REQUIRE(lost.trace);
  const Report report = report_of_lost(lost);
  CHECK(report.id == 7);
  CHECK(report.attempt == 2);
  CHECK(report.name == "work");
  CHECK(report.queue == "mail");
  CHECK(report.policy_text.empty());  // no policy decides
  CHECK(report.error_message == "silent");
  CHECK(report.trace == lost.trace);
  CHECK_FALSE(report.is_trace_of_its_own);
  CHECK(report.record == Record::to_send);
  CHECK(report.finished_at == start);
}

TEST_CASE("a lost attempt is reported to have begun before any claim, which the database takes for the claim's time") {
  CHECK(report_of_lost(lost_attempt()).started_at <= start - std::chrono::years{9});
}

TEST_CASE("a lost task runs again at once, and spends a loss and no retry") {
  const lifecycle::Transition to = lost_transition(lost_attempt());
  CHECK(to.status == Status::pending);
  CHECK(to.outcome == Outcome::lost);
  CHECK(to.error_code == codes::worker_lost);
  CHECK(to.losses == 1);
  CHECK(to.retry_count == 1);
  REQUIRE(to.next_run);
  CHECK(to.next_run->delay == 0ms);
  CHECK_FALSE(to.next_run->spends_retry);
}

TEST_CASE("the third loss ends a task that no worker has declared, as a dead letter") {
  LostAttempt lost = lost_attempt();
  lost.losses = 1;
  CHECK(lost_transition(lost).status == Status::pending);
  lost.losses = 2;
  const lifecycle::Transition to = lost_transition(lost);
  CHECK(to.status == Status::failed);
  CHECK(to.losses == 3);
  CHECK_FALSE(to.next_run);
}

TEST_CASE("the loss with the number of the declared max_losses ends the task") {
  LostAttempt lost = lost_attempt_declared(true, 5, true);
  lost.losses = 3;
  CHECK(lost_transition(lost).status == Status::pending);
  lost.losses = 4;
  CHECK(lost_transition(lost).status == Status::failed);
  CHECK(lost_transition(lost_attempt_declared(true, 1, true)).status == Status::failed);
}

TEST_CASE("the first loss ends a task that is declared not to run again after one") {
  CHECK(lost_transition(lost_attempt_declared(false, 5, true)).status == Status::failed);
  CHECK(lost_transition(lost_attempt_declared(true, 5, true)).status == Status::pending);
}

TEST_CASE("a lost task that is declared to leave no dead letter is discarded") {
  CHECK(lost_transition(lost_attempt_declared(false, 5, false)).status == Status::discarded);
  CHECK(lost_transition(lost_attempt_declared(true, 1, false)).status == Status::discarded);
}

TEST_CASE("a requested cancellation ends a lost task, and its attempt stays lost") {
  for (LostAttempt lost : {lost_attempt(), lost_attempt_declared(false, 5, true)}) {
    lost.cancel_requested = true;
    const lifecycle::Transition to = lost_transition(lost);
    CHECK(to.status == Status::cancelled);
    CHECK(to.outcome == Outcome::lost);
    CHECK_FALSE(to.next_run);
  }
}

TEST_CASE("a lost task expires if its time to begin is over") {
  LostAttempt lost = lost_attempt();
  lost.expires_in = 0ms;
  CHECK(lost_transition(lost).status == Status::pending);
  lost.expires_in = -1ms;
  const lifecycle::Transition to = lost_transition(lost);
  CHECK(to.status == Status::expired);
  CHECK(to.outcome == Outcome::lost);
  CHECK_FALSE(to.next_run);
}
