// The end of an attempt whose handler snoozes.
#include <memory>
#include <string>
#include <utility>

#include <spdlog/logger.h>

#include <dogged/worker.hpp>

#include "run/attempt.hpp"
#include "support/catch.hpp"
#include "tasks/definition.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using lifecycle::Outcome;
using lifecycle::Status;

namespace {

constexpr Task<nlohmann::json> snoozing{"work"};

/// The report of an attempt that snoozes for ten minutes, of a task that has snoozed `before`.
runtime::Report snoozed(int before, const TaskOptions& options, const runtime::StopSignal& stop = {}) {
  const auto handler = [](Context&, const nlohmann::json&) { throw Snooze{10min, "not ready"}; };
  const runtime::Definitions definitions = runtime::make_definitions(Tasks{}.add(handler, snoozing, options).all());
  runtime::ClaimedTask task;
  task.id = 7;
  task.attempt = 4;
  task.retry_count = 1;
  task.snoozes = before;
  task.definition = &definitions.at("work");
  task.queue = "default";
  task.args_json = "{}";
  spdlog::logger log{"test"};
  runtime::Report report =
      runtime::run_attempt({std::move(task), runtime::SteadyClock::now()}, stop, {}, runtime::AttemptTrace{}, log, 0.5);
  report.retry_policy = nullptr;  // of the definition, which is gone
  return report;
}

}  // namespace

TEST_CASE("an attempt that snoozes runs again after its delay, and says why") {
  const runtime::Report report = snoozed(2, {.max_snoozes = 3});
  CHECK(report.transition.outcome == Outcome::snoozed);
  CHECK(report.transition.next_run == lifecycle::NextRun{10min, 10min});
  CHECK(report.transition.retry_count == 1);
  CHECK(report.transition.snoozes == 3);
  CHECK(report.transition.code().empty());
  CHECK(report.error_message == "not ready");
  CHECK(report.policy_text.empty());
}

TEST_CASE("an attempt that snoozes too often fails, and says how often and what it waited for") {
  const runtime::Report report = snoozed(3, {.auto_retry_for = {"*"}, .max_snoozes = 3});
  CHECK(report.transition.status == Status::failed);
  CHECK(report.transition.code() == codes::snoozed_too_often);
  CHECK(report.error_message ==
        "it was to snooze for 10m, and the task has snoozed 3 times, as often as its .max_snoozes allows: not ready");
  CHECK(snoozed(0, {.max_snoozes = 0}).transition.code() == codes::snoozed_too_often);
}

TEST_CASE("a snooze stands whatever its handler was stopped for, but for a cancellation") {
  const auto outcome_after = [](StopReason reason) {
    runtime::StopSignal stop;
    stop.request(reason);
    return snoozed(0, {}, stop).transition.outcome;
  };
  CHECK(outcome_after(StopReason::timeout) == Outcome::snoozed);
  CHECK(outcome_after(StopReason::shutdown) == Outcome::snoozed);
  CHECK(outcome_after(StopReason::lease_lost) == Outcome::snoozed);
  CHECK(outcome_after(StopReason::cancelled) == Outcome::cancelled);
}
