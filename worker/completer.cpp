// See completer.hpp.
#include "completer.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_set>
#include <utility>

#include "sql_statements.hpp"

namespace dogged::runtime {
namespace {

constexpr std::size_t max_batch = 1000;
constexpr std::size_t max_batch_bytes = 16u << 20;  // of what handlers gave; PostgreSQL takes less than 1 GB at once

std::optional<std::string> given(const std::string& text) { return text.empty() ? std::nullopt : std::optional{text}; }

/// Whether a report carries what the handler gave, which PostgreSQL might refuse.
bool has_extras(const Report& report) {
  return !report.result_json.empty() || !report.error_message.empty() || !report.error_details_json.empty();
}

std::size_t bytes_of(const Report& report) {
  return report.result_json.size() + report.error_message.size() + report.error_details_json.size();
}

/// How many of `waiting` go into the next batch: at least one.
std::size_t batch_size(const std::vector<Report>& waiting) {
  std::size_t bytes = 0;
  std::size_t count = 0;
  while (count < std::min(waiting.size(), max_batch)) {
    bytes += bytes_of(waiting[count]);
    if (count > 0 && bytes > max_batch_bytes) break;
    ++count;
  }
  return count;
}

/// The parameters of complete.sql: a column of each field of the reports. Times are sent as how long ago they were when
/// the statement goes out, so that what it says is never earlier than what was.
db::Params completion_params(std::int64_t worker_id, const std::vector<Report>& reports) {
  const auto now = SteadyClock::now();
  const auto microseconds_ago = [now](SteadyClock::time_point time) {
    return std::int64_t{std::chrono::duration_cast<std::chrono::microseconds>(now - time).count()};
  };
  std::vector<std::int64_t> ids, attempts, retry_counts, losses, started_us_ago, finished_us_ago;
  std::vector<std::string> statuses, outcomes;
  std::vector<std::optional<std::string>> results, codes, messages, details, policies;
  std::vector<std::optional<std::int64_t>> backoffs_ms, delays_ms, retry_afters_ms;
  for (const Report& report : reports) {
    const lifecycle::Transition& to = report.transition;
    ids.push_back(report.id);
    attempts.push_back(report.attempt);
    statuses.emplace_back(lifecycle::to_text(to.status));
    outcomes.emplace_back(lifecycle::to_text(to.outcome));
    retry_counts.push_back(to.retry_count);
    losses.push_back(to.losses);
    started_us_ago.push_back(microseconds_ago(report.started_at));
    finished_us_ago.push_back(microseconds_ago(report.finished_at));
    results.push_back(given(report.result_json));
    codes.push_back(given(to.error_code));
    messages.push_back(given(report.error_message));
    details.push_back(given(report.error_details_json));
    policies.push_back(given(report.policy));
    backoffs_ms.push_back(to.next_run ? std::optional{std::int64_t{to.next_run->backoff.count()}} : std::nullopt);
    delays_ms.push_back(to.next_run ? std::optional{std::int64_t{to.next_run->delay.count()}} : std::nullopt);
    retry_afters_ms.push_back(report.retry_after ? std::optional{std::int64_t{report.retry_after->count()}}
                                                 : std::nullopt);
  }
  db::Params params;
  params.add(worker_id).add(ids).add(attempts).add(statuses).add(outcomes).add(retry_counts).add(losses);
  params.add(started_us_ago).add(finished_us_ago).add(results).add(codes).add(messages).add(details).add(policies);
  params.add(backoffs_ms).add(delays_ms).add(retry_afters_ms);
  return params;
}

}  // namespace

Completer::Completer(Session session, std::int64_t worker_id, Callbacks callbacks, std::shared_ptr<spdlog::logger> log)
    : session_(std::move(session)), worker_id_(worker_id), callbacks_(std::move(callbacks)), log_(std::move(log)) {
  thread_.start([this] { run(); });
}

Completer::~Completer() { finish(SteadyClock::now()); }

void Completer::add(Report report) {
  {
    const std::scoped_lock lock{mutex_};
    waiting_.push_back(std::move(report));
  }
  changed_.notify_all();
}

std::size_t Completer::backlog() const {
  const std::scoped_lock lock{mutex_};
  return waiting_.size() + in_flight_.size();
}

std::vector<TaskId> Completer::held() const {
  const std::scoped_lock lock{mutex_};
  std::vector<TaskId> ids;
  for (const auto* reports : {&waiting_, &in_flight_}) {
    for (const Report& report : *reports) ids.push_back(report.id);
  }
  return ids;
}

bool Completer::wait_written(SteadyClock::time_point until) {
  std::unique_lock lock{mutex_};
  return changed_.wait_until(lock, until, [&] { return waiting_.empty() && in_flight_.empty(); });
}

std::size_t Completer::finish(SteadyClock::time_point until) {
  if (!thread_.is_joinable()) return 0;
  (void)wait_written(until);
  {
    const std::scoped_lock lock{mutex_};
    finishing_ = true;
  }
  changed_.notify_all();
  stop_.request_stop();
  thread_.join(session_, milliseconds{100});
  const std::scoped_lock lock{mutex_};
  return waiting_.size() + in_flight_.size();
}

void Completer::run() {
  std::unique_lock lock{mutex_};
  while (true) {
    changed_.wait(lock, [&] { return finishing_ || !waiting_.empty(); });
    if (finishing_) return;
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(batch_size(waiting_));
    in_flight_.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    lock.unlock();
    const bool written = write(in_flight_);
    lock.lock();
    if (!written) return;  // finish() gave up: what is in flight stays counted
    in_flight_.clear();
    changed_.notify_all();
    lock.unlock();
    callbacks_.on_room();
    lock.lock();
  }
}

/// Writes until it worked; false if finish() gave up before.
bool Completer::write(const std::vector<Report>& reports) {
  const std::stop_token stop = stop_.get_token();
  while (true) {
    try {
      send(reports);
      session_.succeeded();
      outcome_in_doubt_ = false;
      return true;
    } catch (const ConnectionError& error) {
      outcome_in_doubt_ = true;
      session_.recover_from(error, stop);
    } catch (const InvalidInput& error) {
      if (reports.size() > 1 || has_extras(reports.front())) return write_apart(reports, error);
      session_.recover_from(error, stop);  // it is not the report's doing
    } catch (const std::exception& error) {
      session_.recover_from(error, stop);
    }
    if (stop.stop_requested()) return false;
  }
}

/// PostgreSQL refuses something in the batch: halves it until the report is found, and writes that one
/// without what the handler gave (message, details, result), so that it cannot hold up the others.
bool Completer::write_apart(const std::vector<Report>& reports, const InvalidInput& reason) {
  if (reports.size() > 1) {
    const auto middle = reports.begin() + static_cast<std::ptrdiff_t>(reports.size() / 2);
    return write({reports.begin(), middle}) && write({middle, reports.end()});
  }
  Report bare = reports.front();
  log_->error("task {} attempt {}: PostgreSQL refuses its result, message or details ({}); they are left out", bare.id,
              bare.attempt, reason.message());
  const bool has_more_than_message = !bare.result_json.empty() || !bare.error_details_json.empty();
  bare.result_json.clear();
  bare.error_details_json.clear();
  bare.error_message = has_more_than_message ? "left out, because PostgreSQL refused it: " + reason.message() : "";
  return write({bare});
}

void Completer::send(const std::vector<Report>& reports) {
  const db::Rows taken = session_.connection().run(sql::complete, completion_params(worker_id_, reports));
  std::unordered_set<TaskId> taken_ids;
  for (const db::Row& row : taken) taken_ids.insert(row.number("id"));
  for (const Report& report : reports) {
    // Also where an earlier send was not answered and this one found nothing left to do: a needless look is harmless.
    if (report.transition.next_run) callbacks_.on_retry(report.transition.next_run->delay);
    if (taken_ids.contains(report.id) || outcome_in_doubt_) continue;
    log_->warn("task {} attempt {}: worker {} does not hold it any more; its report changed nothing", report.id,
               report.attempt, worker_id_);
  }
}

}  // namespace dogged::runtime
