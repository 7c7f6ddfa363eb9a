// See completion.hpp.
#include "report/completion.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

namespace dogged::runtime {
namespace {

std::optional<std::string> given(const std::string& text) { return text.empty() ? std::nullopt : std::optional{text}; }

/// Whether the attempt has succeeded, and there is nothing else to record.
bool is_plain_success(const Report& report) {
  return report.transition.outcome == lifecycle::Outcome::succeeded && report.result_json.empty();
}

std::chrono::microseconds between(SteadyClock::time_point time, SteadyClock::time_point now) {
  return std::chrono::duration_cast<std::chrono::microseconds>(now - time);
}

template <class Value>
using Optionals = std::vector<std::optional<Value>>;

/// Empty if no report has a value.
template <class Value>
void add_values(db::Params& params, const Optionals<Value>& values) {
  const auto has_value = [](const std::optional<Value>& value) { return value.has_value(); };
  if (std::any_of(values.begin(), values.end(), has_value)) {
    params.add(values);
  } else {
    params.add(Optionals<Value>{});
  }
}

/// What every report records.
struct Attempts {
  std::vector<std::int64_t> ids, attempts, started_us_ago, finished_us_ago;

  void add(const Report& report, SteadyClock::time_point now) {
    ids.push_back(report.id);
    attempts.push_back(report.attempt);
    started_us_ago.push_back(between(report.started_at, now).count());
    finished_us_ago.push_back(between(report.finished_at, now).count());
  }

  void add_to(db::Params& params) const { params.add(ids).add(attempts).add(started_us_ago).add(finished_us_ago); }
};

/// What a failure records, whether or not the task runs again.
struct Failures {
  Optionals<std::string> codes, messages, details, policies;

  void add(const Report& report) {
    const lifecycle::Transition& to = report.transition;
    codes.push_back(to.error_code ? std::optional{to.error_code->str()} : std::nullopt);
    messages.push_back(given(report.error_message));
    details.push_back(given(report.error_details_json));
    policies.push_back(given(report.policy));
  }

  void add_to(db::Params& params) const {
    for (const auto* texts : {&codes, &messages, &details, &policies}) add_values(params, *texts);
  }
};

std::optional<std::int64_t> retry_after_ms(const Report& report) {
  return report.retry_after ? std::optional{std::int64_t{report.retry_after->count()}} : std::nullopt;
}

/// Reports of attempts that have ended their task.
struct Ended {
  Attempts attempts;
  std::vector<std::int64_t> positions, retry_counts, losses;
  std::vector<std::string> statuses, outcomes;
  Optionals<std::string> results;
  Failures failures;
  Optionals<std::int64_t> retry_afters_ms;

  void add(const Report& report, SteadyClock::time_point now) {
    attempts.add(report, now);
    if (is_plain_success(report)) return;
    const lifecycle::Transition& to = report.transition;
    positions.push_back(static_cast<std::int64_t>(attempts.ids.size()));
    statuses.emplace_back(lifecycle::to_text(to.status));
    outcomes.emplace_back(lifecycle::to_text(to.outcome));
    retry_counts.push_back(to.retry_count);
    losses.push_back(to.losses);
    results.push_back(given(report.result_json));
    failures.add(report);
    retry_afters_ms.push_back(retry_after_ms(report));
  }

  void add_to(db::Params& params) const {
    attempts.add_to(params);
    params.add(positions).add(statuses).add(outcomes).add(retry_counts).add(losses);
    add_values(params, results);
    failures.add_to(params);
    add_values(params, retry_afters_ms);
  }
};

/// Reports of attempts after which the task runs again.
struct Retried {
  Attempts attempts;
  std::vector<std::string> outcomes;
  std::vector<std::int64_t> retry_counts, losses, backoffs_ms, delays_ms;
  Failures failures;
  Optionals<std::int64_t> retry_afters_ms;

  void add(const Report& report, SteadyClock::time_point now) {
    const lifecycle::Transition& to = report.transition;
    attempts.add(report, now);
    outcomes.emplace_back(lifecycle::to_text(to.outcome));
    retry_counts.push_back(to.retry_count);
    losses.push_back(to.losses);
    failures.add(report);
    backoffs_ms.push_back(to.next_run->backoff.count());
    delays_ms.push_back(to.next_run->delay.count());
    retry_afters_ms.push_back(retry_after_ms(report));
  }

  void add_to(db::Params& params) const {
    attempts.add_to(params);
    params.add(outcomes).add(retry_counts).add(losses);
    failures.add_to(params);
    params.add(backoffs_ms).add(delays_ms);
    add_values(params, retry_afters_ms);
  }
};

}  // namespace

db::Params completion_params(std::int64_t worker_id, std::span<const Report> reports, SteadyClock::time_point now) {
  std::vector<const Report*> in_order;
  for (const Report& report : reports) in_order.push_back(&report);
  std::sort(in_order.begin(), in_order.end(), [](const Report* a, const Report* b) { return a->id < b->id; });
  Ended ended;
  Retried retried;
  for (const Report* report : in_order) {
    if (report->transition.will_retry()) {
      retried.add(*report, now);
    } else {
      ended.add(*report, now);
    }
  }
  db::Params params;
  params.add(worker_id);
  ended.add_to(params);
  retried.add_to(params);
  return params;
}

}  // namespace dogged::runtime
