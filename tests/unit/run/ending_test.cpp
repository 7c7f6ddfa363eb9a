// The effect of a handler's end on its attempt: every outcome, stop reason and use of complete_in.
#include "run/core/ending.hpp"

#include <memory>
#include <string>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"
#include "tasks/definition.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using namespace dogged::runtime;
using dogged::test::start;
using lifecycle::Outcome;

namespace {

constexpr StopReason all_reasons[] = {StopReason::none, StopReason::timeout, StopReason::cancelled,
                                      StopReason::shutdown, StopReason::lease_lost};

const Definition& definition(bool completes_in_transaction) {
  const auto make = [](bool completes) {
    Definition definition;
    definition.name = "work";
    definition.in_force = std::make_shared<InForce>(
        Declaration{{.policy = Fixed{.interval = 10s, .max_retries = 3, .jitter = Jitter::none()},
                     .auto_retry_for = {"HTTP_503", "TIMEOUT"}},
                    "fixed"});
    definition.completes_in_transaction = completes;
    return definition;
  };
  static const Definition plain = make(false);
  static const Definition transactional = make(true);
  return completes_in_transaction ? transactional : plain;
}

ClaimedTask task_of(const Definition& definition) {
  ClaimedTask task;
  task.id = 7;
  task.attempt = 2;
  task.retry_count = 1;
  task.queue = "mail";
  task.definition = &definition;
  return task;
}

ClaimedTask task() { return task_of(definition(false)); }

/// Of a handler that throws.
Outcome outcome_of(StopReason reason) {
  switch (reason) {
    case StopReason::none:
      return Outcome::failed;
    case StopReason::timeout:
      return Outcome::timed_out;
    case StopReason::cancelled:
      return Outcome::cancelled;
    case StopReason::shutdown:
    case StopReason::lease_lost:
      break;
  }
  return Outcome::interrupted;
}

}  // namespace

TEST_CASE("a handler that throws after its stop token was set has ended for that reason, and otherwise has failed") {
  for (const StopReason reason : all_reasons) {
    for (const bool completion_begun : {true, false}) {
      const Report report =
          report_of(task_of(definition(true)), start, start + 1s, failed_with(ErrorCode{"HTTP_503"}, "down"),
                    {.stop_reason = reason, .completion_begun = completion_begun}, 0.5);
      CHECK(report.transition.outcome == outcome_of(reason));
      CHECK(report.record == (completion_begun ? Record::perhaps_committed : Record::to_send));
      CHECK((report.transition.code() == "HTTP_503") == (reason == StopReason::none));
    }
  }
}

TEST_CASE("a handler that returns has succeeded, whyever it was to stop, unless complete_in was to record that") {
  for (const StopReason reason : all_reasons) {
    for (const bool must_complete : {true, false}) {
      for (const bool completion_begun : {true, false}) {
        CAPTURE(static_cast<int>(reason), must_complete, completion_begun);
        const Report report = report_of(task_of(definition(must_complete)), start, start + 1s, {.result_json = "1"},
                                        {.stop_reason = reason, .completion_begun = completion_begun}, 0.5);
        const bool succeeds = !must_complete && !completion_begun;
        CHECK(report.transition.outcome == (succeeds ? Outcome::succeeded : outcome_of(reason)));
        CHECK(report.result_json == (succeeds ? "1" : ""));
        if (!succeeds && reason == StopReason::none) CHECK(report.transition.code() == codes::not_committed);
      }
    }
  }
}

TEST_CASE("a result that is too long fails the attempt, whether or not its handler has called complete_in") {
  for (const bool completion_begun : {true, false}) {
    const Circumstances circumstances{.completion_begun = completion_begun, .limits = {.max_result_bytes = 3}};
    const auto report = [&](std::size_t bytes) {
      return report_of(task(), start, start + 1s, {.result_json = "1e9", .result_bytes = bytes}, circumstances, 0.5);
    };
    CHECK(report(4).transition.code() == codes::invalid_result);
    CHECK(report(4).result_json.empty());
    CHECK(report(3).transition.code() != codes::invalid_result);
  }
}

TEST_CASE("the message of a report is cut to the limit, and made storable") {
  const Circumstances circumstances{.limits = {.max_error_message_bytes = 100}};
  const auto message = [&](const std::string& given) {
    return report_of(task(), start, start + 1s, failed_with(ErrorCode{"HTTP_503"}, given), circumstances, 0.5)
        .error_message;
  };
  CHECK(message(std::string(1000, 'x')).size() <= 100);
  CHECK(message("no \xFF") == "no \xEF\xBF\xBD");
}

TEST_CASE("a handler's own message stands with any code that it throws") {
  const HandlerEnd failed = failed_with(ErrorCode{codes::snoozed_too_often}, "a child has snoozed too often");
  CHECK(report_of(task(), start, start + 1s, failed, {}, 0.5).error_message == "a child has snoozed too often");
}

TEST_CASE("a report says what the lifecycle decides, by which policy, and names its task unless all went well") {
  const HandlerEnd failed = failed_with(ErrorCode{"HTTP_503"}, "down", R"({"status": 503})");
  const Report report = report_of(task(), start, start + 1s, failed, {}, 0.5);
  CHECK(report.id == 7);
  CHECK(report.attempt == 2);
  CHECK(report.transition.next_run->delay == 10s);
  CHECK(report.transition.retry_count == 2);
  CHECK(report.policy_text == "fixed");
  CHECK(report.name == "work");
  CHECK(report.queue == "mail");
  CHECK(report.error_message == "down");
  CHECK(report.error_details_json == R"({"status": 503})");
  CHECK(report.finished_at - report.started_at == 1s);
  CHECK(report.record == Record::to_send);

  ClaimedTask first = task();
  first.retry_count = 0;
  CHECK(report_of(first, start, start + 1s, {}, {}, 0.5).name.empty());
  CHECK(report_of(task(), start, start + 1s, {}, {}, 0.5).name == "work");  // a success after retries
}

TEST_CASE("a report without its handler ends for the reason of the stop, and the handler may commit yet") {
  for (const StopReason reason : all_reasons) {
    const Report report = report_without_handler(task(), reason, start, start + 1s, 0.5);
    CHECK(report.transition.outcome == (reason == StopReason::none ? Outcome::interrupted : outcome_of(reason)));
    CHECK_FALSE(report.error_message.empty());
    CHECK(report.record == Record::perhaps_committed);
  }
}

TEST_CASE("a cancelled task whose handler has not begun ends as cancelled") {
  const Report report = report_not_begun(task(), start);
  CHECK(report.transition.outcome == Outcome::cancelled);
  CHECK(report.transition.status == lifecycle::Status::cancelled);
  CHECK(report.record == Record::to_send);
}

TEST_CASE("a durable wait is on record as it was recorded: whatever stops its attempt, and counted as no snooze") {
  ClaimedTask waiting = task();
  waiting.snoozes = lifecycle::Rules{}.max_snoozes;
  for (const StopReason reason : all_reasons) {
    HandlerEnd end;
    end.ending = {.outcome = Outcome::snoozed, .snooze = 10min};
    end.is_on_record = true;
    const Report report = report_of(waiting, start, start + 1s, end, {.stop_reason = reason}, 0.5);
    CHECK(report.transition.outcome == Outcome::snoozed);
    CHECK(report.transition.snoozes == waiting.snoozes);
    CHECK(report.record == Record::on_record);
  }
}
