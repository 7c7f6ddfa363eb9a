// How a batch of reports gets on record: each report is settled once, whatever fails.
#include "report/core/batch.hpp"

#include <chrono>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <vector>

#include "support/catch.hpp"
#include "support/property.hpp"
#include "support/virtual_time.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using namespace dogged::runtime;
using State = ReportBatch::State;
using Remedy = ReportBatch::Remedy;
using dogged::test::start;

namespace {

constexpr std::int64_t own_id = 7;

Report success(TaskId id) {
  Report report;
  report.id = id;
  report.attempt = 1;
  report.transition.status = lifecycle::Status::succeeded;
  report.transition.outcome = lifecycle::Outcome::succeeded;
  report.finished_at = start;
  return report;
}

Report retry(TaskId id, milliseconds delay) {
  Report report = success(id);
  report.transition.status = lifecycle::Status::pending;
  report.transition.outcome = lifecycle::Outcome::failed;
  report.transition.retry_count = 1;
  report.transition.next_run = lifecycle::NextRun{.delay = delay, .spends_retry = true};
  return report;
}

std::vector<TaskId> ids_of(const ReportBatch& batch) {
  std::vector<TaskId> ids;
  for (const Report& report : batch.part()) ids.push_back(report.id);
  return ids;
}

std::set<TaskId> unsettled_ids(const ReportBatch& batch) {
  std::set<TaskId> ids;
  for (const Attempt& attempt : batch.unsettled()) ids.insert(attempt.id);
  return ids;
}

}  // namespace

TEST_CASE("a batch refuses verdicts that are not those of the reports that were not taken") {
  for (const std::vector<Verdict>& verdicts : {std::vector<Verdict>{}, {Verdict::on_record, Verdict::on_record}}) {
    ReportBatch batch{{success(1), success(2)}};
    batch.on_sent({2}, start);
    CHECK_THROWS_AS(batch.on_explained(verdicts, start), std::logic_error);
  }
  ReportBatch batch{{success(1)}};
  batch.on_sent({}, start);
  CHECK_THROWS_AS(batch.part(), std::logic_error);
}

TEST_CASE("a batch that is taken whole has ended with one sending") {
  ReportBatch batch{{success(1), success(2)}};
  CHECK(batch.state() == State::sending);
  CHECK_FALSE(batch.may_have_left_locks());
  batch.on_sent({}, start);
  CHECK(batch.state() == State::ended);
  CHECK(batch.take_taken().size() == 2);
  CHECK(batch.take_taken().empty());
  CHECK(batch.take_again().empty());
}

TEST_CASE("a report that is on record already is taken, and not sent") {
  Report on_record = success(2);
  on_record.record = Record::on_record;
  ReportBatch batch{{success(1), on_record, success(3)}};
  CHECK(ids_of(batch) == std::vector<TaskId>{1, 3});
  CHECK(batch.take_taken().size() == 1);
  ReportBatch alone{{on_record}};
  CHECK(alone.state() == State::ended);
  CHECK(alone.take_taken().front().report->id == 2);
}

TEST_CASE("nothing is settled before the reports that were not taken are explained") {
  ReportBatch batch{{success(1), success(2)}};
  batch.on_sent({2}, start);
  CHECK(batch.state() == State::explaining);
  CHECK(batch.take_taken().empty());
  REQUIRE(batch.not_taken().size() == 1);
  CHECK(batch.not_taken()[0]->id == 2);
  batch.on_failure();  // the second statement's answer was lost: all is sent once more
  CHECK(batch.state() == State::sending);
  CHECK(batch.may_have_left_locks());
  CHECK(ids_of(batch) == std::vector<TaskId>{1, 2});
  batch.on_sent({1, 2}, start);
  batch.on_explained({Verdict::on_record, Verdict::fenced}, start);
  CHECK(batch.state() == State::ended);
  const auto taken = batch.take_taken();
  REQUIRE(taken.size() == 1);
  CHECK(taken[0].report->id == 1);
  CHECK(batch.take_again().empty());
}

