// The mistakes that the simulation can make on purpose. Each mutant takes away one thing that keeps a guarantee, and
// the simulation must see a promise broken (`dogged_sim --mutants`).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace dogged::sim {

enum class Mutant {
  none,
  // Statements of the database.
  claim_of_an_old_session,            ///< a claim that arrives late counts in the next session
  claim_of_an_ended_lease,            ///< tasks are claimed under a lease that was ended
  claim_of_locked_rows,               ///< a claim takes rows that another session has locked
  claim_without_a_note,               ///< dogged.claims does not name what a claim has taken
  completion_without_a_fence,         ///< a report counts even if another worker holds the task
  completion_of_any_attempt,          ///< a report counts for a later attempt
  completion_twice,                   ///< a report counts again that is on record
  completion_despite_a_cancel,        ///< a report schedules a retry of a task whose cancellation was requested
  release_of_an_old_session,          ///< a release that arrives late takes a task away that was claimed again
  release_that_forgets_a_cancel,      ///< a task that is given back runs again, though it was to be cancelled
  rescue_of_live_leases,              ///< tasks are rescued whose lease was not ended
  rescue_forgets_claims,              ///< a rescued worker's claims are forgotten while its tasks still run
  rescue_that_wakes_nobody,           ///< rescued tasks notify no sleeper
  loss_without_a_row,                 ///< a rescued attempt is not recorded
  loss_that_does_not_count,           ///< a task may be lost any number of times
  lease_ended_before_its_lapse,       ///< a look at lapsed leases ends those of live workers as well
  lease_renewed_after_its_end,        ///< a heartbeat renews a lease that was ended
  name_of_a_lapsed_lease,             ///< a lease that has lapsed keeps its name for ever
  promotion_at_an_old_place,          ///< a due task is made ready at a place that watermarks have passed
  promotion_before_its_time,          ///< tasks are made ready that are not due
  snooze_that_does_not_count,         ///< a task may snooze any number of times
  retry_without_its_delay,            ///< a retry is ready at once
  retry_after_its_expiry,             ///< a retry is scheduled after the task's expires_at
  no_notification,                    ///< an enqueue notifies no sleeper
  made_ready_at_an_old_place,         ///< a task that an operator makes ready keeps a place that watermarks have passed
  wake_up_of_an_old_session,          ///< a worker that has fallen asleep again is taken for awake, and not notified
  reschedule_without_a_notification,  ///< a rescheduled task wakes no sleeper
  cancel_without_a_notification,      ///< a worker hears of a cancellation when it polls
  effects_outside_the_transaction,    ///< a handler's writes are committed even if complete_in is refused
  call_that_takes_effect_again,       ///< a repeated call is not recognised
  tick_that_fires_again,              ///< the next time of a schedule is not stored with its tick
  overlap_that_is_overlooked,         ///< a tick fires although the task of an earlier one is alive
  tick_that_cancels_nothing,          ///< a tick of cancel_other leaves the task of an earlier one alone
  pause_that_leaves_no_row,           ///< the ticks of a pause are not on record
  change_that_forgets_due_ticks,      ///< ticks that are due when the distances change are not on record
  range_that_loses_its_rest,          ///< a backfill of the first tick of a skipped range forgets the others
  declaration_that_changes_nothing,   ///< a declared schedule is on record, and is not put in force
  pause_that_never_ends,              ///< a queue that is paused for a while stays paused until it is resumed
  step_without_a_fence,               ///< a step is recorded for a worker that has lost its task
  step_of_any_attempt,                ///< a write of a step that arrives late counts in a later attempt
  record_that_is_not_found,           ///< a later attempt does not get what was recorded
  checkpoint_without_a_fence,         ///< the place of a loop is saved for a worker that has lost its task
  checkpoint_that_is_not_found,       ///< a later attempt begins a loop anew
  charge_outside_the_transaction,     ///< what a step writes is committed even if step_in is refused
  wait_that_begins_anew,              ///< the time of a wait counts from the latest attempt
  wait_that_overlooks_an_event,       ///< a wait finds no event that came before it
  wait_beside_an_emit,                ///< a wait begins while an emit of its event is not committed
  event_that_wakes_nobody,            ///< an event does not resume the tasks that wait for it
  event_that_keeps_the_place,         ///< a task that an event resumes is ready at a place that watermarks have passed
  event_without_a_notification,       ///< an event notifies no sleeper
  key_that_is_free_while_its_task_runs,  ///< a task holds its key only until its attempt begins
  key_that_two_transactions_take,        ///< a call does not wait for another one that takes the key
  replay_beside_its_twin,                ///< a dead letter is replayed although another task holds its key
  key_of_an_expired_task,                ///< a pending task that has expired holds its key until upkeep ends it
  holder_that_is_not_locked,             ///< a holder may begin before the call that met it has committed
  holder_that_is_passed_over,            ///< nobody is told to look again for a holder that was locked
  debounce_without_end,                  ///< a debounce moves a task beyond its latest time
  merge_that_replaces,                   ///< a merge leaves the holder nothing but the args of the call
  merge_that_does_not_wait,              ///< a merge adds to args that another open transaction is changing
  deferral_that_spends_an_attempt,       ///< a task that is put off has made an attempt
  deferral_of_an_old_session,            ///< a deferral that arrives late takes a task away that was claimed again
  deferral_that_forgets_a_cancel,        ///< a task that is put off runs again, though it was to be cancelled
  circuit_that_is_not_locked,            ///< of two workers that change a circuit at once, one overwrites the other
  circuit_that_changes_in_silence,       ///< no worker is notified of a circuit's new state
  circuit_that_is_passed_over,  ///< a worker that reads the circuits misses one that another session has locked
  progress_without_a_fence,     ///< progress that arrives late counts for a later attempt
  // The worker's drivers.
  begins_after_the_lapse,                 ///< a task begins when the time of its lease is over
  begins_after_its_expiry,                ///< a task that has waited for a thread begins after its expires_at
  renewal_counts_from_its_answer,         ///< and not from when it was asked for
  forgets_what_waits,                     ///< the held tasks leave out those that wait for a thread
  forgets_what_is_reported,               ///< the worker forgets tasks before it has written their reports
  drops_a_report,                         ///< the completer sends no report again after a failed sending
  ignores_a_lost_answer,                  ///< the claimer goes on after a lost answer as if nothing was asked
  sleeps_before_it_listens,               ///< notifications of before are lost
  forgets_a_deferral,                     ///< the claimer never promotes a task that waits for its retry
  keeps_tasks_of_a_paused_queue,          ///< a pause makes a worker give nothing back
  follows_no_pause,                       ///< workers claim from paused queues
  forgets_when_a_pause_ends,              ///< a worker does not look when a pause ends by itself
  follows_no_concurrency,                 ///< workers run as many tasks at once as when they began
  claims_before_it_can_report,            ///< a worker claims although no batch of reports was written yet
  proves_once,                            ///< a completer writes no second batch after its first one has failed
  tells_nobody_of_its_proof,              ///< the claimer does not hear that reports can be written
  stops_without_giving_back,              ///< a worker that stops leaves its tasks to be rescued
  interrupts_what_has_not_begun,          ///< a worker that stops records its waiting tasks as interrupted
  spends_a_retry_on_an_interruption,      ///< an interrupted attempt costs a retry
  gives_no_handler_up,                    ///< a handler that ignores its stop token runs on
  waits_for_its_name_for_ever,            ///< a worker asks only once for a name that is in use
  ignores_the_next_lapse,                 ///< upkeep does not look when the next lease lapses
  ends_leases_once_the_server_is_back,    ///< live workers have no time to renew theirs
  looks_late_for_ticks,                   ///< upkeep asks for due ticks only when it looks at leases
  waits_for_a_notification,               ///< a worker that only polls does not look by itself
  forgets_that_a_worker_began,            ///< upkeep does not look when a worker has registered
  forgets_that_schedules_changed,         ///< upkeep asks for the ticks of a changed schedule when it looks
  lets_a_refusal_stop_all_rescues,        ///< upkeep rescues no other tasks after a refusal
  gives_refused_ticks_up,                 ///< upkeep never tries ticks again that were refused
  takes_refused_ticks_for_a_lost_server,  ///< upkeep does not look while ticks are refused
  forgets_a_refused_comparison,           ///< upkeep takes declarations that were refused for compared
  stops_before_its_rescue,                ///< upkeep stops between the end of leases and the rescue
  forgets_refused_progress,               ///< the keeper drops progress after a refused write
  writes_no_last_progress,                ///< a keeper that stops leaves the last progress unwritten
  finishes_without_its_circuits,          ///< a completer that finishes gives circuits no last turn
  tries_reports_for_ever,                 ///< a completer that finishes gives no batch up
  reads_no_circuits,                      ///< a worker goes by the circuits as they were when it began
  half_open_lets_all_through,             ///< a half-open circuit bounds no probes
  probes_never_expire,                    ///< a probe keeps its place after its worker has died
  drops_circuit_events,                   ///< what could not be written of attempts is forgotten
  writes_circuit_events_again,            ///< the worker writes events of attempts twice
  budget_is_not_asked,                    ///< retries begin beyond the budget of their queue
  budget_that_is_not_refilled,            ///< for the budget, no time passes
  budget_of_first_runs,                   ///< first runs spend the budget of retries
  renews_as_if_busy,                      ///< a worker without tasks renews its lease at each heartbeat
};

