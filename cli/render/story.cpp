// The meaning of a task's history, in words.
#include "cli/render/story.hpp"

#include <dogged/detail/names.hpp>
#include <dogged/error.hpp>

#include "lifecycle/lifecycle.hpp"

namespace dogged::cli {
namespace {

using lifecycle::Outcome;
using lifecycle::Status;

constexpr std::size_t most_of_a_reason = 4096;

std::string times(int count) { return count == 1 ? "once" : std::to_string(count) + " times"; }

std::string why_lost(const TaskHistory& history) {
  const std::string lost = "it was lost with its worker " + times(history.task.losses);
  if (!history.definition) return lost;
  if (!history.definition->retry_lost) return lost + ", and its definition says retry_lost = false";
  return lost + "; the limit (max_losses) is " + std::to_string(history.definition->max_losses);
}

bool last_failure_spent_retry(const TaskHistory& history) {
  if (history.attempts.empty()) return false;
  const Outcome last = history.attempts.back().outcome;
  return last == Outcome::failed || last == Outcome::timed_out;
}

/// With its day where that is another than the day of `context`.
std::string moment_text(Time time, Time context, Zone zone) {
  const bool same_day = date_text(time, zone) == date_text(context, zone);
  return same_day ? clock_text(time, zone) : date_and_clock_text(time, zone);
}

/// The present definition may name another timeout than the attempt had.
std::string timeout_text(const TaskHistory& history, const AttemptView& attempt) {
  const auto timeout_ms = history.definition ? history.definition->timeout_ms : std::nullopt;
  if (!timeout_ms || milliseconds{*timeout_ms} > attempt.finished_at - attempt.started_at) return "its timeout";
  return "its timeout of " + readable(milliseconds{*timeout_ms});
}

std::string why_not_retryable(const DefinitionView& definition, const std::string& code) {
  if (code == codes::invalid_args) return "INVALID_ARGS is never retried: the same args would fail again";
  if (code == codes::invalid_result) return "INVALID_RESULT is never retried: the handler did its work";
  if (code == codes::invalid_step) return "INVALID_STEP is never retried: its handler would break the rule again";
  if (code == codes::snoozed_too_often) {
    return "the limit of snoozes (max_snoozes) is " + std::to_string(definition.max_snoozes) +
           ", and SNOOZED_TOO_OFTEN is never retried";
  }
  if (definition.auto_retry_for.empty()) return code + " is not retried: auto_retry_for is empty";
  return code + " is not in auto_retry_for";
}

/// The policy that decided last.
std::optional<std::string> applied_policy(const TaskHistory& history) {
  for (auto attempt = history.attempts.rbegin(); attempt != history.attempts.rend(); ++attempt) {
    if (attempt->policy) return attempt->policy;
  }
  return std::nullopt;
}

}  // namespace

std::string policy_of(const TaskHistory& history) {
  if (history.definition) return policy_to_text(history.definition->policy);
  return applied_policy(history).value_or("");
}

std::optional<int> max_retries_of(const TaskHistory& history) {
  try {
    if (const auto applied = applied_policy(history)) return max_retries(policy_from_text(*applied));
  } catch (const InvalidPolicy&) {  // written by another version
  }
  if (history.definition) return max_retries(history.definition->policy);
  return std::nullopt;
}

std::string_view to_text(WaitKind kind) {
  switch (kind) {
    case WaitKind::sleep:
      return "sleep";
    case WaitKind::event:
      return "event";
    case WaitKind::snooze:
      return "snooze";
  }
  return "";
}

std::optional<WaitKind> wait_kind_from_text(std::string_view text) {
  for (const WaitKind kind : {WaitKind::sleep, WaitKind::event, WaitKind::snooze}) {
    if (to_text(kind) == text) return kind;
  }
  return std::nullopt;
}

std::string wait_text(const TaskView& task) {
  if (!task.wait) return {};
  switch (task.wait->kind) {
    case WaitKind::sleep:
      return "sleeps (" + task.wait->name.value_or("") + ")";
    case WaitKind::event:
      return "waits for the event " + task.wait->name.value_or("");
    case WaitKind::snooze:
      return "snoozes";
  }
  return {};
}

bool waits_for_retry(const TaskHistory& history) {
  return history.task.status == Status::pending && last_failure_spent_retry(history) &&
         history.attempts.back().will_retry;  // else it is a dead letter that was replayed
}

std::string retry_text(const TaskHistory& history, int retry) {
  std::string text = "retry " + std::to_string(retry);
  if (const auto most = max_retries_of(history); most && retry <= *most) text += " of " + std::to_string(*most);
  return text;
}

std::string why_it_failed(const TaskHistory& history) {
  if (!has_failed(history.task) || history.attempts.empty()) return {};
  const AttemptView& last = history.attempts.back();
  if (last.outcome == Outcome::lost) return why_lost(history);
  if (!history.definition) return "no worker has declared this task, so its rules are not known";
  const DefinitionView& definition = *history.definition;
  const std::string code = last.error_code.value_or(std::string{codes::unhandled_exception});
  const lifecycle::Rules rules{.policy = definition.policy, .auto_retry_for = definition.auto_retry_for};
  if (!lifecycle::is_retryable(rules, code)) return why_not_retryable(definition, code);
  const int most = max_retries_of(history).value_or(0);
  if (most == 0) return code + " is in auto_retry_for, but the policy is none";
  if (history.task.retry_count >= most) {
    return most == 1 ? "its one retry is spent" : "all " + std::to_string(most) + " retries are spent";
  }
  return "its definition was changed after it ended: by today's, it would be retried";
}

std::string how_it_was_cancelled(const TaskHistory& history) {
  if (history.task.status != Status::cancelled) return {};
  if (history.attempts.empty()) return "before its first attempt";
  const AttemptView& last = history.attempts.back();
  const std::string ran = "while attempt " + std::to_string(last.attempt) + " ran";
  if (last.outcome == Outcome::cancelled) return ran;
  if (last.outcome == Outcome::lost && !last.will_retry) return ran + ", which was lost with its worker";
  const bool waited_for_retry = last.will_retry && last_failure_spent_retry(history);
  return "while it waited for " +
         (waited_for_retry ? retry_text(history, history.task.retry_count) : "its next attempt");
}

std::string pause_text(const TaskView& task, Zone zone) {
  if (!task.is_queue_paused) return {};
  if (task.queue_paused_until) {
    return "its queue is paused until " + moment_text(*task.queue_paused_until, task.now, zone);
  }
  return "its queue is paused until somebody resumes it (dogged queues resume " + task.queue + ")";
}

std::string why_it_waits(const TaskHistory& history, Zone zone) {
  if (history.task.is_queue_paused) return pause_text(history.task, zone);
  if (history.is_served) return "no worker has taken it yet";
  if (!history.known_args_version) return "no running worker serves it";
  return "its args are of version " + std::to_string(history.task.args_version) +
         ", and the running workers that serve it know version " + std::to_string(*history.known_args_version);
}

bool waits_for_rescue(const TaskHistory& history) {
  return history.task.status == Status::running && history.lease_until && *history.lease_until <= history.task.now;
}

std::string why_it_was_cut_short(const TaskHistory& history, const AttemptView& attempt, Zone zone) {
  const auto at = [&](Time time) { return " at " + moment_text(time, attempt.finished_at, zone); };
  switch (attempt.outcome) {
    case Outcome::lost:
      return attempt.worker + " was lost: its lease ended" +
             (attempt.lease_ended_at ? at(*attempt.lease_ended_at) : "");
    case Outcome::timed_out:
      return "it did not end within " + timeout_text(history, attempt);
    case Outcome::cancelled:
      return "it was asked to stop: the task was cancelled" +
             (history.task.cancel_requested_at ? at(*history.task.cancel_requested_at) : "");
    case Outcome::interrupted:
      return attempt.worker + " shut down, or lost its lease, before it ended: no retry is spent";
    case Outcome::snoozed:
      return attempt.error_message.value_or("").substr(0, most_of_a_reason);
    case Outcome::succeeded:
    case Outcome::failed:
      break;
  }
  return {};
}

microseconds time_running(const TaskHistory& history) {
  microseconds total{0};
  for (const AttemptView& attempt : history.attempts) total += attempt.finished_at - attempt.started_at;
  return total;
}

}  // namespace dogged::cli