TEST_CASE("a report that PostgreSQL refuses is found by halving, and holds up no other") {
  std::vector<Report> reports;
  for (TaskId id = 1; id <= 9; ++id) reports.push_back(success(id));
  reports[6].result_json = "\"refused\"";
  ReportBatch batch{std::move(reports)};
  int sendings = 0;
  std::vector<TaskId> taken;
  std::string message;
  while (batch.state() != State::ended) {
    REQUIRE(++sendings < 20);
    bool refuses = false;
    for (const Report& report : batch.part()) refuses = refuses || !report.result_json.empty();
    if (refuses) {
      const bool is_alone = batch.part().size() == 1;
      CHECK(batch.on_refused("no such character") == (is_alone ? Remedy::stripped : Remedy::halved));
    } else {
      batch.on_sent({}, start);
    }
    for (const auto& [report, sent_at] : batch.take_taken()) {
      taken.push_back(report->id);
      if (report->id == 7) message = report->error_message;
    }
  }
  CHECK(taken == std::vector<TaskId>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(message == "left out, because PostgreSQL refused it: no such character");
}

TEST_CASE("the recorded reports of a halved batch are settled while the rest is sent") {
  ReportBatch batch{{success(1), success(2), success(3), success(4)}};
  CHECK(unsettled_ids(batch) == std::set<TaskId>{1, 2, 3, 4});
  CHECK(batch.on_refused("a constraint") == Remedy::halved);
  CHECK(unsettled_ids(batch) == std::set<TaskId>{1, 2, 3, 4});
  batch.on_sent({2}, start);
  CHECK(unsettled_ids(batch) == std::set<TaskId>{1, 2, 3, 4});  // both are sent once more if the explanation fails
  batch.on_explained({Verdict::locked}, start);
  CHECK(unsettled_ids(batch) == std::set<TaskId>{2, 3, 4});
  batch.on_sent({}, start);
  CHECK(unsettled_ids(batch) == std::set<TaskId>{2});
}

TEST_CASE("a report without anything that a handler gave is not refused for its own sake") {
  ReportBatch batch{{success(1)}};
  CHECK(batch.on_refused("a constraint") == Remedy::none);
  CHECK(batch.state() == State::sending);
}

TEST_CASE("a retry that was too late when its report was sent is too late, however long the question took") {
  const Report report = retry(1, 10s);
  // At the sending the task had 9.999 s to live; the holder was asked for later, when less was left.
  for (const auto later : {0ms, 1ms, 5000ms}) {
    const std::int64_t left = std::chrono::microseconds{9'999ms - later}.count();
    CHECK(verdict_of(report, {.is_mine = true, .expires_in_us = left, .expires_after_claim_us = 20'000'000}, own_id,
                     start) == Verdict::expired_first);
  }
}

TEST_CASE("the verdict on a report that was not taken, in each state that its task can be in") {
  const Report report = retry(1, 10s);
  const auto verdict = [&](const Report& of, const Holder& holder) { return verdict_of(of, holder, own_id, start); };
  CHECK(verdict(report, {.is_mine = true}) == Verdict::locked);
  CHECK(verdict(report, {.is_mine = true, .cancel_requested = true}) == Verdict::cancelled_first);
  CHECK(verdict(report, {.is_mine = true, .expires_in_us = 20'000'000, .expires_after_claim_us = 20'000'000}) ==
        Verdict::locked);
  CHECK(verdict(report, {.is_mine = true, .expires_in_us = 9'999'999, .expires_after_claim_us = 20'000'000}) ==
        Verdict::expired_first);
  CHECK(verdict(report, {.is_mine = true, .expires_in_us = 20'000'000, .expires_after_claim_us = 9'999'999}) ==
        Verdict::expired_first);
  CHECK(verdict(success(1), {.is_mine = true, .expires_in_us = -5, .expires_after_claim_us = 1}) == Verdict::locked);
  CHECK(verdict(report, {.outcome = lifecycle::Outcome::failed, .recorded_for = own_id}) == Verdict::on_record);
  CHECK(verdict(report, {.outcome = lifecycle::Outcome::failed, .recorded_for = own_id + 1}) == Verdict::fenced);
  CHECK(verdict(report, {.outcome = lifecycle::Outcome::lost, .recorded_for = own_id}) == Verdict::fenced);
  CHECK(verdict(report, {}) == Verdict::fenced);
  Report in_transaction = report;
  in_transaction.record = Record::perhaps_committed;
  CHECK(verdict(in_transaction, {.outcome = lifecycle::Outcome::succeeded, .recorded_for = own_id}) ==
        Verdict::committed);
  CHECK(verdict(in_transaction, {.outcome = lifecycle::Outcome::lost, .recorded_for = own_id}) == Verdict::fenced);
}

TEST_CASE("a report whose handler's own transaction was committed is noted as the success that it is") {
  ReportBatch batch{{retry(1, 10s)}};
  batch.on_sent({1}, start);
  batch.on_explained({Verdict::committed}, start);
  const auto taken = batch.take_taken();
  REQUIRE(taken.size() == 1);
  CHECK(taken[0].report->transition.outcome == lifecycle::Outcome::succeeded);
  CHECK(taken[0].report->transition.retry_count == 0);
  CHECK_FALSE(taken[0].report->transition.next_run);
}

TEST_CASE("a task runs again at once whose retry was due when its report was sent, and later by what is left") {
  const auto rerun = [](const Report& report, milliseconds after) {
    return rerun_of({&report, report.finished_at + after});
  };
  CHECK(rerun(success(1), 0ms) == Rerun{});
  CHECK(rerun(retry(1, 0ms), 0ms) == Rerun{Rerun::When::at_once});
  CHECK(rerun(retry(1, 10s), 4s) == Rerun{Rerun::When::later, 6s});
  CHECK(rerun(retry(1, 10s), 10s) == Rerun{Rerun::When::at_once});
  CHECK(rerun(retry(1, 10s), 11s) == Rerun{Rerun::When::at_once});
}

TEST_CASE(
    "whatever is lost, locked, fenced or refused, each report is settled once, and none is taken that is not on "
    "record") {
  CHECK(test::holds([] {
    const int size = test::any_in_range(1, 12);
    std::map<TaskId, bool> on_record;  // false: held by another worker
    std::unordered_set<TaskId> fenced, poisoned;
    std::vector<Report> reports;
    for (TaskId id = 1; id <= size; ++id) {
      reports.push_back(success(id));
      switch (test::any_in_range(0, 5)) {
        case 0:
          fenced.insert(id);
          break;
        case 1:
          poisoned.insert(id);
          reports.back().result_json = "1";
          break;
        default:
          break;
      }
    }
    ReportBatch batch{std::move(reports)};
    std::map<TaskId, int> settled;
    int faults = 0;
    for (int steps = 0; batch.state() != State::ended; ++steps) {
      RC_ASSERT(steps < 200);
      // 0: as it should be; 1: the request is lost; 2: the answer is lost
      const int fate = faults < 10 ? test::any_in_range(0, 3) : 0;
      if (fate != 0) ++faults;
      if (batch.state() == State::explaining) {
        if (fate != 0) {
          batch.on_failure();
          continue;
        }
        std::vector<Verdict> verdicts;
        for (const Report* report : batch.not_taken()) {
          if (on_record.contains(report->id))
            verdicts.push_back(Verdict::on_record);
          else if (fenced.contains(report->id))
            verdicts.push_back(Verdict::fenced);
          else
            verdicts.push_back(Verdict::locked);
          if (verdicts.back() == Verdict::fenced) ++settled[report->id];
        }
        batch.on_explained(verdicts, start);
      } else {
        bool refuses = false;
        for (const Report& report : batch.part()) refuses = refuses || !report.result_json.empty();
        if (fate == 1) {
          batch.on_failure();
          continue;
        }
        if (refuses) {
          RC_ASSERT(batch.on_refused("no") != Remedy::none);
          continue;
        }
        std::unordered_set<TaskId> refused;
        for (const Report& report : batch.part()) {
          const bool is_locked = faults < 10 && test::any_in_range(0, 8) == 0;
          if (on_record.contains(report.id) || fenced.contains(report.id) || is_locked) {
            refused.insert(report.id);
          } else {
            on_record[report.id] = true;
          }
        }
        if (fate == 2) {
          batch.on_failure();
          continue;
        }
        batch.on_sent(std::move(refused), start);
      }
      for (const auto& [report, sent_at] : batch.take_taken()) {
        RC_ASSERT(on_record.contains(report->id));
        RC_ASSERT(report->result_json.empty());
        ++settled[report->id];
      }
    }
    for (const Report& report : batch.take_again()) {
      RC_ASSERT(!on_record.contains(report.id));
      ++settled[report.id];
    }
    for (TaskId id = 1; id <= size; ++id) RC_ASSERT(settled[id] == 1);
  }));
}
