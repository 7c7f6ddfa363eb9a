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

void finish(Evidence& run) {
  for (const AttemptRow& row : run.attempts) {
    run.executions.push_back(execution_of(row));
    run.attempts_seen[{row.task_id, row.attempt}] = row.whole;
  }
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
  finish(run);
  return run;
}

/// Tasks 1 and 2 are of schedule 7, of which the ticks between them were skipped.
Evidence run_of_schedule() {
  Evidence run;
  run.workers = {{10, {10, 10, 0, 100 * second, 90 * second, {}}}};
  run.tasks = {{.id = 1, .name = "faults.slow", .status = "succeeded", .attempt = 1, .schedule = "each-second"},
               {.id = 2, .name = "faults.slow", .status = "succeeded", .attempt = 1, .schedule = "each-second"}};
  run.attempts = {attempt(1, 1, "succeeded", 10, 20 * second + 2000, false),
                  attempt(2, 1, "succeeded", 10, 25 * second + 2000, false)};
  run.schedules = {{.id = 7, .name = "each-second", .every = second, .next_at = 26 * second}};
  run.ticks = {
      {.schedule_id = 7, .scheduled_at = 20 * second, .outcome = "fired", .decided_at = 20 * second, .task_id = 1},
      {.schedule_id = 7,
       .scheduled_at = 21 * second,
       .outcome = "skipped",
       .reason = "overlap",
       .decided_at = 21 * second},
      {.schedule_id = 7,
       .scheduled_at = 22 * second,
       .outcome = "skipped",
       .reason = "missed",
       .decided_at = 25 * second,
       .skipped_until = 25 * second},
      {.schedule_id = 7, .scheduled_at = 25 * second, .outcome = "fired", .decided_at = 25 * second, .task_id = 2}};
  finish(run);
  return run;
}

/// Tasks 1 and 2 had the key "a", one after the other. Of the producer's tasks, 3 met the second one.
Evidence run_of_keys() {
  Evidence run;
  run.workers = {{10, {10, 10, 0, 100 * second, 90 * second, {}}}};
  run.enqueued = {{1, 1}, {2, 2}};
  run.met = {{3, {.holder = 2, .unique_key = "a"}}};
  run.tasks = {
      {.id = 1, .name = "faults.unique", .status = "succeeded", .plan = {.key = 1}, .attempt = 1, .unique_key = "a"},
      {.id = 2, .name = "faults.unique", .status = "succeeded", .plan = {.key = 2}, .attempt = 1, .unique_key = "a"}};
  run.attempts = {attempt(1, 1, "succeeded", 10, 20 * second, false),
                  attempt(2, 1, "succeeded", 10, 21 * second, false)};
  run.end.keys = {
      {.name = "faults.unique", .unique_key = "a", .task_id = 2, .task_name = "faults.unique", .task_key = "a"}};
  finish(run);
  return run;
}

StepRow step(int number, int attempt, std::int64_t worker, TimeUs at) {
  return {1, "step-" + std::to_string(number), attempt, worker, at, std::to_string(attempt)};
}

