// Promises of schedules: G18. See promises.hpp.
#include <algorithm>

#include "promises.hpp"
#include "require.hpp"

namespace dogged::sim::promises {
namespace {

using Outcome = ScheduleRow::Outcome;

/// The first time of the schedule after a tick and the range for which it stands. Of the times before the schedule was
/// made there are those that a backfill has asked for.
TimePoint end_of(TimePoint time, const ScheduleRow::Tick& tick, const ScheduleRow& schedule) {
  TimePoint end = time + tick.every;
  if (tick.skipped_until) {
    const Duration range = *tick.skipped_until - time;
    end = time + (range / tick.every + (range % tick.every > Duration{0} ? 1 : 0)) * tick.every;
  }
  return time < schedule.first_at ? std::max(end, schedule.first_at) : end;
}

/// The next time of a schedule after a tick: `next`, unless the distances were changed before that.
TimePoint next_after_changes(const ScheduleRow& schedule, const ScheduleRow::Tick& tick, TimePoint next) {
  for (std::size_t i = tick.changes; i < schedule.changes.size(); ++i) {
    if (schedule.changes[i].at < next) next = schedule.changes[i].next_at;
  }
  return next;
}

}  // namespace

/// A schedule knows nothing of a dead letter that was replayed.
void ticks_overlap_as_they_may(const ScheduleRow& schedule, TaskId id, const Database& database) {
  for (const auto& [time, tick] : schedule.ticks) {
    if (tick.is_forgotten) continue;
    for (const TaskId earlier : tick.tasks) {
      const bool is_alive = database.live().contains(earlier) && !database.ledger().replayed.contains(earlier);
      require(!is_alive, "G18", "no tick fires while the task of an earlier one is alive", Named{id}, " beside ",
              Named{earlier});
    }
  }
}

void an_earlier_tick_is_cancelled(TaskId id, const Database& database) {
  const Task& task = database.tasks().at(id);
  require(task.cancel_requested || task.state == Task::State::ended, "G18", "a tick cancels the tasks of earlier ones",
          Named{id});
}

void a_tick_fires_once(const Database& database) {
  const ScheduleRow& schedule = database.durable().schedule;
  std::optional<TimePoint> on_record_until;
  for (const auto& [time, tick] : schedule.ticks) {
    const bool is_fired = tick.outcome == Outcome::fired;
    require(tick.tasks.size() == (is_fired ? 1 : 0), "G18", "a tick fires once", "it has ", tick.tasks.size(),
            " tasks");
    require(!is_fired || database.tasks().contains(tick.tasks.front()), "G18", "a tick that fired has a task",
            is_fired ? named(tick.tasks.front()) : std::string{});
    // No worker has decided on the times from the next one on. A backfill may have taken some of these times.
    const bool is_next = !on_record_until || time <= *on_record_until || schedule.next_at <= *on_record_until;
    require(is_next, "G18", "no tick is lost", "there is none for ", InMs{time - on_record_until.value_or(time)});
    on_record_until =
        std::max(on_record_until.value_or(time), next_after_changes(schedule, tick, end_of(time, tick, schedule)));
  }
  require(!on_record_until || schedule.next_at <= *on_record_until, "G18", "no tick is lost", "the next one is ",
          InMs{schedule.next_at - on_record_until.value_or(schedule.next_at)}, " later");
}

void a_tick_fires_in_time(const Database& database, Duration within) {
  for (const auto& [time, tick] : database.durable().schedule.ticks) {
    require(tick.fired_at - time < within, "G18", "a tick fires when it is due", InMs{tick.fired_at - time}, " late");
  }
}

}  // namespace dogged::sim::promises
