// The promises of docs/guarantees.md that the simulation checks: one function each, named after what holds. A function
// throws Broken. The list says for each guarantee when it is checked, by which functions, and which mutants show that
// these can fail. `dogged_sim --mutants` runs them all.
//
//   G1, after the faults: no_enqueued_task_is_lost, every_task_ends.
//     Mutants: claim_of_an_old_session, claim_without_a_note, rescue_forgets_claims,
//     lease_renewed_after_its_end, forgets_a_deferral.
//   G2, after the faults: no_attempt_ends_that_has_not_begun.
//     Mutants: interrupts_what_has_not_begun.
//   G3, as it happens, and after the faults: an_attempt_begins_once, no_attempt_begins_that_cannot_be_recorded,
//     an_attempt_is_recorded_once, a_report_counts_before_the_end, every_attempt_is_a_row,
//     a_history_follows_the_rules, every_execution_is_on_record.
//     Mutants: loss_without_a_row, forgets_what_waits, claims_before_it_can_report.
//   G4, at each report and claim: a_report_is_of_the_holder, a_claim_takes_what_is_free.
//     Mutants: claim_of_locked_rows, completion_without_a_fence, completion_of_any_attempt, completion_twice,
//     release_of_an_old_session.
//   G5, in the calm: a worker dies, or all die and begin again under their names, or two die and the rescue of one is
//     refused: a_lost_task_begins_again_in_time. At each end of a worker: a_worker_that_ends_rescues_what_it_has_ended.
//     Mutants: name_of_a_lapsed_lease, waits_for_its_name_for_ever, ignores_the_next_lapse,
//     forgets_that_a_worker_began, takes_refused_ticks_for_a_lost_server, lets_a_refusal_stop_all_rescues,
//     rescue_that_wakes_nobody, stops_before_its_rescue.
//   G6, after the faults: losses_are_counted (of a_history_follows_the_rules).
//     Mutants: loss_that_does_not_count.
//   G7, at each end of a lease, begin, end and rescue: a_worker_knows_first, no_attempt_begins_that_was_rescued,
//     a_lapse_stops_handlers, a_loss_follows_the_end_of_its_lease.
//     Mutants: claim_of_an_ended_lease, rescue_of_live_leases, lease_ended_before_its_lapse,
//     begins_after_the_lapse, renewal_counts_from_its_answer.
//   G8, at each claim: no_retry_is_early.
//     Mutants: promotion_before_its_time, retry_without_its_delay.
//   G9, after the faults; in the calm: all stop in turn: only_failures_spend_retries (of
//     a_history_follows_the_rules), a_shutdown_loses_nothing; one stops without a server:
//     a_worker_that_is_stopped_ends.
//     Mutants: stops_without_giving_back, spends_a_retry_on_an_interruption, tries_reports_for_ever.
//   G10, in the calm: the server is away, also for longer than leases last: what_has_finished_counts,
//     no_live_lease_is_ended.
//     Mutants: forgets_what_is_reported, drops_a_report, ignores_a_lost_answer,
//     ends_leases_once_the_server_is_back.
//   G11, at each end of an attempt: every_handler_ends_in_time.
//     Mutants: gives_no_handler_up.
//   G12, at each claim; in the calm: one is cancelled: a_cancelled_task_does_not_run_again, a_cancelled_handler_ends.
//     Mutants: completion_despite_a_cancel, release_that_forgets_a_cancel, cancel_without_a_notification.
//   G13, after the faults: effects_happen_once.
//     Mutants: effects_outside_the_transaction.
//   G14, in the calm; some runs have only workers that poll: a_task_begins_when_it_is_ready.
//     Mutants: promotion_at_an_old_place, no_notification, made_ready_at_an_old_place,
//     wake_up_of_an_old_session, reschedule_without_a_notification, sleeps_before_it_listens,
//     waits_for_a_notification, proves_once, tells_nobody_of_its_proof.
//     Beside it, as docs/queues.md says of the settings of a queue, in the calm. A queue is paused while claimed tasks
//     wait for a thread, or for a while: a_pause_holds_back_what_has_not_begun. When the pause ends by itself:
//     a_task_begins_when_it_is_ready. Mutants: keeps_tasks_of_a_paused_queue, follows_no_pause,
//     pause_that_never_ends, forgets_when_a_pause_ends. A queue gets another concurrency:
//     no_more_run_at_once_than_are_set, a_task_begins_when_it_is_ready. Mutant: follows_no_concurrency.
//     And the price, as docs/decisions/0012 says, at the end: workers rest: a_worker_at_rest_asks_little. Mutant:
//     renews_as_if_busy.
//   G15, after the faults: a_call_takes_effect_once.
//     Mutants: call_that_takes_effect_again.
//   G16, at each begin and report: nothing_begins_after_it_expired, no_retry_comes_after_expiry.
//     Mutants: retry_after_its_expiry, begins_after_its_expiry.
//   G17, after the faults: snoozes_are_counted, no_task_snoozes_too_often (of a_history_follows_the_rules).
//     Mutants: snooze_that_does_not_count.
//   G18, at each tick; after the faults; in the calm (promises_ticks.cpp): ticks_overlap_as_they_may,
//     an_earlier_tick_is_cancelled, a_tick_fires_once, a_tick_fires_in_time, no_tick_is_overdue,
//     a_declared_schedule_is_in_force.
//     Mutants: tick_that_fires_again, overlap_that_is_overlooked, looks_late_for_ticks, tick_that_cancels_nothing,
//     pause_that_leaves_no_row, change_that_forgets_due_ticks, range_that_loses_its_rest,
//     declaration_that_changes_nothing, forgets_that_schedules_changed, gives_refused_ticks_up,
//     forgets_a_refused_comparison.
//   G19, at each step, wait and event; after the faults; in the calm (promises_steps.cpp): a_step_is_of_the_holder,
//     a_recorded_step_does_not_run_again, a_loop_goes_on, a_step_has_one_value, a_charge_happens_once,
//     a_wait_keeps_its_time, no_event_is_missed, an_event_resumes_its_task. Mutants: step_without_a_fence,
//     step_of_any_attempt, record_that_is_not_found, checkpoint_without_a_fence, checkpoint_that_is_not_found,
//     charge_outside_the_transaction, wait_that_begins_anew, wait_that_overlooks_an_event, wait_beside_an_emit,
//     event_that_wakes_nobody, event_that_keeps_the_place, event_without_a_notification.
//   G20, at each call with a key, its commit, each replay and each claim (promises_keys.cpp):
//     an_answer_names_the_holder, a_key_is_taken_when_it_is_free, a_key_has_one_holder,
//     a_holder_begins_after_the_call, an_attempt_gets_the_args_of_all_calls, no_debounce_goes_on_for_ever.
//     Where a retry or a rescue would meet a key, every_task_ends.
//     Mutants: key_that_is_free_while_its_task_runs, key_that_two_transactions_take, replay_beside_its_twin,
//     key_of_an_expired_task, holder_that_is_not_locked, holder_that_is_passed_over, debounce_without_end,
//     merge_that_replaces, merge_that_does_not_wait.
//   G21, in the calm; at each end of a worker: progress_is_on_record. After the faults:
//   progress_is_of_the_latest_attempt.
//     Mutants: progress_without_a_fence, forgets_refused_progress, writes_no_last_progress.
//   G22, at each deferral, admission and write of a circuit; in the calm: a service breaks and is mended
//     (promises_circuits.cpp): a_deferral_spends_nothing, a_half_open_circuit_lets_probes_through,
//     an_open_circuit_is_heard, no_failure_is_written_twice, every_failure_is_written, failures_open_a_circuit,
//     a_mended_service_closes_its_circuit, a_worker_knows_its_circuits, a_worker_that_ends_tells_its_circuits. That
//     tasks that were put off run in the end: every_task_ends. When: a_task_put_off_is_claimed_in_time and
//     no_task_is_put_off_for_ever (G14). Mutants: deferral_that_spends_an_attempt, circuit_that_is_not_locked,
//     circuit_that_changes_in_silence, circuit_that_is_passed_over, reads_no_circuits, half_open_lets_all_through,
//     probes_never_expire, drops_circuit_events, writes_circuit_events_again, finishes_without_its_circuits; for G4
//     deferral_of_an_old_session, for G12 deferral_that_forgets_a_cancel.
//   G23, when a claim is handed out; after the faults: first_runs_are_not_held_back, retries_stay_within_their_budget,
//     every_task_ends. Mutants: budget_is_not_asked, budget_that_is_not_refilled, budget_of_first_runs.
//
// The model cannot express that commits are durable (G1), nor SQL rights, poolers and prepared statements (G14). The
// model cannot express that C++ handlers receive their stop tokens (G11, G12), nor other effects of a handler than one
// row (G13). The tests that docs/guarantees.md names hold these.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <dogged/context.hpp>

