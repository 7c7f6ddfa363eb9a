// The effect of a handler's end on its attempt: every outcome, stop reason and use of complete_in.
#include "run/core/ending.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "support/virtual_time.hpp"
#include "tasks/definition.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using namespace dogged::runtime;
using dogged::test::start;
using lifecycle::Outcome;

namespace {

constexpr std::array all_reasons{StopReason::none, StopReason::timeout, StopReason::cancelled, StopReason::shutdown,
                                 StopReason::lease_lost};

const Declaration declaration{{.policy = Fixed{.interval = 10s, .max_retries = 3, .jitter = Jitter::none()},
                               .auto_retry_for = {"HTTP_503", "TIMEOUT"}},
                              "fixed"};

const Definition& definition(bool completes_in_transaction) {
  const auto make = [](bool completes) {
    Definition definition;
    definition.name = "work";
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

/// The first letters of the outcomes, but `z` of a snooze.
char letter_of(Outcome outcome) { return outcome == Outcome::snoozed ? 'z' : to_text(outcome).front(); }

/// Of a handler that throws, for each of all_reasons.
constexpr std::string_view thrown = "ftcii";

/// The outcomes of an attempt, for each of all_reasons. A success that complete_in was to record, and has not, is
/// `thrown`.
struct Row {
  Outcome given;
  bool is_on_record;  // of a snooze alone
  std::string_view outcomes;
};
constexpr std::array<Row, 8> table{{
    {Outcome::succeeded, false, "sssss"},  // the work is done, whyever it was to stop
    {Outcome::failed, false, thrown},
    {Outcome::snoozed, false, "zzczz"},    // a cancelled task is not to run again
    {Outcome::snoozed, true, "zzzzz"},     // a durable wait
    {Outcome::timed_out, false, "ttttt"},  // from here on the handler has not decided
    {Outcome::cancelled, false, "ccccc"},
    {Outcome::lost, false, "lllll"},
    {Outcome::interrupted, false, "iiiii"},
}};

}  // namespace

TEST_CASE("what the handler did, why it was to stop and whether it called complete_in decide the outcome together") {
  int combinations = 0;
  for (const Row& row : table) {
    for (std::size_t reason = 0; reason < all_reasons.size(); ++reason) {
      for (const bool completion_begun : {true, false}) {
        for (const bool must_complete : {true, false}) {
          const bool is_uncommitted = row.given == Outcome::succeeded && (completion_begun || must_complete);
          const std::string_view outcomes = is_uncommitted ? thrown : row.outcomes;
          CAPTURE(to_text(row.given), row.is_on_record, reason, completion_begun, must_complete);
          HandlerEnd end = row.given == Outcome::failed ? failed_with(ErrorCode{"HTTP_503"}, "down") : HandlerEnd{};
          end.ending.outcome = row.given;
          end.is_on_record = row.is_on_record;
          if (row.given == Outcome::succeeded) end.result_json = "1";
          const Report report =
              report_of(task_of(definition(must_complete)), declaration, start, start + 1s, end,
                        {.stop_reason = all_reasons.at(reason), .completion_begun = completion_begun}, 0.5);
          REQUIRE(letter_of(report.transition.outcome) == outcomes.at(reason));
          REQUIRE(report.result_json == (report.transition.outcome == Outcome::succeeded ? "1" : ""));
          if (report.transition.outcome == Outcome::failed) {
            REQUIRE(report.transition.code() == (is_uncommitted ? codes::not_committed : "HTTP_503"));
          }
          REQUIRE(report.record == (row.is_on_record   ? Record::on_record
                                    : completion_begun ? Record::perhaps_committed
                                                       : Record::to_send));
          ++combinations;
        }
      }
    }
  }
  CHECK(combinations == 8 * 5 * 2 * 2);
}

TEST_CASE("a result that is too long fails the attempt, whether or not its handler has called complete_in") {
  for (const bool completion_begun : {true, false}) {
    const Circumstances circumstances{.completion_begun = completion_begun, .limits = {.max_result_bytes = 3}};
    const auto report = [&](std::size_t bytes) {
      return report_of(task(), declaration, start, start + 1s, {.result_json = "1e9", .result_bytes = bytes},
                       circumstances, 0.5);
    };
    CHECK(report(4).transition.code() == codes::invalid_result);
    CHECK(report(4).result_json.empty());
    CHECK(report(3).transition.code() != codes::invalid_result);
  }
}

TEST_CASE("the message of a report is cut to the limit, and made storable") {
  const Circumstances circumstances{.limits = {.max_error_message_bytes = 100}};
  const auto message = [&](const std::string& given) {
    return report_of(task(), declaration, start, start + 1s, failed_with(ErrorCode{"HTTP_503"}, given), circumstances,
                     0.5)
        .error_message;
  };
  CHECK(message(std::string(1000, 'x')).size() <= 100);
  CHECK(message("no \xFF") == "no \xEF\xBF\xBD");
}

TEST_CASE("a handler's own message stands with any code that it throws") {
  const HandlerEnd failed = failed_with(ErrorCode{codes::snoozed_too_often}, "a child has snoozed too often");
  CHECK(report_of(task(), declaration, start, start + 1s, failed, {}, 0.5).error_message ==
        "a child has snoozed too often");
}

TEST_CASE("a report says what the lifecycle decides, by which policy, and names its task unless all went well") {
  const HandlerEnd failed = failed_with(ErrorCode{"HTTP_503"}, "down", R"({"status": 503})");
  const Report report = report_of(task(), declaration, start, start + 1s, failed, {}, 0.5);
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
  CHECK(report_of(first, declaration, start, start + 1s, {}, {}, 0.5).name.empty());
  CHECK(report_of(task(), declaration, start, start + 1s, {}, {}, 0.5).name == "work");  // a success after retries
}

TEST_CASE("a report without its handler ends for the reason of the stop, and the handler may commit yet") {
  constexpr std::string_view outcomes = "itcii";
  for (std::size_t reason = 0; reason < all_reasons.size(); ++reason) {
    CAPTURE(reason);
    const Report report = report_without_handler(task(), declaration, all_reasons.at(reason), start, start + 1s, 0.5);
    CHECK(letter_of(report.transition.outcome) == outcomes.at(reason));
    CHECK_FALSE(report.error_message.empty());
    CHECK(report.record == Record::perhaps_committed);
  }
}

TEST_CASE("a cancelled task whose handler has not begun ends as cancelled") {
  const Report report = report_not_begun(task(), declaration, start);
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
    const Report report = report_of(waiting, declaration, start, start + 1s, end, {.stop_reason = reason}, 0.5);
    CHECK(report.transition.outcome == Outcome::snoozed);
    CHECK(report.transition.snoozes == waiting.snoozes);
    CHECK(report.record == Record::on_record);
  }
}
