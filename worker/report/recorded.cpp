// See recorded.hpp.
#include "report/recorded.hpp"

#include <string>
#include <string_view>

#include <dogged/policy.hpp>
#include <dogged/retry_metrics.hpp>

#include "text/event_line.hpp"

namespace dogged::runtime {
namespace {

using lifecycle::Outcome;
using lifecycle::Status;

bool is_failure(const lifecycle::Transition& to) {
  return to.outcome == Outcome::failed || to.outcome == Outcome::timed_out || to.outcome == Outcome::lost;
}

bool has_failed_for_good(const lifecycle::Transition& to) {
  return to.status == Status::failed || to.status == Status::discarded || to.status == Status::expired;
}

bool spends_retry(const lifecycle::Transition& to) { return to.next_run && to.next_run->spends_retry; }

EndedAttempt ended(const Report& report) {
  const bool has_spent_one = spends_retry(report.transition);
  EndedAttempt attempt{.source = {RetrySource::Kind::task, report.name}, .policy = *report.retry_policy};
  attempt.retry = report.transition.retry_count - (has_spent_one ? 1 : 0);
  if (report.transition.outcome != Outcome::lost) {  // its worker knew how long it ran, and its own trace
    attempt.ran = report.finished_at - report.started_at;
    attempt.trace = report.trace ? &*report.trace : nullptr;
  }
  return attempt;
}

void count(const Report& report) {
  RetryMetrics& metrics = retry_metrics();
  const lifecycle::Transition& to = report.transition;
  if (to.outcome == Outcome::succeeded && to.retry_count == 0) return;
  const EndedAttempt attempt = ended(report);
  if (to.outcome == Outcome::succeeded) metrics.succeeded(attempt);
  if (is_failure(to)) metrics.failed(attempt, to.code(), to.is_retryable_failure || to.outcome == Outcome::lost);
  if (spends_retry(to)) {
    metrics.retry_scheduled(attempt.source, attempt.policy, to.retry_count, to.next_run->delay, attempt.trace);
  }
  if (to.status == Status::failed) metrics.dead_lettered(report.queue, report.name, to.code());
}

std::string_view event_of_failed(const Report& report) {
  if (report.transition.status == Status::expired) return "expired";
  return report.transition.is_retryable_failure && max_retries(*report.retry_policy) > 0 ? "gave_up" : "not_retried";
}

LogfmtLine line_of(std::string_view event, const Report& report) {
  LogfmtLine line = event_line(event);
  line.with("task", report.id).with("name", report.name).with("queue", report.queue).with("attempt", report.attempt);
  const std::string code{report.transition.code()};
  if (!code.empty()) line.with("error", code);
  if (report.trace) line.with("trace", report.trace->trace_id_text());
  return line;
}

LogfmtLine snooze_line(const Report& report) {
  return line_of("snoozed", report)
      .with("snoozes", report.transition.snoozes)
      .with("delay_ms", report.transition.next_run->delay.count());
}

LogfmtLine retry_line(const Report& report) {
  const lifecycle::Transition& to = report.transition;
  return line_of("retry", report)
      .with("retry", to.retry_count)
      .with("max_retries", max_retries(*report.retry_policy))
      .with("delay_ms", to.next_run->delay.count());
}

}  // namespace

void note_recorded(const Report& report, const AttemptLog& log) {
  count(report);
  const lifecycle::Transition& to = report.transition;
  if (spends_retry(to)) {
    if (!log.log->should_log(log.retries_at)) return;
    log.log->log(log.retries_at, retry_line(report).with_message(report.error_message).text());
  } else if (to.outcome == Outcome::snoozed && to.next_run) {
    if (!log.log->should_log(log.retries_at)) return;
    log.log->log(log.retries_at, snooze_line(report).with_message(report.error_message).text());
  } else if (has_failed_for_good(to)) {
    log.log->warn(line_of(event_of_failed(report), report)
                      .with("retries", to.retry_count)
                      .with("status", lifecycle::to_text(to.status))
                      .with_message(report.error_message)
                      .text());
  } else if (to.outcome == Outcome::succeeded && to.retry_count > 0 && log.log->should_log(log.retries_at)) {
    log.log->log(log.retries_at, line_of("succeeded", report).with("retries", to.retry_count).text());
  }
}

}  // namespace dogged::runtime