struct MutantRow {
  Mutant mutant;
  std::string_view name;
  std::string_view guarantee;  ///< of docs/guarantees.md, that it breaks
  /// Of a statement that conformance runs: the seed of dogged_conformance that has caught the mutant.
  /// dogged_conformance tries this seed first: 54 mutants took 54 seeds, and not 391. 0: not of a statement.
  std::uint64_t conformance_seed = 0;
};

#define DOGGED_MUTANT(name) Mutant::name, #name
inline constexpr std::array all_mutants{
    MutantRow{DOGGED_MUTANT(claim_of_an_old_session), "G1", 2},
    MutantRow{DOGGED_MUTANT(claim_of_an_ended_lease), "G7", 9},
    MutantRow{DOGGED_MUTANT(claim_of_locked_rows), "G4", 9},
    MutantRow{DOGGED_MUTANT(claim_without_a_note), "G1", 9},
    MutantRow{DOGGED_MUTANT(completion_without_a_fence), "G4", 2},
    MutantRow{DOGGED_MUTANT(completion_of_any_attempt), "G4", 2},
    MutantRow{DOGGED_MUTANT(completion_twice), "G4", 8},
    MutantRow{DOGGED_MUTANT(completion_despite_a_cancel), "G12", 1},
    MutantRow{DOGGED_MUTANT(release_of_an_old_session), "G4", 23},
    MutantRow{DOGGED_MUTANT(release_that_forgets_a_cancel), "G12", 8},
    MutantRow{DOGGED_MUTANT(rescue_of_live_leases), "G7", 4},
    MutantRow{DOGGED_MUTANT(rescue_forgets_claims), "G1", 15},
    MutantRow{DOGGED_MUTANT(rescue_that_wakes_nobody), "G5", 100},
    MutantRow{DOGGED_MUTANT(loss_without_a_row), "G3", 15},
    MutantRow{DOGGED_MUTANT(loss_that_does_not_count), "G6", 62},
    MutantRow{DOGGED_MUTANT(lease_ended_before_its_lapse), "G7", 25},
    MutantRow{DOGGED_MUTANT(lease_renewed_after_its_end), "G1", 25},
    MutantRow{DOGGED_MUTANT(name_of_a_lapsed_lease), "G5", 1},
    MutantRow{DOGGED_MUTANT(promotion_at_an_old_place), "G14", 18},
    MutantRow{DOGGED_MUTANT(promotion_before_its_time), "G8", 18},
    MutantRow{DOGGED_MUTANT(snooze_that_does_not_count), "G17", 17},
    MutantRow{DOGGED_MUTANT(retry_without_its_delay), "G8", 17},
    MutantRow{DOGGED_MUTANT(retry_after_its_expiry), "G16", 8},
    MutantRow{DOGGED_MUTANT(no_notification), "G14", 17},
    MutantRow{DOGGED_MUTANT(made_ready_at_an_old_place), "G14", 17},
    MutantRow{DOGGED_MUTANT(wake_up_of_an_old_session), "G14", 2},
    MutantRow{DOGGED_MUTANT(reschedule_without_a_notification), "G14", 17},
    MutantRow{DOGGED_MUTANT(cancel_without_a_notification), "G12", 2},
    MutantRow{DOGGED_MUTANT(effects_outside_the_transaction), "G13"},
    MutantRow{DOGGED_MUTANT(call_that_takes_effect_again), "G15", 1},
    MutantRow{DOGGED_MUTANT(tick_that_fires_again), "G18", 87},
    MutantRow{DOGGED_MUTANT(overlap_that_is_overlooked), "G18"},
    MutantRow{DOGGED_MUTANT(tick_that_cancels_nothing), "G18", 14},
    MutantRow{DOGGED_MUTANT(pause_that_leaves_no_row), "G18", 11},
    MutantRow{DOGGED_MUTANT(change_that_forgets_due_ticks), "G18", 29},
    MutantRow{DOGGED_MUTANT(range_that_loses_its_rest), "G18", 15},
    MutantRow{DOGGED_MUTANT(declaration_that_changes_nothing), "G18", 1},
    MutantRow{DOGGED_MUTANT(pause_that_never_ends), "G14", 3},
    MutantRow{DOGGED_MUTANT(looks_late_for_ticks), "G18"},
    MutantRow{DOGGED_MUTANT(step_without_a_fence), "G19", 1},
    MutantRow{DOGGED_MUTANT(step_of_any_attempt), "G19", 1},
    MutantRow{DOGGED_MUTANT(record_that_is_not_found), "G19", 64},
    MutantRow{DOGGED_MUTANT(checkpoint_without_a_fence), "G19", 1},
    MutantRow{DOGGED_MUTANT(checkpoint_that_is_not_found), "G19", 17},
    MutantRow{DOGGED_MUTANT(charge_outside_the_transaction), "G19"},
    MutantRow{DOGGED_MUTANT(wait_that_begins_anew), "G19"},
    MutantRow{DOGGED_MUTANT(wait_that_overlooks_an_event), "G19", 2},
    MutantRow{DOGGED_MUTANT(wait_beside_an_emit), "G19", 2},
    MutantRow{DOGGED_MUTANT(event_that_wakes_nobody), "G19", 6},
    MutantRow{DOGGED_MUTANT(event_that_keeps_the_place), "G14", 6},
    MutantRow{DOGGED_MUTANT(event_without_a_notification), "G14", 17},
    MutantRow{DOGGED_MUTANT(key_that_is_free_while_its_task_runs), "G20", 6},
    MutantRow{DOGGED_MUTANT(key_that_two_transactions_take), "G20"},
    MutantRow{DOGGED_MUTANT(replay_beside_its_twin), "G20"},
    MutantRow{DOGGED_MUTANT(key_of_an_expired_task), "G20", 18},
    MutantRow{DOGGED_MUTANT(holder_that_is_not_locked), "G20", 18},
    MutantRow{DOGGED_MUTANT(holder_that_is_passed_over), "G14", 18},
    MutantRow{DOGGED_MUTANT(debounce_without_end), "G20", 18},
    MutantRow{DOGGED_MUTANT(merge_that_replaces), "G20", 2},
    MutantRow{DOGGED_MUTANT(merge_that_does_not_wait), "G20", 4},
    MutantRow{DOGGED_MUTANT(deferral_that_spends_an_attempt), "G22", 18},
    MutantRow{DOGGED_MUTANT(deferral_of_an_old_session), "G4", 25},
    MutantRow{DOGGED_MUTANT(deferral_that_forgets_a_cancel), "G12", 9},
    MutantRow{DOGGED_MUTANT(circuit_that_is_not_locked), "G22", 19},
    MutantRow{DOGGED_MUTANT(circuit_that_changes_in_silence), "G22", 19},
    MutantRow{DOGGED_MUTANT(circuit_that_is_passed_over), "G22", 1},
    MutantRow{DOGGED_MUTANT(progress_without_a_fence), "G21", 1},
    MutantRow{DOGGED_MUTANT(begins_after_the_lapse), "G7"},
    MutantRow{DOGGED_MUTANT(begins_after_its_expiry), "G16"},
    MutantRow{DOGGED_MUTANT(renewal_counts_from_its_answer), "G7"},
    MutantRow{DOGGED_MUTANT(waits_for_its_name_for_ever), "G5"},
    MutantRow{DOGGED_MUTANT(forgets_what_waits), "G3"},
    MutantRow{DOGGED_MUTANT(forgets_what_is_reported), "G10"},
    MutantRow{DOGGED_MUTANT(drops_a_report), "G10"},
    MutantRow{DOGGED_MUTANT(ignores_a_lost_answer), "G10"},
    MutantRow{DOGGED_MUTANT(sleeps_before_it_listens), "G14"},
    MutantRow{DOGGED_MUTANT(forgets_a_deferral), "G1"},
    MutantRow{DOGGED_MUTANT(keeps_tasks_of_a_paused_queue), "G14"},
    MutantRow{DOGGED_MUTANT(follows_no_pause), "G14"},
    MutantRow{DOGGED_MUTANT(forgets_when_a_pause_ends), "G14"},
    MutantRow{DOGGED_MUTANT(follows_no_concurrency), "G14"},
    MutantRow{DOGGED_MUTANT(claims_before_it_can_report), "G3"},
    MutantRow{DOGGED_MUTANT(proves_once), "G14"},
    MutantRow{DOGGED_MUTANT(tells_nobody_of_its_proof), "G14"},
    MutantRow{DOGGED_MUTANT(stops_without_giving_back), "G9"},
    MutantRow{DOGGED_MUTANT(interrupts_what_has_not_begun), "G2"},
    MutantRow{DOGGED_MUTANT(spends_a_retry_on_an_interruption), "G9"},
    MutantRow{DOGGED_MUTANT(gives_no_handler_up), "G11"},
    MutantRow{DOGGED_MUTANT(ignores_the_next_lapse), "G5"},
    MutantRow{DOGGED_MUTANT(ends_leases_once_the_server_is_back), "G10"},
    MutantRow{DOGGED_MUTANT(waits_for_a_notification), "G14"},
    MutantRow{DOGGED_MUTANT(forgets_that_a_worker_began), "G5"},
    MutantRow{DOGGED_MUTANT(forgets_that_schedules_changed), "G18"},
    MutantRow{DOGGED_MUTANT(lets_a_refusal_stop_all_rescues), "G5"},
    MutantRow{DOGGED_MUTANT(gives_refused_ticks_up), "G18"},
    MutantRow{DOGGED_MUTANT(takes_refused_ticks_for_a_lost_server), "G5"},
    MutantRow{DOGGED_MUTANT(forgets_a_refused_comparison), "G18"},
    MutantRow{DOGGED_MUTANT(stops_before_its_rescue), "G5"},
    MutantRow{DOGGED_MUTANT(forgets_refused_progress), "G21"},
    MutantRow{DOGGED_MUTANT(writes_no_last_progress), "G21"},
    MutantRow{DOGGED_MUTANT(finishes_without_its_circuits), "G22"},
    MutantRow{DOGGED_MUTANT(tries_reports_for_ever), "G9"},
    MutantRow{DOGGED_MUTANT(reads_no_circuits), "G22"},
    MutantRow{DOGGED_MUTANT(half_open_lets_all_through), "G22"},
    MutantRow{DOGGED_MUTANT(probes_never_expire), "G22"},
    MutantRow{DOGGED_MUTANT(drops_circuit_events), "G22"},
    MutantRow{DOGGED_MUTANT(writes_circuit_events_again), "G22"},
    MutantRow{DOGGED_MUTANT(budget_is_not_asked), "G23"},
    MutantRow{DOGGED_MUTANT(budget_that_is_not_refilled), "G23"},
    MutantRow{DOGGED_MUTANT(budget_of_first_runs), "G23"},
    MutantRow{DOGGED_MUTANT(renews_as_if_busy), "G14"},
};
#undef DOGGED_MUTANT

