// See completion.hpp.
#include "completion.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

namespace dogged::runtime {
namespace {

std::optional<std::string> given(const std::string& text) { return text.empty() ? std::nullopt : std::optional{text}; }

/// Whether there is nothing to say but that the attempt has succeeded, and when.
bool is_plain_success(const Report& report) {
  return report.transition.outcome == lifecycle::Outcome::succeeded && report.result_json.empty();
}

/// What the others have.
struct Details {
  std::vector<std::int64_t> positions, retry_counts, losses;
  std::vector<std::string> statuses, outcomes;
  std::vector<std::optional<std::string>> results, codes, messages, details, policies;
  std::vector<std::optional<std::int64_t>> backoffs_ms, delays_ms, retry_afters_ms;

  void add(std::size_t position, const Report& report) {
    const lifecycle::Transition& to = report.transition;
    positions.push_back(static_cast<std::int64_t>(position));
    statuses.emplace_back(lifecycle::to_text(to.status));
    outcomes.emplace_back(lifecycle::to_text(to.outcome));
    retry_counts.push_back(to.retry_count);
    losses.push_back(to.losses);
    results.push_back(given(report.result_json));
    codes.push_back(to.error_code ? std::optional{to.error_code->str()} : std::nullopt);
    messages.push_back(given(report.error_message));
    details.push_back(given(report.error_details_json));
    policies.push_back(given(report.policy));
    backoffs_ms.push_back(to.next_run ? std::optional{std::int64_t{to.next_run->backoff.count()}} : std::nullopt);
    delays_ms.push_back(to.next_run ? std::optional{std::int64_t{to.next_run->delay.count()}} : std::nullopt);
    retry_afters_ms.push_back(report.retry_after ? std::optional{std::int64_t{report.retry_after->count()}}
                                                 : std::nullopt);
  }

  void add_to(db::Params& params) const {
    params.add(positions).add(statuses).add(outcomes).add(retry_counts).add(losses);
    params.add(results).add(codes).add(messages).add(details).add(policies);
    params.add(backoffs_ms).add(delays_ms).add(retry_afters_ms);
  }
};

std::chrono::microseconds between(SteadyClock::time_point time, SteadyClock::time_point now) {
  return std::chrono::duration_cast<std::chrono::microseconds>(now - time);
}

}  // namespace

db::Params completion_params(std::int64_t worker_id, const std::vector<Report>& reports, SteadyClock::time_point now) {
  const auto microseconds_ago = [now](SteadyClock::time_point time) {
    return std::int64_t{between(time, now).count()};
  };
  std::vector<const Report*> in_order;
  for (const Report& report : reports) in_order.push_back(&report);
  std::sort(in_order.begin(), in_order.end(), [](const Report* a, const Report* b) { return a->id < b->id; });
  std::vector<std::int64_t> ids, attempts, started_us_ago, finished_us_ago;
  Details rest;
  for (const Report* report : in_order) {
    ids.push_back(report->id);
    attempts.push_back(report->attempt);
    started_us_ago.push_back(microseconds_ago(report->started_at));
    finished_us_ago.push_back(microseconds_ago(report->finished_at));
    if (!is_plain_success(*report)) rest.add(ids.size(), *report);
  }
  db::Params params;
  params.add(worker_id).add(ids).add(attempts).add(started_us_ago).add(finished_us_ago);
  rest.add_to(params);
  return params;
}

std::chrono::microseconds until_next_run(const Report& report, SteadyClock::time_point now) {
  return report.transition.next_run->delay - between(report.finished_at, now);
}

}  // namespace dogged::runtime
