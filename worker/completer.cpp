// See completer.hpp.
#include "completer.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>

#include "attempt.hpp"
#include "completion.hpp"
#include "recorded.hpp"
#include "sql_statements.hpp"
#include "who_holds.hpp"

namespace dogged::runtime {
namespace {

constexpr std::size_t max_batch = 1000;
constexpr std::size_t max_batch_bytes = 16u << 20;  // of what handlers gave; PostgreSQL takes less than 1 GB at once

constexpr milliseconds resend_while_locked{10};  // before a report is sent again whose task's row is locked
constexpr milliseconds while_circuit_locked{50};

/// Whether the attempt was ended by somebody else than its handler.
bool is_of_another(const db::Row& row) { return row.maybe_text("outcome") != "succeeded"; }

/// Whether a report carries what the handler gave, which PostgreSQL might refuse.
bool has_extras(const Report& report) {
  return !report.result_json.empty() || !report.error_message.empty() || !report.error_details_json.empty();
}

/// Whether the task would expire before its retry, by the answer of who_holds.sql to what was sent at `now`. As in
/// complete.sql no attempt has ended before its claim, also where the server's clock was set back since.
bool is_too_late(const Report& report, const db::Row& row, SteadyClock::time_point now) {
  const auto expires_in_us = row.maybe_number("expires_in_us");
  if (!report.transition.next_run || !expires_in_us) return false;
  const std::chrono::microseconds delay = report.transition.next_run->delay;
  return until_next_run(report, now).count() > *expires_in_us || delay.count() > row.number("expires_after_claim_us");
}

std::size_t bytes_of(const Report& report) {
  return report.result_json.size() + report.error_message.size() + report.error_details_json.size();
}

/// What the attempt has come to whose handler's own transaction was committed after all.
Report as_committed(const Report& report) {
  Report committed = report;
  lifecycle::Transition& to = committed.transition;
  if (to.next_run && to.next_run->spends_retry) --to.retry_count;
  to = {.status = lifecycle::Status::succeeded,
        .outcome = lifecycle::Outcome::succeeded,
        .retry_count = to.retry_count,
        .losses = to.losses};
  committed.circuit_event.kind = detail::CircuitEvent::Kind::success;
  return committed;
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

}  // namespace

Completer::Completer(Session session, Lease& lease, Circuits& circuits, Callbacks callbacks,
                     std::shared_ptr<Tally> tally, std::shared_ptr<spdlog::logger> log)
    : session_(std::move(session)),
      lease_(lease),
      circuits_(circuits),
      callbacks_(std::move(callbacks)),
      tally_(std::move(tally)),
      log_(std::move(log)) {
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

std::vector<Attempt> Completer::held() const {
  const std::scoped_lock lock{mutex_};
  std::vector<Attempt> attempts;
  for (const auto* reports : {&waiting_, &in_flight_}) {
    for (const Report& report : *reports) attempts.push_back({report.id, report.attempt});
  }
  return attempts;
}

void Completer::look_again() {
  { const std::scoped_lock lock{mutex_}; }  // so that a wait that has just looked at the lease hears the notification
  changed_.notify_all();
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
  if (!get_ready()) return;
  std::unique_lock lock{mutex_};
  while (true) {
    wait_for_work(lock);
    if (finishing_) return;
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(batch_size(waiting_));
    in_flight_.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    lock.unlock();
    std::vector<Report> again;
    const bool written = write(in_flight_, again);
    has_failed_ = false;
    lock.lock();
    if (!written) return;  // finish() gave up: what is in flight stays counted
    waiting_.insert(waiting_.begin(), std::make_move_iterator(again.begin()), std::make_move_iterator(again.end()));
    in_flight_.clear();
    changed_.notify_all();
    lock.unlock();
    callbacks_.on_room();
    if (std::exchange(has_ready_, false)) callbacks_.on_ready();
    if (circuits_.any()) tell_circuits();
    if (!ended_.empty()) notify_awaiting();
    if (!again.empty()) session_.pause(resend_while_locked, stop_.get_token());
    lock.lock();
  }
}

/// Writes a batch of nothing, so that no task is begun whose end cannot be recorded: the connection, the rights and the
/// tables are there, and the statement is planned. False if finish() gave up before.
bool Completer::get_ready() {
  const std::stop_token stop = stop_.get_token();
  while (!stop.stop_requested()) {
    try {
      session_.connection().run(sql::complete, completion_params(lease_.id(), {}, SteadyClock::now()));
      session_.succeeded();
      is_ready_ = true;
      callbacks_.on_room();
      return true;
    } catch (const std::exception& error) {
      session_.recover_from(error, stop);
    }
  }
  return false;
}

/// Meanwhile it tries to tell the circuits what it could not.
void Completer::wait_for_work(std::unique_lock<std::mutex>& lock) {
  const auto has_work = [&] { return finishing_ || (!waiting_.empty() && lease_.state() != Lease::State::lapsed); };
  while (tell_circuits_at_ != SteadyClock::time_point::max()) {
    if (changed_.wait_until(lock, tell_circuits_at_, has_work)) return;
    lock.unlock();
    tell_circuits();
    lock.lock();
  }
  changed_.wait(lock, has_work);
}

void Completer::tell_circuits() {
  tell_circuits_at_ = SteadyClock::time_point::max();
  try {
    if (!circuits_.tell(session_.connection())) tell_circuits_at_ = SteadyClock::now() + while_circuit_locked;
  } catch (const std::exception& error) {
    session_.recover_from(error, stop_.get_token());
  }
}

/// Who waits and does not hear of it finds out by asking: it is not tried again.
void Completer::notify_awaiting() {
  const std::vector<TaskId> ids = awaited_.take(std::exchange(ended_, {}));
  if (ids.empty()) return;
  try {
    session_.connection().run(sql::notify_ended, db::Params{}.add(ids));
  } catch (const std::exception& error) {
    session_.recover_from(error, stop_.get_token());
  }
}

/// Writes until it worked; false if finish() gave up before. What has to be sent once more is put into `again`.
bool Completer::write(const std::vector<Report>& reports, std::vector<Report>& again) {
  const std::stop_token stop = stop_.get_token();
  const auto before = static_cast<std::ptrdiff_t>(again.size());
  while (true) {
    again.erase(again.begin() + before, again.end());  // of a sending that failed
    try {
      send(reports, again);
      session_.succeeded();
      return true;
    } catch (const InvalidInput& error) {
      has_failed_ = true;
      if (reports.size() > 1 || has_extras(reports.front())) return write_apart(reports, again, error);
      session_.recover_from(error, stop);  // it is not the report's doing
    } catch (const std::exception& error) {
      has_failed_ = true;
      session_.recover_from(error, stop);
    }
    if (stop.stop_requested()) return false;
  }
}

/// PostgreSQL refuses something in the batch: halves it until the report is found, and writes that one
/// without what the handler gave (message, details, result), so that it cannot hold up the others.
bool Completer::write_apart(const std::vector<Report>& reports, std::vector<Report>& again,
                            const InvalidInput& reason) {
  if (reports.size() > 1) {
    const auto middle = reports.begin() + static_cast<std::ptrdiff_t>(reports.size() / 2);
    return write({reports.begin(), middle}, again) && write({middle, reports.end()}, again);
  }
  Report bare = reports.front();
  log_->error("task {} attempt {}: PostgreSQL refuses its result, message or details ({}); they are left out", bare.id,
              bare.attempt, reason.message());
  const bool has_more_than_message = !bare.result_json.empty() || !bare.error_details_json.empty();
  bare.result_json.clear();
  bare.error_details_json.clear();
  bare.error_message = has_more_than_message ? "left out, because PostgreSQL refused it: " + reason.message() : "";
  return write({bare}, again);
}

/// Nothing is noted before the last statement was answered: where that fails all is sent once more, and what counted
/// the first time is on record then.
void Completer::send(const std::vector<Report>& reports, std::vector<Report>& again) {
  if (has_failed_) clear_locks(reports);
  const auto now = SteadyClock::now();
  std::unordered_set<TaskId> refused;
  for (const db::Row& row : session_.connection().run(sql::complete, completion_params(lease_.id(), reports, now))) {
    refused.insert(row.number("id"));
  }
  if (!refused.empty()) {
    std::vector<Report> not_taken;
    std::copy_if(reports.begin(), reports.end(), std::back_inserter(not_taken),
                 [&](const Report& report) { return refused.contains(report.id); });
    explain(not_taken, again);
  }
  for (const Report& report : reports) {
    if (!refused.contains(report.id)) note_taken(report, now);
  }
}

/// Why reports were not taken. The task is still held: its row was locked, or its cancellation was requested, or its
/// retry would come too late, and it is sent again. Or the report is on record: an earlier sending of it took effect
/// without an answer. Or it is fenced.
void Completer::explain(const std::vector<Report>& not_taken, std::vector<Report>& again) {
  std::vector<std::int64_t> ids, attempts;
  std::map<TaskId, const Report*> by_id;
  for (const Report& report : not_taken) {
    ids.push_back(report.id);
    attempts.push_back(report.attempt);
    by_id[report.id] = &report;
  }
  clear_locks(not_taken);
  const auto now = SteadyClock::now();
  const db::Params params = db::Params{}.add(lease_.id()).add(ids).add(attempts);
  for (const db::Row& row : session_.connection().run(sql::who_holds, params)) {
    const Report& report = *by_id.at(row.number("id"));
    if (row.boolean("is_mine")) {
      again.push_back(report);
      if (row.boolean("cancel_requested")) {
        put_under_cancel(again.back());
      } else if (is_too_late(report, row, now)) {
        put_under_expiry(again.back());
      }
    } else if (is_on_record(report, row)) {
      note_taken(report, now);
    } else if (!report.may_be_committed || is_of_another(row)) {
      ++tally_->fenced;
      log_->warn("task {} attempt {}: worker {} does not hold it any more, and its report ({}) changed nothing: {}",
                 report.id, report.attempt, lease_.id(), lifecycle::to_text(report.transition.outcome),
                 whose_it_is(row));
    } else {
      note_taken(as_committed(report), now);
    }
  }
}

/// What a transaction that has ended had locked looks to complete.sql as if it still were.
void Completer::clear_locks(const std::vector<Report>& reports) {
  std::vector<TaskId> ids;
  for (const Report& report : reports) ids.push_back(report.id);
  session_.connection().run(sql::clear_locks, db::Params{}.add(lease_.id()).add(ids));
}

void Completer::note_taken(const Report& report, SteadyClock::time_point sent_at) {
  note_recorded(report, *log_);
  circuits_.note(report);
  if (!report.transition.next_run) {
    if (awaited_.any()) ended_.push_back(report.id);
  } else if (const auto left = until_next_run(report, sent_at); left.count() > 0) {
    callbacks_.on_retry(left);
  } else {
    has_ready_ = true;
  }
}

bool Completer::is_on_record(const Report& report, const db::Row& row) const {
  return row.maybe_number("recorded_for") == lease_.id() &&
         row.maybe_text("outcome") == lifecycle::to_text(report.transition.outcome);
}

}  // namespace dogged::runtime
