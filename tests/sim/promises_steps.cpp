// Promises of steps, waits and events: G19. See promises.hpp.
#include <algorithm>
#include <iterator>

#include "promises.hpp"
#include "require.hpp"

namespace dogged::sim::promises {
namespace {

std::string shown(const std::optional<std::int64_t>& value) { return value ? std::to_string(*value) : "nothing"; }

/// How often a replay has run the steps of the task again, before the attempt.
std::ptrdiff_t replays_before(TaskId id, int attempt, const Database& database) {
  const auto found = database.durable().steps_again.find(id);
  if (found == database.durable().steps_again.end()) return 0;
  return std::distance(found->second.begin(), found->second.lower_bound(attempt));
}

}  // namespace

void a_step_is_of_the_holder(TaskId id, const std::string& name, const Task& task, std::int64_t worker, int attempt) {
  require(task.state == Task::State::running && task.worker == worker && task.attempt == attempt, "G19",
          "a step is recorded while its worker holds the task", Named{id}, " step ", name, " of worker ", worker,
          " attempt ", attempt);
}

void a_recorded_step_does_not_run_again(TaskId id, int attempt, const std::string& name, const Database& database) {
  const auto rows = database.durable().steps.find({id, name});
  if (rows == database.durable().steps.end()) return;
  const std::ptrdiff_t replays = replays_before(id, attempt, database);
  for (const auto& [earlier, row] : rows->second) {
    // An attempt that a failover has given back begins again under its number.
    const bool counts = earlier <= attempt && replays_before(id, earlier, database) == replays;
    require(!counts, "G19", "no attempt repeats a recorded step", Named{id}, " step ", name, " of attempt ", earlier,
            ", in attempt ", attempt);
  }
}

void note_place(TaskId id, int attempt, const std::string& name, std::int64_t place, const Database& database,
                SavedPlaces& places) {
  places[{id, name, replays_before(id, attempt, database)}].try_emplace(attempt, place);
}

void a_loop_goes_on(TaskId id, int attempt, const std::string& name, const std::optional<CheckpointRow>& row,
                    const Database& database, const SavedPlaces& places) {
  const auto saved = places.find({id, name, replays_before(id, attempt, database)});
  if (saved == places.end()) return;
  const auto& [latest, first_place] = *saved->second.rbegin();
  const bool goes_on = row && (row->attempt > latest || (row->attempt == latest && row->place >= first_place));
  require(goes_on, "G19", "a loop goes on where it was saved", Named{id}, " step ", name, " in attempt ", attempt);
}

void a_step_has_one_value(TaskId id, int attempt, const std::string& name, std::optional<std::int64_t> value,
                          const Database& database, StepValues& values) {
  const auto known = values.try_emplace(StepOnce{id, name, replays_before(id, attempt, database)}, value).first;
  require(known->second == value, "G19", "all attempts get the same value of a step", Named{id}, " step ", name,
          " gives ", shown(value), " after ", shown(known->second));
}

void a_wait_keeps_its_time(TaskId id, const std::string& name, TimePoint until, TimePoint first_until) {
  require(until == first_until, "G19", "the time of a wait counts from its first attempt", Named{id}, " step ", name,
          " ends ", InMs{until - first_until}, " later");
}

void no_event_is_missed(TaskId id, const std::string& name, bool has_come) {
  require(!has_come, "G19", "an event reaches each task that waits for it, whichever came first", Named{id}, " step ",
          name);
}

void a_charge_happens_once(const Database& database) {
  for (const auto& [step, attempts] : database.ledger().charges) {
    const auto& [id, name] = step;
    std::map<std::ptrdiff_t, int> charges;
    for (const int attempt : attempts) {
      const int so_far = ++charges[replays_before(id, attempt, database)];
      require(so_far == 1, "G19", "what step_in writes happens once", Named{id}, " step ", name);
    }
  }
}

void an_event_resumes_its_task(TaskId id, const Database& database) {
  const Task& task = database.tasks().at(id);
  require(task.ended_as == "succeeded", "G19", "an event resumes the task that waits for it", Named{id},
          " still waits after attempt ", task.attempt);
}

}  // namespace dogged::sim::promises
