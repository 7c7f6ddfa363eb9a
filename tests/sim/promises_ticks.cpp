// Promises of schedules: G18. See promises.hpp.
#include <algorithm>

#include "promises.hpp"
#include "require.hpp"

namespace dogged::sim::promises {

using Outcome = ScheduleRow::Outcome;

/// A schedule knows nothing of a dead letter that was replayed.
void ticks_overlap_as_they_may(const ScheduleRow& schedule, TaskId id, const Database& database) {
  if (schedule.settings.overlap == Overlap::allow_all) return;
  for (const auto& [time, tick] : schedule.ticks) {
    for (const TaskId earlier : tick.tasks) {
      const bool is_alive = database.live().contains(earlier) && !database.ledger().replayed.contains(earlier);
      require(!is_alive, "G18", "no tick fires while the task of an earlier one is alive",
              named(id) + " beside " + named(earlier));
    }
  }
}

void a_tick_fires_once(const Database& database) {
  const ScheduleRow& schedule = database.durable().schedule;
  std::optional<TimePoint> before;
  for (const auto& [time, tick] : schedule.ticks) {
    const bool is_fired = tick.outcome == Outcome::fired;
    require(tick.tasks.size() == (is_fired ? 1 : 0), "G18", "a tick fires once",
            "it has " + std::to_string(tick.tasks.size()) + " tasks");
    require(!is_fired || database.tasks().contains(tick.tasks.front()), "G18", "a tick that fired has a task",
            is_fired ? named(tick.tasks.front()) : std::string{});
    require(!before || time - *before == schedule.settings.every, "G18", "no tick is lost",
            "there is none for " + in_ms(time - before.value_or(time)));
    before = tick.missed_until ? *tick.missed_until - schedule.settings.every : time;
  }
}

void a_tick_fires_in_time(const Database& database) {
  for (const auto& [time, tick] : database.durable().schedule.ticks) {
    require(tick.fired_at - time < std::chrono::milliseconds{400}, "G18", "a tick fires when it is due",
            in_ms(tick.fired_at - time) + " late");
  }
}

}  // namespace dogged::sim::promises
