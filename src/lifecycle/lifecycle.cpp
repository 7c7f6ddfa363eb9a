// A task's transition when one of its attempts ends: one function an outcome.
#include "lifecycle/lifecycle.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include <dogged/detail/names.hpp>

#include "retry/custom_delay.hpp"
#include "retry/replaced_delay.hpp"

namespace dogged::lifecycle {
namespace {

/// In the order of the enum.
constexpr std::array<std::string_view, 7> status_names{"pending",   "running",   "succeeded", "failed",
                                                       "discarded", "cancelled", "expired"};

template <class Enum, std::size_t count>
std::optional<Enum> from_text(const std::array<std::string_view, count>& names, std::string_view text) noexcept {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

Status end_of_failed(const Rules& rules) noexcept { return rules.dead_letter ? Status::failed : Status::discarded; }

bool can_be_mended_by_retrying(std::string_view error_code) noexcept {
  return error_code != codes::invalid_args && error_code != codes::invalid_result &&
         error_code != codes::invalid_step && error_code != codes::snoozed_too_often;
}

/// The attempt is on record. The task ends, unless the caller gives it a next run.
Transition ended(const TaskState& task, Outcome outcome, Status status,
                 const std::optional<ErrorCode>& error_code = {}) {
  return {.status = status,
          .outcome = outcome,
          .error_code = error_code,
          .retry_count = task.retry_count,
          .losses = task.losses,
          .snoozes = task.snoozes,
          .next_run = std::nullopt,
          .is_retryable_failure = false};
}

Transition run_again(Transition transition, const NextRun& next_run) {
  transition.status = Status::pending;
  transition.next_run = next_run;
  return transition;
}

NextRun spend_retry(const RetryDelay& delay, bool from_retry_after) {
  return {delay.backoff, delay.delay, /*spends_retry=*/true, from_retry_after};
}

/// The delay by the policy, if it has another retry.
std::optional<RetryDelay> delay_of_policy(const TaskState& task, const Rules& rules, const Ending& ending,
                                          const ErrorCode& error_code, double draw) {
  if (!std::holds_alternative<Custom>(rules.policy)) return next_delay(rules.policy, task.retry_count + 1, draw);
  if (task.retry_count >= max_retries(rules.policy)) return std::nullopt;
  const auto delay = custom_delay(
      rules.delay, task.retry_count,
      {.error_code = error_code.view(), .error_message = ending.error_message, .retry_after = ending.retry_after});
  if (!delay) return std::nullopt;
  return RetryDelay{*delay, *delay};
}

/// Failed and timed out: retried while the code is retryable and the policy has a delay left.
Transition after_failure(const TaskState& task, const Rules& rules, const Ending& ending, const ErrorCode& error_code,
                         double draw) {
  Transition transition = ended(task, ending.outcome, end_of_failed(rules), error_code);
  transition.is_retryable_failure = is_retryable(rules, error_code.view());
  if (!transition.is_retryable_failure) return transition;
  const auto delay = delay_of_policy(task, rules, ending, error_code, draw);
  if (!delay) return transition;
  ++transition.retry_count;
  if (!ending.retry_after) return run_again(std::move(transition), spend_retry(*delay, false));
  return run_again(std::move(transition),
                   spend_retry(replaced_delay(*ending.retry_after, ending.precision, draw), true));
}

/// The worker died, perhaps because of this task: it runs again at once, but not for ever.
Transition after_loss(const TaskState& task, const Rules& rules) {
  Transition transition = ended(task, Outcome::lost, end_of_failed(rules), codes::worker_lost);
  ++transition.losses;
  if (!rules.retry_lost || transition.losses >= rules.max_losses) return transition;
  return run_again(std::move(transition), NextRun{});
}

/// The handler cannot go on yet: the task runs again when the handler has said, but not for ever.
Transition after_snooze(const TaskState& task, const Rules& rules, const Ending& ending) {
  const bool counts = ending.snooze_count == SnoozeCount::counted;
  if (counts && task.snoozes >= rules.max_snoozes) {
    return ended(task, Outcome::failed, end_of_failed(rules), codes::snoozed_too_often);
  }
  Transition transition = ended(task, Outcome::snoozed, Status::pending);
  if (counts) ++transition.snoozes;
  return run_again(std::move(transition), NextRun{.backoff = ending.snooze, .delay = ending.snooze});
}

/// A retry that is not made is not spent. The caller says how the task ends instead.
Transition without_next_run(Transition transition) {
  if (transition.next_run && transition.next_run->spends_retry) --transition.retry_count;
  transition.next_run.reset();
  return transition;
}

/// Ignores a requested cancellation and the task's expiry.
Transition by_outcome(const TaskState& task, const Rules& rules, const Ending& ending, double draw) {
  switch (ending.outcome) {
    case Outcome::succeeded:
      return ended(task, Outcome::succeeded, Status::succeeded);
    case Outcome::failed:
      return after_failure(task, rules, ending, ending.error_code.value_or(codes::unhandled_exception), draw);
    case Outcome::timed_out:
      return after_failure(task, rules, ending, codes::timeout, draw);
    case Outcome::cancelled:
      return ended(task, Outcome::cancelled, Status::cancelled, codes::cancelled);
    case Outcome::lost:
      return after_loss(task, rules);
    case Outcome::interrupted:  // the worker caused it, not the task: nothing is counted against the task
      return run_again(ended(task, Outcome::interrupted, Status::pending), NextRun{});
    case Outcome::snoozed:
      return after_snooze(task, rules, ending);
  }
  throw std::logic_error("an outcome that is none");
}

}  // namespace

std::string_view to_text(Status status) noexcept { return status_names[static_cast<std::size_t>(status)]; }

std::optional<Status> status_from_text(std::string_view text) noexcept { return from_text<Status>(status_names, text); }

std::optional<Outcome> outcome_from_text(std::string_view text) noexcept {
  return from_text<Outcome>(detail::outcome_texts, text);
}

bool is_retryable(const Rules& rules, std::string_view error_code) noexcept {
  if (!can_be_mended_by_retrying(error_code)) return false;
  return std::any_of(rules.auto_retry_for.begin(), rules.auto_retry_for.end(),
                     [error_code](std::string_view listed) { return listed == error_code || listed == codes::any; });
}

Transition under_cancel(Transition decided) {
  if (decided.status == Status::succeeded || decided.status == Status::cancelled) return decided;
  decided = without_next_run(std::move(decided));
  decided.status = Status::cancelled;
  if (decided.outcome == Outcome::lost) return decided;  // the outcome of a lost attempt stays
  if (decided.outcome == Outcome::snoozed) --decided.snoozes;
  decided.outcome = Outcome::cancelled;
  decided.error_code = codes::cancelled;
  decided.is_retryable_failure = false;
  return decided;
}

Transition under_expiry(Transition decided) {
  if (!decided.next_run) return decided;
  decided = without_next_run(std::move(decided));
  decided.status = Status::expired;
  return decided;
}

std::optional<Transition> after_attempt(const TaskState& task, const Rules& rules, const Ending& ending, double draw) {
  if (task.status != Status::running) return std::nullopt;
  Transition decided = by_outcome(task, rules, ending, draw);
  if (task.cancel_requested) return under_cancel(std::move(decided));
  if (decided.next_run && task.expires_in && decided.next_run->delay > *task.expires_in) {
    return under_expiry(std::move(decided));
  }
  return decided;  // moved, which the other branch of a conditional expression would not be
}

}  // namespace dogged::lifecycle
