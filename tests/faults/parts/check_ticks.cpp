// See checks.hpp.
#include <algorithm>
#include <set>

#include "checks.hpp"

namespace dogged::faults {
namespace {

std::string name_of_tick(const std::string& schedule, const TickRow& tick) {
  return "the tick of " + schedule + " at " + std::to_string(tick.scheduled_at) + " (" + tick.outcome + ")";
}

using TaskOf = std::map<TaskId, const TaskRow*>;

void check_outcome(const std::string& tick_name, const TickRow& tick, Complaints& complaints) {
  if ((tick.outcome == "fired") != (tick.task_id != 0)) {
    complaints.push_back(tick_name + (tick.task_id == 0 ? " names no task" : " names " + name_of(tick.task_id)));
  }
  if ((tick.outcome == "skipped") == tick.reason.empty()) {
    complaints.push_back(tick_name + (tick.reason.empty() ? " has no reason" : " has the reason " + tick.reason));
  }
  if (tick.decided_at < tick.scheduled_at) complaints.push_back(tick_name + " was decided before its time");
}

void check_task(const std::string& tick_name, const std::string& schedule, const TickRow& tick, const TaskOf& tasks,
                Complaints& complaints) {
  if (tick.task_id == 0) return;
  const auto task = tasks.find(tick.task_id);
  if (task == tasks.end()) {
    complaints.push_back(tick_name + " names " + name_of(tick.task_id) + ", which is not there");
  } else if (task->second->schedule != schedule) {
    complaints.push_back(tick_name + " names " + name_of(tick.task_id) + ", which is not of this schedule");
  }
}

/// From each tick to the next one, and from the last one to the time that is to come.
void check_none_is_lost(const ScheduleRow& schedule, const std::vector<const TickRow*>& ticks, Complaints& complaints) {
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const TimeUs expected = ticks[i]->skipped_until.value_or(ticks[i]->scheduled_at + schedule.every);
    const TimeUs next = i + 1 < ticks.size() ? ticks[i + 1]->scheduled_at : schedule.next_at;
    if (next == expected) continue;
    complaints.push_back(name_of_tick(schedule.name, *ticks[i]) + " is followed by " + std::to_string(next) +
                         ", and not by " + std::to_string(expected));
  }
}

void check_schedule(const ScheduleRow& schedule, const Evidence& evidence, const TaskOf& tasks,
                    Complaints& complaints) {
  std::vector<const TickRow*> ticks;
  std::set<TimeUs> fired;
  for (const TickRow& tick : evidence.ticks) {
    if (tick.schedule_id != schedule.id) continue;
    ticks.push_back(&tick);
    const std::string name = name_of_tick(schedule.name, tick);
    check_outcome(name, tick, complaints);
    check_task(name, schedule.name, tick, tasks, complaints);
    if (tick.outcome == "fired" && !fired.insert(tick.scheduled_at).second) complaints.push_back(name + " fired twice");
  }
  check_none_is_lost(schedule, ticks, complaints);
}

/// In both directions, a task and its tick.
void check_tasks_have_ticks(const Evidence& evidence, Complaints& complaints) {
  std::map<TaskId, int> ticks_of;
  for (const TickRow& tick : evidence.ticks) ++ticks_of[tick.task_id];
  for (const TaskRow& task : evidence.tasks) {
    const auto found = ticks_of.find(task.id);
    const int ticks = found == ticks_of.end() ? 0 : found->second;
    if (task.schedule.empty() ? ticks == 0 : ticks == 1) continue;
    complaints.push_back(name_of(task.id) + " of schedule \"" + task.schedule + "\" has " + std::to_string(ticks) +
                         " ticks");
  }
}

}  // namespace

void check_ticks(const Evidence& evidence, const AttemptsOf& attempts, Complaints& complaints) {
  TaskOf tasks;
  for (const TaskRow& task : evidence.tasks) tasks[task.id] = &task;
  check_tasks_have_ticks(evidence, complaints);
  for (const ScheduleRow& schedule : evidence.schedules) {
    check_schedule(schedule, evidence, tasks, complaints);
    if (!schedule.one_at_a_time) continue;
    std::vector<const TaskRow*> of_schedule;
    for (const TaskRow& task : evidence.tasks) {
      if (task.schedule == schedule.name) of_schedule.push_back(&task);
    }
    check_one_at_a_time(std::move(of_schedule), attempts, "of schedule \"" + schedule.name + "\"", complaints);
  }
}

}  // namespace dogged::faults