#include "circuits/core/ledger.hpp"
#include "database.hpp"
#include "lease/core/lease.hpp"

namespace dogged::sim::promises {

/// When the handler of an attempt began, and under which lease.
struct Begin {
  TimePoint at;
  std::int64_t lease = 0;
};
using Begun = std::map<std::pair<TaskId, int>, Begin>;

/// A step of a task as its handlers know it. Where a replay runs steps again, it is another one.
struct StepOnce {
  TaskId id = 0;
  std::string name;
  std::ptrdiff_t replays = 0;  // that ran steps again

  friend auto operator<=>(const StepOnce&, const StepOnce&) = default;
};
/// The values that steps and waits gave to handlers.
using StepValues = std::map<StepOnce, std::optional<std::int64_t>>;
/// The first place of a loop that each attempt has saved.
using SavedPlaces = std::map<StepOnce, std::map<int, std::int64_t>>;

/// The probes that a half-open circuit has let through in one state.
struct ProbesOfState {
  TimePoint first = TimePoint::max();  // when the database was asked: a worker that stands still hears its answer late
  TimePoint last{};
  std::int64_t let_through = 0;
  std::int64_t freed = 0;  // places, by reports that were at least tried to be written
};
using Probes = std::map<std::tuple<std::uint64_t, std::string, std::int64_t>, ProbesOfState>;  // by history, generation
/// Tasks that circuits and budgets have put off, and until when a worker must have claimed each again.
using PutOff = std::map<TaskId, TimePoint>;
/// Of attempts, as one worker under one lease knows them.
struct CircuitFailures {
  std::int64_t noted = 0;
  std::int64_t written = 0;
};
/// Attempts of a queue that one worker has begun.
struct BegunAttempt {
  TimePoint at{};
  bool is_retry = false;
};
using BegunAttempts = std::vector<BegunAttempt>;

// ---- as it happens -------------------------------------------------------------------------------------------------

void a_claim_takes_what_is_free(TaskId id, const Task& task, bool is_locked, const WorkerRow& by);
/// By the time of the simulation. If the database's clock was set, what was due may have become early.
void no_retry_is_early(TaskId id, const Ledger& ledger, TimePoint now, bool clock_was_set);
void a_cancelled_task_does_not_run_again(TaskId id, const Ledger& ledger);
void an_attempt_is_recorded_once(TaskId id, int attempt, bool is_new);
void a_report_counts_before_the_end(TaskId id, const Task& task);
void a_report_is_of_the_holder(TaskId id, const Task& task, std::int64_t worker, int attempt);
void no_retry_comes_after_expiry(TaskId id, const Task& task, const lifecycle::Transition& to, TimePoint finished_at);

void a_loss_follows_the_end_of_its_lease(TaskId id, int attempt, const WorkerRow& worker);

void a_step_is_of_the_holder(TaskId id, const std::string& name, const Task& task, std::int64_t worker, int attempt);
/// A handler knows that the place is saved.
void note_place(TaskId id, int attempt, const std::string& name, std::int64_t place, const Database& database,
                SavedPlaces& places);
/// An attempt begins a loop, and finds `row`. A statement that arrives late may set the place back, but not to before
/// what the attempt had saved first.
void a_loop_goes_on(TaskId id, int attempt, const std::string& name, const std::optional<CheckpointRow>& row,
                    const Database& database, const SavedPlaces& places);
/// The attempt is about to run the step.
void a_recorded_step_does_not_run_again(TaskId id, int attempt, const std::string& name, const Database& database);
/// The handler of the attempt goes on behind the step with `value`.
void a_step_has_one_value(TaskId id, int attempt, const std::string& name, std::optional<std::int64_t> value,
                          const Database& database, StepValues& values);
/// `until` is as of this attempt, and `first_until` as of the first one that came to the wait.
void a_wait_keeps_its_time(TaskId id, const std::string& name, TimePoint until, TimePoint first_until);
/// `has_come`: an event that the task has waited for, or is about to wait for.
void no_event_is_missed(TaskId id, const std::string& name, bool has_come);

/// The schedule is about to fire a tick with the task.
void ticks_overlap_as_they_may(const ScheduleRow& schedule, TaskId id, const Database& database);
/// A call with a unique key has met the task.
void an_answer_names_the_holder(TaskId id, const std::string& key, const KeyRule& rule, const Database& database);
void a_key_is_taken_when_it_is_free(const std::string& key, const KeyRule& rule, const Database& database);
/// The task has its key, as a new one or as a replayed one.
void a_key_has_one_holder(TaskId id, const Database& database);
/// The transaction of a call that has met the task ends.
void a_holder_begins_after_the_call(TaskId id, const Database& database);
/// A claim gives the task with `args`. No call that has merged its args is missing, or is there twice.
void an_attempt_gets_the_args_of_all_calls(TaskId id, const Args& args, const Ledger& ledger);
void no_debounce_goes_on_for_ever(TaskId id, TimePoint due, TimePoint enqueued_at, TimePoint now, const KeyRule& rule);

void an_attempt_begins_once(TaskId id, int attempt, bool is_first);
/// `can_report`: a batch of reports was written under the lease.
void no_attempt_begins_that_cannot_be_recorded(TaskId id, int attempt, bool can_report);
/// The attempt has begun, and `busy` attempts of its queue run in its worker, which knows of the setting.
void no_more_run_at_once_than_are_set(TaskId id, int attempt, std::size_t busy, std::size_t set);
void no_attempt_begins_that_was_rescued(TaskId id, int attempt, const AttemptRows& attempts);
void nothing_begins_after_it_expired(TaskId id, int attempt, const Task& task, TimePoint database_now);
/// An attempt ends, by itself or given up. `lease`: as its worker knows it.
void a_lapse_stops_handlers(TaskId id, int attempt, runtime::Lease::State lease, StopReason reason);
void every_handler_ends_in_time(TaskId id, int attempt, Duration ran, Duration longest);
/// `held_until`: by the worker whose lease another worker ends at `now`.
void a_worker_knows_first(int worker, TimePoint held_until, TimePoint now);

/// The statement that defers has changed the row.
void a_deferral_spends_nothing(TaskId id, const Task& task, const AttemptRows& attempts);
/// Upkeep ends. Upkeep owes a rescue if it has ended leases, and no statement has failed since.
void a_worker_that_ends_rescues_what_it_has_ended(int worker, bool owes_rescue);
/// The completer ends. Events that were due when it was told to finish are written, or their write has failed.
void a_worker_that_ends_tells_its_circuits(int worker, bool owes_circuits);
/// The circuit has answered under its lock.
void a_half_open_circuit_lets_probes_through(const std::string& name,
                                             const runtime::CircuitLedger::Admission& admission,
                                             const Database& database, TimePoint asked_at, Probes& probes);
void note_places_that_become_free(const std::string& name, const runtime::CircuitLedger::Events& events,
                                  const Database& database, Probes& probes);
/// A worker goes by what it knows, and has asked nobody.
void an_open_circuit_is_heard(const std::string& name, const runtime::CircuitLedger::Admission& admission,
                              const Database& database, Duration within);
void no_failure_is_written_twice(const std::string& name, const CircuitFailures& failures);
/// A worker has claimed the task.
void a_task_put_off_is_claimed_in_time(TaskId id, PutOff& put_off, TimePoint now);
/// The budget has held the task back.
void first_runs_are_not_held_back(const runtime::ClaimedTask& task);
/// Of one queue of one worker, `begins` are about to begin after `begun`.
void retries_stay_within_their_budget(const std::vector<runtime::ClaimedTask>& begins,
                                      const RetryBudgetSettings& settings, TimePoint now, BegunAttempts& begun);

// ---- after the faults ----------------------------------------------------------------------------------------------

void every_task_ends(const Database& database);
void no_enqueued_task_is_lost(const Database& database);
void no_attempt_ends_that_has_not_begun(const Database& database, const Begun& begun);
/// `half_lost`: tasks that lost something in a failover. Their lost attempts may not be on record.
void every_execution_is_on_record(const Database& database, const Begun& begun, const std::set<TaskId>& half_lost);
void every_attempt_is_a_row(const Database& database);
/// Also only_failures_spend_retries, losses_are_counted, snoozes_are_counted and no_task_snoozes_too_often.
/// A failover may lose a claim. The worker may then hold the same attempt twice, by the lost claim and by a later one.
/// Such a worker may report the attempt with the counts of the lost claim (seed 63557).
void a_history_follows_the_rules(const Database& database, const std::set<TaskId>& half_lost);
void effects_happen_once(const Database& database);
/// A tick that cancels the task waits until the task has ended.
void an_earlier_tick_is_cancelled(TaskId id, const Database& database);
/// Each time of the schedule has one tick, with one task if it has fired.
void a_tick_fires_once(const Database& database);
/// The transaction of step_in writes a charge.
void a_charge_happens_once(const Database& database);
/// `answers`: to the calls of clients.
void a_call_takes_effect_once(const Database& database, const std::map<CallKey, std::vector<TaskId>>& answers);

/// All of the above.
void hold_after_the_faults(const Database& database, const Begun& begun, const std::set<TaskId>& half_lost,
                           const std::map<CallKey, std::vector<TaskId>>& answers);

// ---- in the calm ---------------------------------------------------------------------------------------------------

void a_task_begins_when_it_is_ready(const std::string& what, std::pair<TaskId, int> attempt, const Begun& begun,
                                    TimePoint until);
/// The queue is paused, and workers had until `until` to notice. No worker holds a task of the queue that has not
/// begun, and none has begun since.
void a_pause_holds_back_what_has_not_begun(const std::string& queue, TimePoint until, const Database& database,
                                           const Begun& begun);
/// The worker of `lost` has died. The task has ended, or its next attempt has begun by `until`.
void a_lost_task_begins_again_in_time(std::pair<TaskId, int> lost, const Database& database, const Begun& begun,
                                      TimePoint until);
/// By now: the handler was asked to stop when the worker heard of the cancellation, and had the stop grace to do so.
void a_cancelled_handler_ends(std::pair<TaskId, int> attempt, const Database& database);
/// The last worker that knows the schedule fires the tick in time. Heartbeats are a tenth of the usual ones here. With
/// usual ones ticks would come within a second even if no worker asked for them.
void a_tick_fires_in_time(const Database& database, Duration within);
/// By now: ticks were not refused for a second.
void no_tick_is_overdue(const Database& database);
/// By now: declarations were not refused for longer than upkeep waits for the next comparison.
void a_declared_schedule_is_in_force(const ScheduleSettings& declared, const Database& database);
/// By now: the handler has said so long enough ago, and the database has taken progress since.
void progress_is_on_record(const runtime::Attempt& attempt, std::int64_t value, const Database& database);
void progress_is_of_the_latest_attempt(const Database& database);
/// By now: the event was committed long enough ago, before the task waited for it or after.
void an_event_resumes_its_task(TaskId id, const Database& database);
/// By now: the time of all steps of the shutdown is over. `lease`: of the worker; nothing once it has ended.
void a_worker_that_is_stopped_ends(std::optional<std::int64_t> lease);
void a_shutdown_loses_nothing(std::size_t lost_before, const Database& database);
/// The task has succeeded at its first attempt, although the server was away for less than a lease.
void what_has_finished_counts(TaskId id, const Database& database);
void no_live_lease_is_ended(std::size_t before, std::size_t now);
/// The worker has sent `statements` while it had nothing to do.
void a_worker_at_rest_asks_little(int worker, std::int64_t statements, std::int64_t limit);

void no_task_is_put_off_for_ever(const PutOff& put_off, const Database& database, TimePoint now);
/// By now: so many attempts have failed in a row since the circuit was closed in the generation before.
void failures_open_a_circuit(const std::string& name, std::int64_t generation_before, std::int64_t failures,
                             const Database& database);
/// By now: as many probes as close it had time to begin.
void a_mended_service_closes_its_circuit(const std::string& name, const Database& database);
void a_worker_knows_its_circuits(int worker, const std::string& name, CircuitState known, const CircuitRow& row);
void every_failure_is_written(int worker, const std::string& name, const CircuitFailures& failures);

[[nodiscard]] std::size_t count_lost(const Database& database);

}  // namespace dogged::sim::promises
