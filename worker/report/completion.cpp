// See completion.hpp.
#include "report/completion.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dogged::runtime {
namespace {

std::optional<std::string> given(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional{std::string{text}};
}

/// Whether the attempt has succeeded, and there is nothing else to record.
bool is_plain_success(const Report& report) {
  return report.transition.outcome == lifecycle::Outcome::succeeded && report.result_json.empty();
}

std::chrono::microseconds between(SteadyClock::time_point time, SteadyClock::time_point now) {
  return std::chrono::duration_cast<std::chrono::microseconds>(now - time);
}

std::optional<std::int64_t> retry_after_ms(const Report& report) {
  return report.retry_after ? std::optional{std::int64_t{report.retry_after->count()}} : std::nullopt;
}

std::optional<std::string> code_of(const Report& report) {
  const auto& code = report.transition.error_code;
  return code ? std::optional{code->str()} : std::nullopt;
}

/// Nothing where the task keeps the number that it has.
std::optional<std::int64_t> snoozes_of(const lifecycle::Transition& to) {
  return to.outcome == lifecycle::Outcome::snoozed ? std::optional{std::int64_t{to.snoozes}} : std::nullopt;
}

/// The trace that goes on record with the attempt, in a line of its own.
void add_own_trace(std::string& lines, const Report& report) {
  if (report.is_trace_of_its_own) lines += report.trace->to_text();
  lines += '\n';
}

/// For a report of an attempt that has ended its task.
void add_ended(sql::Complete& batch, const Report& report, SteadyClock::time_point now) {
  batch.ended_ids.push_back(report.id);
  batch.ended_attempts.push_back(report.attempt);
  batch.ended_started_us_ago.push_back(between(report.started_at, now).count());
  batch.ended_finished_us_ago.push_back(between(report.finished_at, now).count());
  add_own_trace(batch.ended_traces, report);
  if (is_plain_success(report)) return;
  const lifecycle::Transition& to = report.transition;
  batch.positions.push_back(static_cast<std::int64_t>(batch.ended_ids.size()));
  batch.statuses.emplace_back(lifecycle::to_text(to.status));
  batch.outcomes.emplace_back(lifecycle::to_text(to.outcome));
  batch.retry_counts.push_back(to.retry_count);
  batch.losses.push_back(to.losses);
  batch.snoozes.push_back(snoozes_of(to));
  batch.results.push_back(given(report.result_json));
  batch.error_codes.push_back(code_of(report));
  batch.error_messages.push_back(given(report.error_message));
  batch.error_details.push_back(given(report.error_details_json));
  batch.policies.push_back(given(report.policy_text));
  batch.retry_afters_ms.push_back(retry_after_ms(report));
}

/// For a report of an attempt after which the task runs again.
void add_retried(sql::Complete& batch, const Report& report, SteadyClock::time_point now) {
  const lifecycle::Transition& to = report.transition;
  batch.retried_ids.push_back(report.id);
  batch.retried_attempts.push_back(report.attempt);
  batch.retried_started_us_ago.push_back(between(report.started_at, now).count());
  batch.retried_finished_us_ago.push_back(between(report.finished_at, now).count());
  batch.retried_outcomes.emplace_back(lifecycle::to_text(to.outcome));
  batch.retried_retry_counts.push_back(to.retry_count);
  batch.retried_losses.push_back(to.losses);
  batch.retried_snoozes.push_back(snoozes_of(to));
  batch.retried_error_codes.push_back(code_of(report));
  batch.retried_error_messages.push_back(given(report.error_message));
  batch.retried_error_details.push_back(given(report.error_details_json));
  batch.retried_policies.push_back(given(report.policy_text));
  batch.backoffs_ms.push_back(to.next_run->backoff.count());
  batch.delays_ms.push_back(to.next_run->delay.count());
  batch.retried_retry_afters_ms.push_back(retry_after_ms(report));
  add_own_trace(batch.retried_traces, report);
}

/// The text ends behind its last line, and is empty if no line has a trace (see complete.sql).
void finish_traces(std::string& lines) {
  if (lines.find_first_not_of('\n') == std::string::npos) {
    lines.clear();
  } else {
    lines.pop_back();
  }
}

/// An array of only nulls is sent empty (see complete.sql).
template <class... Optionals>
void clear_if_null(Optionals&... arrays) {
  const auto clear = [](auto& values) {
    if (std::none_of(values.begin(), values.end(), [](const auto& value) { return value.has_value(); })) values.clear();
  };
  (clear(arrays), ...);
}

}  // namespace

sql::Complete completion_of(std::int64_t worker_id, std::span<const Report> reports, SteadyClock::time_point now) {
  std::vector<const Report*> in_order;
  for (const Report& report : reports) in_order.push_back(&report);
  std::sort(in_order.begin(), in_order.end(), [](const Report* a, const Report* b) { return a->id < b->id; });
  sql::Complete batch{};
  batch.worker_id = worker_id;
  for (const Report* report : in_order) {
    (report->transition.will_retry() ? add_retried : add_ended)(batch, *report, now);
  }
  finish_traces(batch.ended_traces);
  finish_traces(batch.retried_traces);
  clear_if_null(batch.snoozes, batch.retried_snoozes, batch.results, batch.error_codes, batch.error_messages,
                batch.error_details, batch.policies, batch.retry_afters_ms, batch.retried_error_codes,
                batch.retried_error_messages, batch.retried_error_details, batch.retried_policies,
                batch.retried_retry_afters_ms);
  return batch;
}

}  // namespace dogged::runtime
