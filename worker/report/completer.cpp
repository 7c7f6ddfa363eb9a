// See completer.hpp.
#include "report/completer.hpp"

#include <string>
#include <unordered_set>
#include <utility>

#include <dogged/error.hpp>

#include "base/session.hpp"
#include "client/log_event.hpp"
#include "db/connection.hpp"
#include "lease/who_holds.hpp"
#include "report/completion.hpp"
#include "report/recorded.hpp"
#include "retry/operation_counts.hpp"
#include "sql/report.hpp"
#include "tasks/attempt_logger.hpp"

namespace dogged::runtime {
namespace {

constexpr milliseconds patience_at_finish{100};

std::vector<TaskId> ids_of(std::span<const Report> reports) {
  std::vector<TaskId> ids;
  for (const Report& report : reports) ids.push_back(report.id);
  return ids;
}

}  // namespace

Completer::Completer(Service::Settings service, std::shared_ptr<const SharedLease> lease,
                     std::shared_ptr<Circuits> circuits, std::shared_ptr<ReportListener> listener,
                     std::shared_ptr<Tally> tally, AttemptLog log)
    : lease_(std::move(lease)),
      circuits_(std::move(circuits)),
      listener_(std::move(listener)),
      tally_(std::move(tally)),
      log_(log.log),
      attempt_log_(std::move(log)),
      service_(std::move(service)) {
  service_.start([this] {
    try {
      run();
    } catch (...) {
      queue_.finish();  // a shutdown would wait its full 10 s for reports that no thread writes any more
      throw;
    }
  });
}

Completer::~Completer() { finish(SteadyClock::now()); }

std::size_t Completer::finish(TimePoint until) {
  if (service_.is_stopping()) return 0;
  (void)wait_written(until);
  service_.stop(patience_at_finish);
  return queue_.size();
}

void Completer::run() {
  const std::stop_callback ends_wait{service_.stop_token(), [this] { queue_.finish(); }};
  // The plan goes on from where it was. But if the batch in flight is lost, for want of memory, nothing can settle it.
  const auto on_failure = [this](const std::exception&) {
    if (queue_.has_in_flight()) throw;
  };
  service_.run_plan([this] { return next_action(); },
                    [this](const CompleterPlan::Action& action) { carry_out(action); }, on_failure);
}

CompleterPlan::Action Completer::next_action() {
  const ReportQueue::Look look = queue_.look();
  if (look.is_finished) plan_.on_finish();
  return plan_.next({.has_reports = look.has_waiting,
                     .is_lease_lapsed = lease_->get().state() == Lease::State::lapsed,
                     .circuits_at = circuits_->writes_at()},
                    SteadyClock::now());
}

void Completer::carry_out(const CompleterPlan::Action& action) {
  switch (action.step) {
    case CompleterPlan::Step::prove:
      return prove();
    case CompleterPlan::Step::send:
      return write_batch();
    case CompleterPlan::Step::write_circuits:
      return write_circuits();
    case CompleterPlan::Step::wait:
      return queue_.wait_for_news(action.until);
    case CompleterPlan::Step::end:
      return;
  }
}

/// Writes an empty batch, so that no task begins whose end cannot be recorded. The write proves the connection, the
/// rights and the tables, and plans the statement.
void Completer::prove() {
  session().connection().run(completion_of(lease_->id(), {}, SteadyClock::now()));
  session().succeeded();
  plan_.on_proved();
  is_ready_ = true;
  listener_->note_room();
}

/// If finish() gives up before, the batch stays in flight, and its reports stay counted.
void Completer::write_batch() {
  ReportBatch batch{queue_.take()};
  Effects effects;
  if (!write(batch, effects)) return plan_.on_given_up();
  plan_.on_written(queue_.batch_written(batch.take_again()), SteadyClock::now());
  listener_->note_room();
  if (effects.has_ready) listener_->note_ready();
  if (!effects.ended.empty()) notify_awaiting(effects.ended);
}

/// Writes until the batch has ended. False if finish() gave up before.
bool Completer::write(ReportBatch& batch, Effects& effects) {
  const auto note_all_taken = [&] {
    for (const ReportBatch::Taken& taken : batch.take_taken()) note_taken(taken, effects);
  };
  note_all_taken();
  while (batch.state() != ReportBatch::State::ended) {
    try {
      carry_out(batch);
      note_all_taken();
      if (batch.state() == ReportBatch::State::sending) queue_.note_unsettled(batch.unsettled());
      if (batch.state() != ReportBatch::State::explaining) session().succeeded();
      continue;
    } catch (const InvalidInput& error) {
      note_refused(batch, error);
    } catch (const std::exception& error) {
      batch.on_failure();
      service_.recover_from(error);
    }
    if (service_.is_stopping()) return false;
  }
  return true;
}

void Completer::carry_out(ReportBatch& batch) {
  switch (batch.state()) {
    case ReportBatch::State::sending:
      return send(batch);
    case ReportBatch::State::explaining:
      return explain(batch);
    case ReportBatch::State::ended:
      return;
  }
}

void Completer::send(ReportBatch& batch) {
  if (batch.may_have_left_locks()) clear_locks(ids_of(batch.part()));
  const TimePoint now = SteadyClock::now();
  std::unordered_set<TaskId> refused;
  const auto rows = counted_operation(QueueOperation::settle, no_label, [&] {
    return session().connection().run(completion_of(lease_->id(), batch.part(), now));
  });
  for (const auto& [id] : rows) refused.insert(id);
  batch.on_sent(std::move(refused), now);
}

void Completer::explain(ReportBatch& batch) {
  const std::vector<const Report*> not_taken = batch.not_taken();
  std::vector<TaskId> ids;
  std::vector<Attempt> attempts;
  for (const Report* report : not_taken) {
    ids.push_back(report->id);
    attempts.push_back({report->id, report->attempt});
  }
  clear_locks(ids);
  const TimePoint asked_at = SteadyClock::now();
  const std::vector<Holder> holders = read_holders(session().connection(), lease_->id(), attempts);
  std::vector<Verdict> verdicts;
  for (std::size_t i = 0; i < holders.size(); ++i) {
    const Report* report = not_taken[i];
    verdicts.push_back(verdict_of(*report, holders[i], lease_->id(), batch.sent_at()));
    if (verdicts.back() != Verdict::fenced) continue;
    ++tally_->fenced;
    attempt_logger(*log_, *report)
        ->log(event("report_fenced"), spdlog::level::warn,
              "worker {} does not hold it any more, and its report ({}) changed nothing: {}", lease_->id(),
              lifecycle::to_text(report->transition.outcome), whose_it_is(holders[i]));
  }
  batch.on_explained(verdicts, asked_at);
}

void Completer::note_refused(ReportBatch& batch, const InvalidInput& error) {
  switch (batch.on_refused(error.message())) {
    case ReportBatch::Remedy::halved:
      return;
    case ReportBatch::Remedy::stripped: {
      const auto log = attempt_logger(*log_, batch.part().front());
      log->log(event("report_stripped"), spdlog::level::err,
               "PostgreSQL refuses its result, message or details ({}); they are left out", error.message());
      return;
    }
    case ReportBatch::Remedy::none:
      service_.recover_from(error);
  }
}

/// Rows that an ended transaction had locked still look locked to complete.sql.
void Completer::clear_locks(const std::vector<TaskId>& ids) {
  session().connection().run(sql::ClearLocks{.ids = ids, .worker_id = lease_->id()});
}

void Completer::note_taken(const ReportBatch::Taken& taken, Effects& effects) {
  const Report& report = *taken.report;
  note_recorded(report, attempt_log_);
  circuits_->note(report);
  const Rerun rerun = rerun_of(taken);
  switch (rerun.when) {
    case Rerun::When::none:
      if (awaited_.any()) effects.ended.push_back(report.id);
      return;
    case Rerun::When::at_once:
      effects.has_ready = true;
      return;
    case Rerun::When::later:
      return listener_->note_due(rerun.in);
  }
}

/// Notes that cannot be written stay, and are tried again.
void Completer::write_circuits() {
  circuits_->write_noted(session().connection());
  session().succeeded();
}

/// Notifies the clients once: a client that misses the notification asks by itself.
void Completer::notify_awaiting(const std::vector<TaskId>& ended) {
  const std::vector<TaskId> ids = awaited_.take(ended);
  if (!ids.empty()) session().connection().run(sql::NotifyEnded{.ids = ids});
}

}  // namespace dogged::runtime
