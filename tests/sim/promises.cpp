// See promises.hpp.
#include "promises.hpp"

#include <algorithm>

#include "require.hpp"

namespace dogged::sim::promises {
namespace {

/// The state of a task after its attempts, by the rules in docs/lifecycle.md, and not by src/lifecycle.
struct Tally {
  int retry_count = 0;
  int losses = 0;
  int snoozes = 0;
  std::string status = "pending";
};

void add(Tally& tally, const AttemptRow& row, const lifecycle::Rules& rules) {
  tally.status = "pending";
  if (row.outcome == "succeeded" || row.outcome == "cancelled") {
    tally.status = row.outcome;
  } else if (row.outcome == "lost") {
    ++tally.losses;
    if (!rules.retry_lost || tally.losses >= rules.max_losses) tally.status = "failed";
  } else if (row.outcome == "failed" || row.outcome == "timed_out") {
    const bool is_listed = std::find(rules.auto_retry_for.begin(), rules.auto_retry_for.end(), row.error_code) !=
                           rules.auto_retry_for.end();
    if (is_listed && tally.retry_count < max_retries(rules.policy)) {
      ++tally.retry_count;
    } else {
      tally.status = "failed";
    }
  } else if (row.outcome == "snoozed") {
    if (!row.waits) ++tally.snoozes;
  } else if (row.outcome != "interrupted") {
    tally.status = "no outcome";
  }
  if (row.cancel_requested && row.outcome != "succeeded") tally.status = "cancelled";
}

/// A retry that would come after the task expires is not made, and not spent.
void put_under_expiry(Tally& tally, const AttemptRow& row) {
  const bool was_retry = row.outcome == "failed" || row.outcome == "timed_out";
  if (was_retry) --tally.retry_count;
  tally.status = "expired";
}

void only_failures_spend_retries(TaskId id, const Task& task, const Tally& tally) {
  require(task.retry_count == tally.retry_count, "G9", "only failures spend retries", Named{id}, " has spent ",
          task.retry_count, " for ", tally.retry_count);
}

void losses_are_counted(TaskId id, const Task& task, const Tally& tally) {
  require(task.losses == tally.losses, "G6", "losses are counted, and end a task", Named{id}, " has ", task.losses,
          " for ", tally.losses);
}

void snoozes_are_counted(TaskId id, const Task& task, const Tally& tally) {
  require(task.snoozes == tally.snoozes, "G17", "snoozes are counted", Named{id}, " has ", task.snoozes, " for ",
          tally.snoozes);
}

void no_task_snoozes_too_often(TaskId id, const Tally& tally, const lifecycle::Rules& rules) {
  require(tally.snoozes <= rules.max_snoozes, "G17", "no task snoozes more often than it may", Named{id}, " has, ",
          tally.snoozes, " times");
}

void check_history(TaskId id, const Task& task, const Database& database) {
  const auto replays = database.ledger().replayed.find(id);
  Tally tally;
  for (int attempt = 1; attempt <= task.attempt; ++attempt) {
    const AttemptRow& row = database.attempts().at({id, attempt});
    require(tally.status == "pending", "G3", "no attempt follows the end of its task", Named{id, attempt});
    add(tally, row, rules_of(task.kind));
    no_task_snoozes_too_often(id, tally, rules_of(task.kind));
    if (tally.status == "pending" && !row.will_retry && task.expires_at) put_under_expiry(tally, row);
    require(row.will_retry == (tally.status == "pending"), "G3", "an attempt says whether its task runs again",
            Named{id, attempt}, " (", row.outcome, "), and by its rules the task is ", tally.status);
    if (replays != database.ledger().replayed.end() && replays->second.contains(attempt)) tally = {};
  }
  const bool ends_between_attempts = task.ended_as == "cancelled" || task.ended_as == "expired";
  require(task.ended_as == tally.status || (tally.status == "pending" && ends_between_attempts), "G3",
          "a task ends as its attempts say", Named{id}, " is ", task.ended_as, ", and not ", tally.status);
  only_failures_spend_retries(id, task, tally);
  losses_are_counted(id, task, tally);
  snoozes_are_counted(id, task, tally);
}

}  // namespace

void a_claim_takes_what_is_free(TaskId id, const Task& task, bool is_locked, const WorkerRow& by) {
  require(!is_locked, "G4", "a claim changes no row that somebody has locked", Named{id});
  require(task.state == Task::State::pending && !task.deferred, "G4", "a claim takes what is ready", Named{id});
  require(!by.lease_ended, "G7", "nothing is claimed under a lease that was ended", Named{id});
}

void no_retry_is_early(TaskId id, const Ledger& ledger, TimePoint now, bool clock_was_set) {
  const auto due = ledger.not_before.find(id);
  if (due == ledger.not_before.end() || clock_was_set) return;
  require(now >= due->second, "G8", "no retry is early", Named{id}, " is, by ", InMs{due->second - now});
}

void a_cancelled_task_does_not_run_again(TaskId id, const Ledger& ledger) {
  require(!ledger.cancelled.contains(id), "G12", "a cancelled task does not run again", Named{id});
}

void an_attempt_is_recorded_once(TaskId id, int attempt, bool is_new) {
  require(is_new, "G3", "every attempt is one row", Named{id, attempt});
}

void a_report_counts_before_the_end(TaskId id, const Task& task) {
  require(task.state != Task::State::ended, "G3", "a task that has ended stays ended", Named{id});
}

void a_report_is_of_the_holder(TaskId id, const Task& task, std::int64_t worker, int attempt) {
  require(task.attempt == attempt, "G4", "a report counts for its own attempt alone", Named{id, attempt});
  require(task.state == Task::State::running && task.worker == worker, "G4",
          "a report counts while its worker holds the task", Named{id, attempt}, " of worker ", worker);
}

void no_retry_comes_after_expiry(TaskId id, const Task& task, const lifecycle::Transition& to, TimePoint finished_at) {
  if (!to.next_run || !task.expires_at) return;
  require(finished_at + to.next_run->delay <= *task.expires_at, "G16", "no retry is scheduled after expires_at",
          Named{id, task.attempt});
}

void a_loss_follows_the_end_of_its_lease(TaskId id, int attempt, const WorkerRow& worker) {
  require(worker.lease_ended, "G7", "only attempts under a lease that was ended are lost", Named{id, attempt});
}

void an_attempt_begins_once(TaskId id, int attempt, bool is_first) {
  require(is_first, "G3", "the handler of an attempt begins once", Named{id, attempt});
}

void no_attempt_begins_that_cannot_be_recorded(TaskId id, int attempt, bool can_report) {
  require(can_report, "G3", "no attempt begins before its worker has written a batch of reports", Named{id, attempt},
          " does");
}

void no_more_run_at_once_than_are_set(TaskId id, int attempt, std::size_t busy, std::size_t set) {
  require(busy <= set, "G14", "a worker runs as many tasks of a queue at once as are set", Named{id, attempt},
          " makes them ", busy, ", and ", set, " are set");
}

void no_attempt_begins_that_was_rescued(TaskId id, int attempt, const AttemptRows& attempts) {
  require(!attempts.contains({id, attempt}), "G7", "no attempt begins that was rescued", Named{id, attempt});
}

void nothing_begins_after_it_expired(TaskId id, int attempt, const Task& task, TimePoint database_now) {
  require(!task.expires_at || database_now < *task.expires_at, "G16", "no attempt begins after expires_at",
          Named{id, attempt});
}

void a_lapse_stops_handlers(TaskId id, int attempt, runtime::Lease::State lease, StopReason reason) {
  require(lease != runtime::Lease::State::lapsed || reason != StopReason::none, "G7",
          "a worker whose lease has lapsed asks its handlers to stop", Named{id, attempt}, " was not asked");
}

void every_handler_ends_in_time(TaskId id, int attempt, Duration ran, Duration longest) {
  require(ran <= longest, "G11", "a timeout ends the attempt in any case", Named{id, attempt}, " ran for ", InMs{ran},
          ", and may for ", InMs{longest});
}

void a_worker_knows_first(int worker, TimePoint held_until, TimePoint now) {
  require(now >= held_until, "G7", "a worker knows of its lapse before another worker acts on it", "worker ", worker,
          " would know ", InMs{held_until - now}, " later");
}

void every_task_ends(const Database& database) {
  if (database.live().empty()) return;
  const TaskId id = *database.live().begin();
  const Task& task = database.tasks().at(id);
  require(false, "G1", "every task ends",
          named(id) + " is " +
              (task.state == Task::State::running ? "running under lease " + std::to_string(task.worker)
                                                  : std::string{task.deferred ? "waiting" : "ready"}) +
              " after attempt " + std::to_string(task.attempt));
}

void no_enqueued_task_is_lost(const Database& database) {
  const std::set<TaskId>& enqueued = database.ledger().enqueued;
  for (const TaskId id : enqueued) {
    require(database.tasks().contains(id), "G1", "no enqueued task is lost", Named{id});
  }
  for (const auto& [id, task] : database.tasks()) {
    require(enqueued.contains(id), "G1", "no task is there that nobody enqueued", Named{id});
  }
  for (const auto& [attempt, row] : database.attempts()) {
    require(enqueued.contains(attempt.first), "G1", "each attempt has a task", Named{attempt.first, attempt.second});
  }
}

void no_attempt_ends_that_has_not_begun(const Database& database, const Begun& begun) {
  for (const auto& [attempt, row] : database.attempts()) {
    if (row.outcome == "lost" || row.outcome == "cancelled") continue;
    require(begun.contains(attempt), "G2", "no attempt ends that has not begun", Named{attempt.first, attempt.second},
            " (", row.outcome, ")");
  }
  for (const auto& [id, task] : database.tasks()) {
    require(task.attempt > 0 || task.ended_as == "cancelled" || task.ended_as == "expired", "G2",
            "every task is attempted", Named{id}, " is ", task.ended_as);
  }
}

void every_execution_is_on_record(const Database& database, const Begun& begun, const std::set<TaskId>& half_lost) {
  for (const auto& [attempt, begin] : begun) {
    if (half_lost.contains(attempt.first)) continue;
    const auto row = database.attempts().find(attempt);
    require(row != database.attempts().end(), "G3", "every execution is on record",
            Named{attempt.first, attempt.second}, " ran, and has no row");
    require(row->second.worker == begin.lease, "G4", "an attempt is on record for the worker that ran it",
            Named{attempt.first, attempt.second}, " ran under lease ", begin.lease, ", not ", row->second.worker);
  }
}

void every_attempt_is_a_row(const Database& database) {
  std::size_t rows = 0;
  for (const auto& [id, task] : database.tasks()) {
    rows += static_cast<std::size_t>(task.attempt);
    for (int attempt = 1; attempt <= task.attempt; ++attempt) {
      require(database.attempts().contains({id, attempt}), "G3", "attempts are numbered without a gap",
              Named{id, attempt}, " has no row");
    }
  }
  require(rows == database.attempts().size(), "G3", "no attempt is on record that was never made",
          database.attempts().size(), " rows for ", rows);
}

void a_history_follows_the_rules(const Database& database, const std::set<TaskId>& half_lost) {
  for (const auto& [id, task] : database.tasks()) {
    if (!half_lost.contains(id)) check_history(id, task, database);
  }
}

void effects_happen_once(const Database& database) {
  for (const auto& [id, task] : database.tasks()) {
    if (task.kind != Kind::transactional) continue;
    const auto found = database.ledger().effects.find(id);
    const int effects = found == database.ledger().effects.end() ? 0 : found->second;
    require(effects == (task.ended_as == "succeeded" ? 1 : 0), "G13", "effects in the database happen exactly once",
            Named{id}, " is ", task.ended_as, ", and had ", effects);
  }
}

void a_call_takes_effect_once(const Database& database, const std::map<CallKey, std::vector<TaskId>>& answers) {
  for (const auto& [key, tasks] : answers) {
    const auto made = database.ledger().calls.find(key);
    if (made == database.ledger().calls.end()) continue;  // a failover has lost it
    require(made->second == tasks, "G15", "a call takes effect once", "the call of producer ", key.producer,
            " enqueued ", made->second.size(), " tasks for ", tasks.size());
  }
}

void hold_after_the_faults(const Database& database, const Begun& begun, const std::set<TaskId>& half_lost,
                           const std::map<CallKey, std::vector<TaskId>>& answers) {
  every_task_ends(database);
  no_enqueued_task_is_lost(database);
  every_attempt_is_a_row(database);
  no_attempt_ends_that_has_not_begun(database, begun);
  every_execution_is_on_record(database, begun, half_lost);
  a_history_follows_the_rules(database, half_lost);
  effects_happen_once(database);
  a_tick_fires_once(database);
  a_charge_happens_once(database);
  a_call_takes_effect_once(database, answers);
  progress_is_of_the_latest_attempt(database);
}

void a_task_begins_when_it_is_ready(const std::string& what, std::pair<TaskId, int> attempt, const Begun& begun,
                                    TimePoint until) {
  const auto found = begun.find(attempt);
  require(found != begun.end() && found->second.at <= until, "G14", "a task begins when it is ready, told or not",
          what + ": " + named(attempt.first, attempt.second) +
              (found == begun.end() ? " does not" : " does " + in_ms(found->second.at - until) + " late"));
}

void a_pause_holds_back_what_has_not_begun(const std::string& queue, TimePoint until, const Database& database,
                                           const Begun& begun) {
  for (const TaskId id : database.live()) {
    const Task& task = database.tasks().at(id);
    if (task.queue != queue || task.state != Task::State::running) continue;
    require(begun.contains({id, task.attempt}), "G14", "workers give back what has not begun of a paused queue",
            Named{id, task.attempt}, " is held under lease ", task.worker);
  }
  for (const auto& [attempt, begin] : begun) {
    const auto task = database.tasks().find(attempt.first);
    if (task == database.tasks().end() || task->second.queue != queue) continue;  // a failover has lost the task
    require(begin.at <= until, "G14", "no task of a paused queue begins", Named{attempt.first, attempt.second},
            " does, ", InMs{begin.at - until}, " after workers know of the pause");
  }
}

void a_lost_task_begins_again_in_time(std::pair<TaskId, int> lost, const Database& database, const Begun& begun,
                                      TimePoint until) {
  const auto& [id, attempt] = lost;
  const auto row = database.attempts().find(lost);
  if (row != database.attempts().end() && !row->second.will_retry) return;
  const auto next = begun.find({id, attempt + 1});
  require(
      next != begun.end() && next->second.at <= until, "G5", "a dead worker's task runs again within its lease + 1 s",
      named(id, attempt) + (next == begun.end() ? " does not" : " does " + in_ms(next->second.at - until) + " late"));
}

void a_cancelled_handler_ends(std::pair<TaskId, int> attempt, const Database& database) {
  require(database.attempts().contains(attempt), "G12", "a running handler is asked to stop when it is cancelled",
          Named{attempt.first, attempt.second}, " still runs");
}

void a_shutdown_loses_nothing(std::size_t lost_before, const Database& database) {
  const std::size_t lost = count_lost(database) - lost_before;
  require(lost == 0, "G9", "a shutdown in order loses nothing", lost, " attempts were lost");
}

void what_has_finished_counts(TaskId id, const Database& database) {
  const Task& task = database.tasks().at(id);
  require(task.ended_as == "succeeded" && task.attempt == 1, "G10", "what finishes while the server is away counts",
          Named{id, task.attempt});
}

void no_live_lease_is_ended(std::size_t before, std::size_t now) {
  require(now == before, "G10", "no lease of a live worker is ended after an outage", now - before);
}

void a_worker_at_rest_asks_little(int worker, std::int64_t statements, std::int64_t limit) {
  require(statements <= limit, "G14", "a worker that has nothing to do asks little", "worker ", worker, " has sent ",
          statements, " statements, and may send ", limit);
}

std::size_t count_lost(const Database& database) {
  return static_cast<std::size_t>(std::count_if(database.attempts().begin(), database.attempts().end(),
                                                [](const auto& row) { return row.second.outcome == "lost"; }));
}

}  // namespace dogged::sim::promises