/// Task 1 was lost with worker 20 in its second step, and waited behind the third one for an event that came.
Evidence run_of_steps() {
  Evidence run;
  run.workers = {{10, {10, 10, 0, 100 * second, 90 * second, {}}},
                 {20, {20, 20, 0, 13 * second, {}, 13 * second + 100'000}}};
  run.enqueued = {{1, 1}};
  run.tasks = {{.id = 1,
                .name = "faults.stepwise",
                .status = "succeeded",
                .plan = {.key = 1, .event = "event-1", .event_ms = 2000},
                .attempt = 3,
                .losses = 1}};
  run.attempts = {attempt(1, 1, "lost", 20, 12 * second, true, "WORKER_LOST"),
                  attempt(1, 2, "snoozed", 10, 14 * second, true), attempt(1, 3, "succeeded", 10, 15 * second, false)};
  run.attempts[0].finished_at = 13 * second + 200'000;
  run.attempts[0].next_retry_at = run.attempts[0].finished_at;
  run.attempts[1].next_retry_at = 16 * second;  // the event came first
  run.steps = {{1, "event-1", 3, 10, 15 * second + 1000, R"({"payload": null})"},
               step(1, 1, 20, 12 * second + 5000),
               step(2, 2, 10, 14 * second + 1000),
               step(3, 2, 10, 14 * second + 2000),
               step(4, 3, 10, 15 * second + 2000)};
  run.events = {{"event-1", 14 * second + 500'000}};
  finish(run);
  run.executions[1].steps = {{"step-1", 1}, {"step-2", 2}, {"step-3", 2}};
  run.executions[2].steps = {{"step-1", 1}, {"step-2", 2}, {"step-3", 2}, {"step-4", 3}};
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

TEST_CASE("a run that went well has no broken promise") {
  const Evidence run = GENERATE(good_run(), run_of_schedule(), run_of_keys(), run_of_steps());
  CHECK_FALSE(complains(run, ""));
}

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

TEST_CASE("a tick that fired twice is seen, and one that is lost") {
  Evidence run = run_of_schedule();
  SECTION("two rows of one time") {
    run.ticks.insert(run.ticks.begin(), run.ticks.front());
    CHECK(complains(run, "the tick of each-second at 20000000 (fired) fired twice"));
  }
  SECTION("a task without a tick") {
    run.tasks.push_back(run.tasks.back());
    run.tasks.back().id = 3;
    CHECK(complains(run, "task 3 of schedule \"each-second\" has 0 ticks"));
  }
  SECTION("two ticks with one task") {
    run.ticks[3].task_id = 1;
    CHECK(complains(run, "task 1 of schedule \"each-second\" has 2 ticks"));
  }
  SECTION("lost between others") {
    run.ticks.erase(run.ticks.begin() + 1);
    CHECK(complains(run, "at 20000000 (fired) is followed by 22000000, and not by 21000000"));
  }
  SECTION("lost in a range that was missed") {
    run.ticks[2].skipped_until = 24 * second;
    CHECK(complains(run, "at 22000000 (skipped) is followed by 25000000, and not by 24000000"));
  }
  SECTION("lost at the end") {
    run.schedules[0].next_at = 27 * second;
    CHECK(complains(run, "at 25000000 (fired) is followed by 27000000, and not by 26000000"));
  }
}

TEST_CASE("a tick that does not say what became of it is seen") {
  Evidence run = run_of_schedule();
  SECTION("fired without a task") {
    run.ticks[0].task_id = 0;
    CHECK(complains(run, "at 20000000 (fired) names no task"));
  }
  SECTION("fired for a task that is not there") {
    run.ticks[0].task_id = 99;
    CHECK(complains(run, "names task 99, which is not there"));
  }
  SECTION("fired for a task of another") {
    run.tasks[0].schedule = "other";
    CHECK(complains(run, "names task 1, which is not of this schedule"));
  }
  SECTION("skipped with a task") {
    run.ticks[1].task_id = 1;
    CHECK(complains(run, "at 21000000 (skipped) names task 1"));
  }
  SECTION("skipped without a reason") {
    run.ticks[1].reason.clear();
    CHECK(complains(run, "at 21000000 (skipped) has no reason"));
  }
  SECTION("before its time") {
    run.ticks[0].decided_at = 20 * second - 1;
    CHECK(complains(run, "at 20000000 (fired) was decided before its time"));
  }
  SECTION("while the task before it ran") {
    row_of(run, 1, 1).finished_at = 25 * second + 5000;
    CHECK(complains(run, "task 2 of schedule \"each-second\" began before task 1 had ended"));
    run.schedules[0].one_at_a_time = false;
    CHECK_FALSE(complains(run, "began before"));
  }
}

TEST_CASE("a unique key with two holders is seen, and an answer that names no holder") {
  Evidence run = run_of_keys();
  SECTION("at once") {
    row_of(run, 1, 1).finished_at = 21 * second + 5000;
    CHECK(complains(run, "task 2 of key \"a\" began before task 1 had ended"));
    run.tasks[1].unique_key = "b";
    CHECK_FALSE(complains(run, "began before"));
  }
  SECTION("at once, for tasks that give their key up when they begin") {
    row_of(run, 1, 1).finished_at = 21 * second + 5000;
    for (TaskRow& task : run.tasks) task.name = "faults.unique_pending";
    CHECK_FALSE(complains(run, "began before"));
  }
  SECTION("a holder that is not there") {
    run.met[3].holder = 9;
    CHECK(complains(run, "key 3 was told that task 9 holds \"a\", and that task is not there"));
  }
  SECTION("a holder of another key") {
    run.met[3].unique_key = "b";
    CHECK(complains(run, "key 3 was told that task 2 holds \"b\", and the key of that task is \"a\""));
  }
}

TEST_CASE("a row of a key that names another task than its holder is seen, at each moment") {
  Moment moment{
      .keys =
          {{.name = "faults.unique", .unique_key = "a", .task_id = 1, .task_name = "faults.unique", .task_key = "a"}},
      .unique_tasks = {{.id = 1, .name = "faults.unique", .unique_key = "a", .in_row = 1}}};
  Evidence run;
  run.end = moment;
  CHECK_FALSE(complains(run, ""));
  SECTION("the key of its task is another") {
    run.end.keys[0].task_key = "b";
    CHECK(complains(run, "the key \"a\" of faults.unique names task 1, which is faults.unique with the key \"b\""));
  }
  SECTION("the row of a holder is gone") {
    run.end.unique_tasks[0].in_row.reset();
    CHECK(complains(run, "task 1 holds the key \"a\", whose row is not there"));
  }
  SECTION("the row names another") {
    run.end.unique_tasks[0].in_row = 2;
    CHECK(complains(run, "task 1 holds the key \"a\", whose row names task 2"));
    run.end.unique_tasks[0].name = "faults.unique_pending";  // a later task may have taken it
    CHECK_FALSE(complains(run, ""));
  }
}

TEST_CASE("a step with two values is seen, and one that no attempt had the right to write") {
  Evidence run = run_of_steps();
  SECTION("run again") {
    run.steps.insert(run.steps.begin() + 2, step(1, 2, 10, 14 * second));
    CHECK(complains(run, "the step step-1 of task 1 attempt 1 was on record, and attempt 2 has run it again"));
  }
  SECTION("run again, as the first attempt was being lost") {
    run.steps[1].finished_at = row_of(run, 1, 1).finished_at - 1000;
    run.steps.insert(run.steps.begin() + 2, step(1, 2, 10, 14 * second));
    CHECK_FALSE(complains(run, ""));
  }
  SECTION("on record twice") {
    run.steps.insert(run.steps.begin() + 2, run.steps[1]);
    CHECK(complains(run, "the step step-1 of task 1 attempt 1 is on record twice"));
  }
  SECTION("after the loss of the task") {
    run.steps[1].finished_at = 14 * second;
    CHECK(complains(run, "the step step-1 of task 1 attempt 1 was written while the attempt did not have the task"));
  }
  SECTION("by a handler that was given up") {
    row_of(run, 1, 1).outcome = "interrupted";
    row_of(run, 1, 1).finished_at = 12 * second + 5000;
    run.steps[1].finished_at = row_of(run, 1, 2).claimed_at - 1000;
    CHECK_FALSE(complains(run, "was written while the attempt did not have the task"));
    run.steps[1].finished_at = row_of(run, 1, 2).claimed_at + second;
    CHECK(complains(run, "the step step-1 of task 1 attempt 1 was written while the attempt did not have the task"));
  }
  SECTION("by another worker") {
    run.steps[1].worker_id = 10;
    CHECK(complains(run, "the step step-1 of task 1 attempt 1 was written by worker 10, and worker 20 had the task"));
  }
  SECTION("of no attempt") {
    run.steps[4].attempt = 4;
    CHECK(complains(run, "the step step-4 of task 1 attempt 4 is of an attempt that is not there"));
  }
  SECTION("of a task that is gone") {
    run.tasks.clear();
    CHECK(complains(run, "task 1 has steps, and is not there"));
  }
  SECTION("another value for the handler") {
    run.executions[2].steps[0].gave = 3;
    CHECK(complains(run, "task 1 attempt 3 got 3 from the step step-1, and no record says so"));
  }
  SECTION("left out") {
    run.steps.erase(run.steps.begin() + 2);
    CHECK(complains(run, "task 1 succeeded without the step step-2"));
  }
}

TEST_CASE("a wait that misses its event is seen, one that is there twice, and one whose task does not wait") {
  Evidence run = run_of_steps();
  const WaitRow wait{
      .task_id = 1, .name = "event-1", .attempt = 2, .status = "pending", .task_attempt = 2, .is_deferred = true};
  SECTION("missed") {
    run.steps[0].result = "{}";
    CHECK(complains(run, "the step event-1 of task 1 attempt 3 ended without the event, which came 501000 µs before"));
    run.events[0].emitted_at = run.steps[0].finished_at;
    CHECK_FALSE(complains(run, ""));
  }
  SECTION("twice") {
    run.tasks[0].plan.event.clear();
    CHECK(complains(run, "task 1 attempt 2 (snoozed) is more than the task has waits"));
  }
  SECTION("its task is gone, or has ended") {
    run.end.waits = {wait};
    CHECK_FALSE(complains(run, ""));
    run.end.waits[0].status = "failed";
    CHECK_FALSE(complains(run, ""));
    run.end.waits[0].status.clear();
    CHECK(complains(run, "task 1's wait for event-1 is there, and the task is gone"));
    run.end.waits[0].status = "succeeded";
    CHECK(complains(run, "task 1's wait for event-1 is there, and the task is succeeded"));
  }
  SECTION("its task runs, and the next attempt has not begun") {
    run.end.waits = {wait};
    run.end.waits[0].status = "running";
    CHECK(complains(run, "task 1's wait for event-1 is not over, and its task is running"));
    run.end.waits[0].task_attempt = 3;  // it is on its way to the wait
    CHECK_FALSE(complains(run, ""));
    run.end.waits[0].task_attempt = 1;
    CHECK(complains(run, "task 1's wait for event-1 is of attempt 2, which has not begun"));
  }
  SECTION("its event came, and the task sleeps on") {
    run.end.waits = {wait};
    run.end.waits[0].has_arrived = true;
    CHECK(complains(run, "task 1's wait for event-1 has its event, and the task sleeps on"));
    run.end.waits[0].is_deferred = false;
    CHECK_FALSE(complains(run, ""));
  }
  SECTION("its task is due at another time") {
    run.end.waits = {wait};
    run.end.waits[0].due_in_us = -5;
    CHECK(complains(run, "task 1's wait for event-1 ends 5 µs after the task is due"));
  }
}
