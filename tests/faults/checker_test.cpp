// The checker sees every kind of lie: each test spoils one thing in the evidence of a run that went well.
#include "checker.hpp"

#include <algorithm>

#include "support/catch.hpp"

using namespace dogged::faults;

namespace {

constexpr TimeUs second = 1'000'000;
constexpr std::int64_t ns = 1'000;  // in a microsecond

/// An attempt of the worker whose id is its process's number as well, from `start` to `start` + 10 ms.
AttemptRow attempt(dogged::TaskId task, int number, std::string outcome, std::int64_t worker, TimeUs start,
                   bool will_retry, std::string code = "") {
  AttemptRow row;
  row.task_id = task;
  row.attempt = number;
  row.outcome = std::move(outcome);
  row.worker_id = worker;
  row.claimed_at = start - 1000;
  row.started_at = start;
  row.finished_at = start + 10'000;
  row.error_code = std::move(code);
  row.will_retry = will_retry;
  if (will_retry) row.next_retry_at = row.finished_at;
  row.whole = "row of " + std::to_string(task) + "." + std::to_string(number);
  return row;
}

Execution execution_of(const AttemptRow& row) {
  Execution execution{row.task_id, row.attempt, static_cast<pid_t>(row.worker_id), row.started_at * ns};
  if (row.outcome == "lost") return execution;
  execution.ended_ns = row.finished_at * ns;
  execution.how = row.outcome == "succeeded" ? "succeeded" : row.error_code;
  return execution;
}

/// Task 1 failed once and succeeded. Task 2 was lost with worker 20, whose lease was ended, and succeeded. Task 3 was
/// enqueued without an answer and ended as a dead letter.
Evidence good_run() {
  Evidence run;
  run.enqueued = {{1, 1}, {2, 2}};
  run.in_doubt = {3, 4};
  run.tasks = {{1, "faults.flaky", "succeeded", {.key = 1, .failures = 1, .code = "FLAKY"}, 2, 1, 0},
               {2, "faults.quick", "succeeded", {.key = 2}, 2, 0, 1},
               {3, "faults.flaky", "failed", {.key = 3, .failures = 1, .code = "UNLISTED"}, 1, 0, 0}};
  run.workers = {{10, {10, 10, 0, 100 * second, 90 * second, {}}},
                 {20, {20, 20, 0, 13 * second, {}, 13 * second + 100'000}}};
  run.attempts = {
      attempt(1, 1, "failed", 10, 10 * second, true, "FLAKY"), attempt(1, 2, "succeeded", 10, 11 * second, false),
      attempt(2, 1, "lost", 20, 12 * second, true, "WORKER_LOST"), attempt(2, 2, "succeeded", 10, 14 * second, false),
      attempt(3, 1, "failed", 10, 15 * second, false, "UNLISTED")};
  run.attempts[2].finished_at = 13 * second + 200'000;
  run.attempts[2].next_retry_at = run.attempts[2].finished_at;
  for (const AttemptRow& row : run.attempts) {
    run.executions.push_back(execution_of(row));
    run.attempts_seen[{row.task_id, row.attempt}] = row.whole;
  }
  return run;
}

AttemptRow& row_of(Evidence& run, dogged::TaskId task, int number) {
  return *std::find_if(run.attempts.begin(), run.attempts.end(),
                       [&](const AttemptRow& row) { return row.task_id == task && row.attempt == number; });
}

Execution& execution_of(Evidence& run, dogged::TaskId task, int number) {
  return *std::find_if(run.executions.begin(), run.executions.end(), [&](const Execution& execution) {
    return execution.task == task && execution.attempt == number;
  });
}

/// Whether one of the broken promises is told in these words.
bool complains(const Evidence& run, const std::string& words) {
  const auto broken = broken_promises(run);
  for (const std::string& promise : broken) UNSCOPED_INFO(promise);
  return std::any_of(broken.begin(), broken.end(),
                     [&](const std::string& promise) { return promise.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("a run that went well has no broken promise") { CHECK(broken_promises(good_run()).empty()); }

TEST_CASE("a lost task is seen, and one that appears, and one that is there twice") {
  Evidence run = good_run();
  SECTION("lost") {
    run.tasks.erase(run.tasks.begin());
    CHECK(complains(run, "task 1 with key 1 is lost"));
    CHECK(complains(run, "task 1 has attempts, and is not there"));
  }
  SECTION("appears") {
    run.in_doubt.clear();
    CHECK(complains(run, "task 3 with key 3 was not enqueued as that"));
  }
  SECTION("enqueued as another") {
    run.enqueued[1] = 77;
    CHECK(complains(run, "task 1 with key 1 was not enqueued as that"));
  }
  SECTION("in two places") {
    run.tasks.push_back(run.tasks.front());
    CHECK(complains(run, "task 1 stands in two places"));
  }
  SECTION("under two ids") {
    run.tasks.push_back(run.tasks.front());
    run.tasks.back().id = 9;
    CHECK(complains(run, "task 9 is there twice"));
  }
}

TEST_CASE("a task that has not ended is seen, and one that ended otherwise than its attempts say") {
  Evidence run = good_run();
  SECTION("running") {
    run.tasks[0].status = "running";
    CHECK(complains(run, "task 1 has not ended: it is running"));
  }
  SECTION("otherwise") {
    run.tasks[2].status = "succeeded";
    CHECK(complains(run, "task 3 is succeeded, and by its attempts it is failed"));
  }
}

TEST_CASE("a gap in the attempts is seen, and a count that is wrong") {
  Evidence run = good_run();
  SECTION("gap") {
    run.attempts.erase(run.attempts.begin());
    CHECK(complains(run, "task 1 attempt 2 (succeeded) is the one with number 1"));
  }
  SECTION("attempt") {
    run.tasks[0].attempt = 3;
    CHECK(complains(run, "task 1 has attempt 3, and by its attempts it is 2"));
  }
  SECTION("losses") {
    run.tasks[1].losses = 0;
    CHECK(complains(run, "task 2 has losses 0, and by its attempts it is 1"));
  }
  SECTION("retry_count") {
    run.tasks[1].retry_count = 1;
    CHECK(complains(run, "task 2 has retry_count 1, and by its attempts it is 0"));
  }
}

TEST_CASE("a task that ended twice is seen") {
  Evidence run = good_run();
  run.attempts.push_back(attempt(3, 2, "succeeded", 10, 16 * second, false));
  CHECK(complains(run, "task 3 attempt 2 (succeeded) comes after the end of its task"));
}

TEST_CASE("a decision against the rules is seen") {
  Evidence run = good_run();
  SECTION("a dead letter too early") {
    row_of(run, 1, 1).will_retry = false;
    CHECK(complains(run, "task 1 attempt 1 (failed) says will_retry false, and by its rules the task is pending"));
  }
  SECTION("run again though it must not be after a loss") {
    run.tasks[1].name = "faults.once";
    CHECK(complains(run, "task 2 attempt 1 (lost) says will_retry true, and by its rules the task is failed"));
  }
  SECTION("one failure too many") {
    run.tasks[0].plan.failures = 0;
    CHECK(complains(run, "task 1 attempt 1 (failed) has failed, and faults.flaky was to succeed by then"));
  }
  SECTION("another code") {
    row_of(run, 3, 1).error_code = "OTHER";
    CHECK(complains(run, "task 3 attempt 1 (failed) has the error code \"OTHER\""));
  }
}

TEST_CASE("a retry that came early is seen, and attempts that overlap") {
  Evidence run = good_run();
  SECTION("early") {
    row_of(run, 1, 1).next_retry_at = 12 * second;
    CHECK(complains(run, "before its next_retry_at"));
  }
  SECTION("claimed while the other ran") {
    row_of(run, 1, 2).claimed_at = 10 * second + 5000;
    CHECK(complains(run, "task 1 attempt 2 (succeeded) was claimed before the attempt before it was over"));
  }
  SECTION("times that are out of order") {
    row_of(run, 1, 2).started_at = 10 * second;
    CHECK(complains(run, "task 1 attempt 2 (succeeded) was not claimed, started and finished in this order"));
  }
  SECTION("by the handlers' log") {
    execution_of(run, 1, 1).ended_ns = execution_of(run, 1, 2).started_ns + 1;
    CHECK(complains(run, "task 1 attempt 2 (succeeded) overlaps one that counts as well"));
  }
}

TEST_CASE("a worker that goes on after its end is seen, and one that is declared dead while it lives") {
  Evidence run = good_run();
  SECTION("claims after its lease was ended") {
    run.workers[20].lease_ended_at = 11 * second;
    CHECK(complains(run, "task 2 attempt 1 (lost) was claimed by worker 20 after its end"));
  }
  SECTION("claims after it stopped") {
    run.workers[10].stopped_at = 12 * second;
    CHECK(complains(run, "task 3 attempt 1 (failed) was claimed by worker 10 after its end"));
  }
  SECTION("rescued without an end of the lease") {
    run.workers[20].lease_ended_at.reset();
    CHECK(complains(run, "was declared lost before the lease of worker 20 was ended"));
  }
  SECTION("a lease that had not lapsed") {
    run.workers[20].lease_until = 14 * second;
    CHECK(complains(run, "the lease of worker 20 was ended before it had lapsed"));
    run.workers[21] = {21, 20, 14 * second, 100 * second, {}, {}};  // it has heard that another has ended it
    CHECK(complains(run, "the lease of worker 20 was ended before it had lapsed"));
    run.workers[21].started_at = 13 * second + 110'000;  // its process has begun anew
    CHECK(broken_promises(run).empty());
  }
  SECTION("a worker that nobody knows") {
    run.workers.erase(20);
    CHECK(complains(run, "worker 20, which is not there"));
  }
}

TEST_CASE("an attempt that was executed twice is seen, or by another, or not at all, or without a row") {
  Evidence run = good_run();
  SECTION("twice") {
    run.executions.push_back(execution_of(run, 1, 2));
    CHECK(complains(run, "task 1 attempt 2 was executed twice"));
  }
  SECTION("by another") {
    execution_of(run, 2, 2).pid = 20;
    CHECK(complains(run, "task 2 attempt 2 (succeeded) is recorded for process 10, and was executed by 20"));
  }
  SECTION("not at all") {
    run.executions.pop_back();
    CHECK(complains(run, "task 3 attempt 1 (failed) was never executed"));
  }
  SECTION("a lost one may not have begun") {
    run.executions.erase(run.executions.begin() + 2);
    CHECK(broken_promises(run).empty());
  }
  SECTION("without a row") {
    run.executions.push_back({3, 2, 10, 20 * second * ns});
    CHECK(complains(run, "task 3 attempt 2 was executed, and has no row"));
  }
  SECTION("with another end") {
    execution_of(run, 1, 2).how = "FLAKY";
    CHECK(complains(run, "task 1 attempt 2 (succeeded) counts, and its execution ended as \"FLAKY\""));
  }
  SECTION("without an end") {
    execution_of(run, 1, 2).how.clear();
    CHECK(complains(run, "task 1 attempt 2 (succeeded) counts, and its execution ended as \"\""));
  }
}

TEST_CASE("a row of an attempt that changed is seen, and one that has gone") {
  Evidence run = good_run();
  SECTION("changed") {
    row_of(run, 1, 1).whole = "another";
    CHECK(complains(run, "task 1 attempt 1 changed from row of 1.1 to another"));
  }
  SECTION("gone") {
    run.attempts_seen[{5, 1}] = "row of 5.1";
    CHECK(complains(run, "task 5 attempt 1 had a row, and has none any more"));
  }
}

TEST_CASE("lateness is counted from the lapse of the lease, without the time in which the server was away") {
  Evidence run = good_run();
  CHECK(lateness(run).at_most == second);
  CHECK(lateness(run).task == 2);
  run.outages = {{13 * second - 100'000, 13 * second + 100'000}};  // and half a second to come back
  CHECK(lateness(run).at_most == second - 600'000);
  run.attempts.clear();
  CHECK(lateness(run).task == 0);
}
