// See ending.hpp.
#include "run/core/ending.hpp"

#include <string_view>
#include <utility>

#include <dogged/codes.hpp>

#include "base/core/storable_text.hpp"
#include "client/json_limit.hpp"
#include "tasks/definition.hpp"
#include "text/counted.hpp"
#include "text/duration.hpp"

namespace dogged::runtime {
namespace {

/// The attempt's event for the circuit of the service. A failure that is not retried is the task's own.
detail::CircuitEvent circuit_event_of(const ClaimedTask& task, const lifecycle::Transition& transition) {
  using Kind = detail::CircuitEvent::Kind;
  if (transition.outcome == lifecycle::Outcome::succeeded) return {Kind::success, task.circuit_generation};
  return {transition.is_retryable_failure ? Kind::failure : Kind::abandon, task.circuit_generation};
}

/// The outcome of an attempt whose handler threw after its stop token was set.
lifecycle::Outcome outcome_after(StopReason reason) {
  switch (reason) {
    case StopReason::timeout:
      return lifecycle::Outcome::timed_out;
    case StopReason::cancelled:
      return lifecycle::Outcome::cancelled;
    case StopReason::shutdown:
    case StopReason::lease_lost:
      return lifecycle::Outcome::interrupted;
    case StopReason::none:
      break;
  }
  return lifecycle::Outcome::failed;
}

/// Whether the reason of the stop decides the outcome, and not what the handler has thrown.
bool is_decided_by_stop(const HandlerEnd& end, StopReason reason) {
  const lifecycle::Outcome outcome = end.ending.outcome;
  return outcome == lifecycle::Outcome::failed ||
         (outcome == lifecycle::Outcome::snoozed && !end.is_on_record && reason == StopReason::cancelled);
}

/// The message of an attempt that failed because its task had snoozed as often as it may.
std::string too_often_text(int snoozes, milliseconds delay, const std::string& reason) {
  return "it was to snooze for " + duration_to_text(delay) + ", and the task has snoozed " + counted(snoozes, "time") +
         ", as often as its .max_snoozes allows" + (reason.empty() ? "" : ": " + reason);
}

std::string_view why_without_handler(StopReason reason) {
  switch (reason) {
    case StopReason::timeout:
      return "the handler still ran when its timeout and the stop grace were over";
    case StopReason::cancelled:
      return "the handler still ran when the stop grace after the cancellation was over";
    case StopReason::lease_lost:
      return "the worker could not renew its lease in time while the handler ran";
    case StopReason::shutdown:
    case StopReason::none:
      break;
  }
  return "the worker shut down while the handler still ran";
}

/// The end that counts.
HandlerEnd end_that_counts(HandlerEnd end, const Definition& definition, const Circumstances& circumstances) {
  const bool has_returned = end.ending.outcome == lifecycle::Outcome::succeeded;
  const std::size_t limit = circumstances.limits.max_result_bytes;
  if (has_returned && end.result_bytes > limit) {
    end = failed_with(codes::invalid_result, detail::too_long_as_json("the result", end.result_bytes, limit));
  } else if (has_returned && circumstances.completion_begun) {
    end = failed_with(codes::not_committed,
                      "the handler called complete_in and returned, but its transaction did not commit");
  } else if (has_returned && definition.completes_in_transaction) {
    end = failed_with(codes::not_committed,
                      "the handler returned without complete_in, which its .completes_in_transaction requires");
  }
  if (is_decided_by_stop(end, circumstances.stop_reason)) end.ending.outcome = outcome_after(circumstances.stop_reason);
  return end;
}

}  // namespace

HandlerEnd failed_with(const ErrorCode& code, std::string message, std::string details_json) {
  HandlerEnd end;
  end.ending.outcome = lifecycle::Outcome::failed;
  end.ending.error_code = code;
  end.ending.error_message = std::move(message);
  end.error_details_json = std::move(details_json);
  return end;
}

Report report_of(const ClaimedTask& task, const Declaration& declaration, TimePoint started_at, TimePoint finished_at,
                 HandlerEnd given, const Circumstances& circumstances, double draw) {
  HandlerEnd end = end_that_counts(std::move(given), *task.definition, circumstances);
  const lifecycle::TaskState state{lifecycle::Status::running, task.attempt, task.retry_count, task.losses,
                                   task.snoozes};
  lifecycle::Ending& ending = end.ending;
  if (end.is_on_record) ending.snooze_count = lifecycle::SnoozeCount::not_counted;
  Report report;
  report.id = task.id;
  report.attempt = task.attempt;
  report.transition = lifecycle::after_attempt(state, declaration.rules, ending, draw).value();
  // A success at the first attempt is the usual end: neither the log nor the retry metrics name it.
  if (report.transition.outcome != lifecycle::Outcome::succeeded || report.transition.retry_count > 0) {
    report.name = task.definition->name;
    report.queue = task.queue;
  }
  report.retry_policy = &declaration.rules.policy;
  report.circuit = task.definition->circuit;
  report.circuit_event = circuit_event_of(task, report.transition);
  report.started_at = started_at;
  report.finished_at = finished_at;
  const auto& next = report.transition.next_run;
  if (report.transition.is_retryable_failure) report.policy_text = declaration.policy_text;
  if (next && next->from_retry_after) report.retry_after = next->backoff;
  report.result_json = std::move(end.result_json);
  const bool snoozed_too_often =
      ending.outcome == lifecycle::Outcome::snoozed && report.transition.outcome == lifecycle::Outcome::failed;
  report.error_message = snoozed_too_often ? too_often_text(task.snoozes, ending.snooze, ending.error_message)
                                           : std::move(ending.error_message);
  if (!report.error_message.empty()) {
    report.error_message = storable_text(report.error_message, circumstances.limits.max_error_message_bytes);
  }
  report.error_details_json = std::move(end.error_details_json);
  if (circumstances.completion_begun) report.record = Record::perhaps_committed;
  if (end.is_on_record) report.record = Record::on_record;
  return report;
}

/// The handler runs on, and may call complete_in and commit at any time.
Report report_without_handler(const ClaimedTask& task, const Declaration& declaration, StopReason reason,
                              TimePoint started_at, TimePoint now, double draw) {
  HandlerEnd end;
  end.ending.outcome = reason == StopReason::none ? lifecycle::Outcome::interrupted : outcome_after(reason);
  end.ending.error_message = why_without_handler(reason);
  return report_of(task, declaration, started_at, now, std::move(end),
                   {.stop_reason = reason, .completion_begun = true}, draw);
}

Report report_not_begun(const ClaimedTask& task, const Declaration& declaration, TimePoint now) {
  HandlerEnd end;
  end.ending.outcome = lifecycle::Outcome::cancelled;
  end.ending.error_message = "cancelled before its handler began";
  return report_of(task, declaration, now, now, std::move(end), {}, 0.0);
}

}  // namespace dogged::runtime
