// The mistakes that the simulation can make on purpose. Each mutant takes away one thing that keeps a promise, and the
// simulation must see the promise broken (`dogged_sim --mutants`).
#pragma once

#include <array>
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
  rescue_of_live_leases,              ///< tasks are rescued whose lease was not ended
  rescue_forgets_claims,              ///< a rescued worker's claims are forgotten while its tasks still run
  lease_renewed_after_its_end,        ///< a heartbeat renews a lease that was ended
  promotion_at_an_old_place,          ///< a due task is made ready at a place that watermarks have passed
  no_notification,                    ///< an enqueue notifies no sleeper
  made_ready_at_an_old_place,         ///< a task that an operator makes ready keeps a place that watermarks have passed
  wake_up_of_an_old_session,          ///< a worker that has fallen asleep again is taken for awake, and not notified
  reschedule_without_a_notification,  ///< a rescheduled task wakes no sleeper
  // The worker's drivers. The mutants before are of statements, which conformance must see as well.
  begins_after_the_lapse,    ///< a task begins when the time of its lease is over
  forgets_what_waits,        ///< the held tasks leave out those that wait for a thread
  forgets_what_is_reported,  ///< and those whose report is not written
  drops_a_report,            ///< a report whose sending failed is not sent again
  ignores_a_lost_answer,     ///< the claimer goes on after a lost answer as if nothing was asked
  sleeps_before_it_listens,  ///< notifications of before are lost
  forgets_a_put_off,         ///< a task whose retry is not due at once is never promoted
};

inline constexpr std::array all_mutants{
    Mutant::claim_of_an_old_session,
    Mutant::claim_of_an_ended_lease,
    Mutant::claim_of_locked_rows,
    Mutant::claim_without_a_note,
    Mutant::completion_without_a_fence,
    Mutant::completion_of_any_attempt,
    Mutant::completion_twice,
    Mutant::completion_despite_a_cancel,
    Mutant::release_of_an_old_session,
    Mutant::rescue_of_live_leases,
    Mutant::rescue_forgets_claims,
    Mutant::lease_renewed_after_its_end,
    Mutant::promotion_at_an_old_place,
    Mutant::no_notification,
    Mutant::made_ready_at_an_old_place,
    Mutant::wake_up_of_an_old_session,
    Mutant::reschedule_without_a_notification,
    Mutant::begins_after_the_lapse,
    Mutant::forgets_what_waits,
    Mutant::forgets_what_is_reported,
    Mutant::drops_a_report,
    Mutant::ignores_a_lost_answer,
    Mutant::sleeps_before_it_listens,
    Mutant::forgets_a_put_off,
};

[[nodiscard]] constexpr std::string_view to_text(Mutant mutant) noexcept {
  switch (mutant) {
    case Mutant::none:
      return "none";
    case Mutant::claim_of_an_old_session:
      return "claim_of_an_old_session";
    case Mutant::claim_of_an_ended_lease:
      return "claim_of_an_ended_lease";
    case Mutant::claim_of_locked_rows:
      return "claim_of_locked_rows";
    case Mutant::claim_without_a_note:
      return "claim_without_a_note";
    case Mutant::completion_without_a_fence:
      return "completion_without_a_fence";
    case Mutant::completion_of_any_attempt:
      return "completion_of_any_attempt";
    case Mutant::completion_twice:
      return "completion_twice";
    case Mutant::completion_despite_a_cancel:
      return "completion_despite_a_cancel";
    case Mutant::release_of_an_old_session:
      return "release_of_an_old_session";
    case Mutant::rescue_of_live_leases:
      return "rescue_of_live_leases";
    case Mutant::rescue_forgets_claims:
      return "rescue_forgets_claims";
    case Mutant::lease_renewed_after_its_end:
      return "lease_renewed_after_its_end";
    case Mutant::promotion_at_an_old_place:
      return "promotion_at_an_old_place";
    case Mutant::no_notification:
      return "no_notification";
    case Mutant::made_ready_at_an_old_place:
      return "made_ready_at_an_old_place";
    case Mutant::wake_up_of_an_old_session:
      return "wake_up_of_an_old_session";
    case Mutant::reschedule_without_a_notification:
      return "reschedule_without_a_notification";
    case Mutant::begins_after_the_lapse:
      return "begins_after_the_lapse";
    case Mutant::forgets_what_waits:
      return "forgets_what_waits";
    case Mutant::forgets_what_is_reported:
      return "forgets_what_is_reported";
    case Mutant::drops_a_report:
      return "drops_a_report";
    case Mutant::ignores_a_lost_answer:
      return "ignores_a_lost_answer";
    case Mutant::sleeps_before_it_listens:
      return "sleeps_before_it_listens";
    case Mutant::forgets_a_put_off:
      return "forgets_a_put_off";
  }
  return "unknown";
}

}  // namespace dogged::sim