[[nodiscard]] constexpr bool has_mutant(std::string_view guarantee) noexcept {
  for (const MutantRow& row : all_mutants) {
    if (row.guarantee == guarantee) return true;
  }
  return false;
}
static_assert(has_mutant("G1") && has_mutant("G2") && has_mutant("G3") && has_mutant("G4") && has_mutant("G5") &&
              has_mutant("G6") && has_mutant("G7") && has_mutant("G8") && has_mutant("G9") && has_mutant("G10") &&
              has_mutant("G11") && has_mutant("G12") && has_mutant("G13") && has_mutant("G14") && has_mutant("G15") &&
              has_mutant("G16") && has_mutant("G17") && has_mutant("G18") && has_mutant("G19") && has_mutant("G20") &&
              has_mutant("G21") && has_mutant("G22") && has_mutant("G23"));

[[nodiscard]] constexpr std::string_view to_text(Mutant mutant) noexcept {
  for (const MutantRow& row : all_mutants) {
    if (row.mutant == mutant) return row.name;
  }
  return "none";
}

[[nodiscard]] inline std::map<std::string, Mutant> mutants_by_name() {
  std::map<std::string, Mutant> mutants;
  for (const MutantRow& row : all_mutants) mutants.emplace(row.name, row.mutant);
  return mutants;
}

}  // namespace dogged::sim
