// Promises of upkeep, of the last acts of a worker, and of progress: G5, G9, G18, G21, G22. See promises.hpp.
#include "promises.hpp"
#include "require.hpp"

namespace dogged::sim::promises {

void a_worker_that_ends_rescues_what_it_has_ended(int worker, bool owes_rescue) {
  require(!owes_rescue, "G5", "a worker that stops rescues the tasks of leases that it has ended", "worker ", worker,
          " does not");
}

void a_worker_that_ends_tells_its_circuits(int worker, bool owes_circuits) {
  require(!owes_circuits, "G22", "a worker that stops tells circuits of its attempts", "worker ", worker, " does not");
}

void a_worker_that_is_stopped_ends(std::optional<std::int64_t> lease) {
  require(!lease, "G9", "a shutdown ends, though the server is away", "worker of lease ", lease.value_or(0),
          " has not");
}

/// Progress matters as long as the task lives and no later attempt has begun.
void progress_is_on_record(const runtime::Attempt& attempt, std::int64_t value, const Database& database) {
  const auto task = database.tasks().find(attempt.id);
  if (task == database.tasks().end()) return;  // a failover has lost it
  if (task->second.state == Task::State::ended || task->second.attempt != attempt.number) return;
  const auto row = database.durable().progress.find(attempt.id);
  const bool is_written =
      row != database.durable().progress.end() && row->second.attempt == attempt.number && row->second.value >= value;
  require(is_written, "G21", "what a handler has said of its progress is on record", Named{attempt.id, attempt.number},
          " has said ", value);
}

void progress_is_of_the_latest_attempt(const Database& database) {
  for (const auto& [id, row] : database.durable().progress) {
    const int latest = database.ledger().progress.at(id);
    require(row.attempt >= latest, "G21", "progress that an earlier attempt has said changes nothing",
            Named{id, latest}, " has the progress of attempt ", row.attempt);
  }
}

void no_tick_is_overdue(const Database& database) {
  const auto due_in = database.tick_due_in();
  const milliseconds overdue = -due_in.value_or(milliseconds{0});
  require(overdue < std::chrono::milliseconds{400}, "G18", "a tick that was refused fires once it is not",
          InMs{overdue}, " late");
}

void a_declared_schedule_is_in_force(const ScheduleSettings& declared, const Database& database) {
  require(database.durable().schedule.settings == declared, "G18", "a schedule that a program declares fires",
          "it is not in force");
}

}  // namespace dogged::sim::promises
