// See evidence.hpp.
#include "evidence.hpp"

#include <nlohmann/json.hpp>

namespace dogged::faults {
namespace {

/// A column in microseconds since 1970.
std::string us(const std::string& column) {
  return "(extract(epoch from " + column + ") * 1000000)::bigint as " + column;
}

std::vector<TaskRow> read_tasks(Database& database) {
  std::vector<TaskRow> tasks;
  for (const test::Row& row :
       database.run("select id, name, status::text, args::text as args, attempt, retry_count, losses, unique_key, "
                    "(select substr(tag, 10) from unnest(tags) as tag where tag like 'schedule:%') as schedule "
                    "from dogged.tasks order by id")) {
    tasks.push_back({.id = row.number("id"),
                     .name = row.text("name"),
                     .status = row.text("status"),
                     .plan = nlohmann::json::parse(row.text("args")).get<Plan>(),
                     .attempt = static_cast<int>(row.number("attempt")),
                     .retry_count = static_cast<int>(row.number("retry_count")),
                     .losses = static_cast<int>(row.number("losses")),
                     .unique_key = row.maybe_text("unique_key").value_or(""),
                     .schedule = row.maybe_text("schedule").value_or("")});
  }
  return tasks;
}

std::vector<AttemptRow> read_attempts(Database& database) {
  std::vector<AttemptRow> attempts;
  for (const test::Row& row :
       database.run("select task_id, attempt, outcome::text, worker_id, error_code, will_retry, a::text as whole, " +
                    us("claimed_at") + ", " + us("started_at") + ", " + us("finished_at") + ", " + us("next_retry_at") +
                    " from dogged.task_attempts a order by task_id, attempt")) {
    attempts.push_back({.task_id = row.number("task_id"),
                        .attempt = static_cast<int>(row.number("attempt")),
                        .outcome = row.text("outcome"),
                        .worker_id = row.number("worker_id"),
                        .claimed_at = row.number("claimed_at"),
                        .started_at = row.number("started_at"),
                        .finished_at = row.number("finished_at"),
                        .error_code = row.maybe_text("error_code").value_or(""),
                        .will_retry = row.boolean("will_retry"),
                        .next_retry_at = row.maybe_number("next_retry_at"),
                        .whole = row.text("whole")});
  }
  return attempts;
}

std::map<std::int64_t, WorkerRow> read_workers(Database& database) {
  std::map<std::int64_t, WorkerRow> workers;
  for (const test::Row& row : database.run("select id, pid, " + us("started_at") + ", " + us("lease_until") + ", " +
                                           us("stopped_at") + ", " + us("lease_ended_at") + " from dogged.workers")) {
    workers[row.number("id")] = {.id = row.number("id"),
                                 .pid = static_cast<pid_t>(row.number("pid")),
                                 .started_at = row.number("started_at"),
                                 .lease_until = row.number("lease_until"),
                                 .stopped_at = row.maybe_number("stopped_at"),
                                 .lease_ended_at = row.maybe_number("lease_ended_at")};
  }
  return workers;
}

std::vector<ScheduleRow> read_schedules(Database& database) {
  std::vector<ScheduleRow> schedules;
  for (const test::Row& row :
       database.run("select id, name, (compiled).every_seconds as every_s, overlap <> 'allow_all' as one_at_a_time, " +
                    us("next_at") + " from dogged.schedules")) {
    schedules.push_back({.id = row.number("id"),
                         .name = row.text("name"),
                         .every = row.number("every_s") * 1'000'000,
                         .next_at = row.number("next_at"),
                         .one_at_a_time = row.boolean("one_at_a_time")});
  }
  return schedules;
}

std::vector<TickRow> read_ticks(Database& database) {
  std::vector<TickRow> ticks;
  for (const test::Row& row : database.run("select schedule_id, outcome::text, reason, task_id, " + us("scheduled_at") +
                                           ", " + us("decided_at") + ", " + us("skipped_until") +
                                           " from dogged.schedule_ticks t order by t.schedule_id, t.scheduled_at")) {
    ticks.push_back({.schedule_id = row.number("schedule_id"),
                     .scheduled_at = row.number("scheduled_at"),
                     .outcome = row.text("outcome"),
                     .reason = row.maybe_text("reason").value_or(""),
                     .decided_at = row.number("decided_at"),
                     .task_id = row.maybe_number("task_id").value_or(0),
                     .skipped_until = row.maybe_number("skipped_until")});
  }
  return ticks;
}

std::vector<StepRow> read_steps(Database& database) {
  std::vector<StepRow> steps;
  for (const test::Row& row :
       database.run("select task_id, name, attempt, worker_id, result::text as result, " + us("finished_at") +
                    " from dogged.task_steps where name is not null order by task_id, name, attempt")) {
    steps.push_back({.task_id = row.number("task_id"),
                     .name = row.text("name"),
                     .attempt = static_cast<int>(row.number("attempt")),
                     .worker_id = row.number("worker_id"),
                     .finished_at = row.number("finished_at"),
                     .result = row.text("result")});
  }
  return steps;
}

std::vector<EventRow> read_events(Database& database) {
  std::vector<EventRow> events;
  for (const test::Row& row :
       database.run("select name, " + us("emitted_at") + " from dogged.events e order by e.emitted_at")) {
    events.push_back({row.text("name"), row.number("emitted_at")});
  }
  return events;
}

std::vector<KeyRow> read_keys(Database& database) {
  std::vector<KeyRow> keys;
  for (const test::Row& row : database.run("select k.name, k.unique_key, k.task_id, t.name as task_name, "
                                           "t.unique_key as task_key from dogged.unique_keys k "
                                           "left join dogged.tasks t on t.id = k.task_id")) {
    keys.push_back({.name = row.text("name"),
                    .unique_key = row.text("unique_key"),
                    .task_id = row.number("task_id"),
                    .task_name = row.maybe_text("task_name").value_or(""),
                    .task_key = row.maybe_text("task_key").value_or("")});
  }
  return keys;
}

std::vector<UniqueTaskRow> read_unique_tasks(Database& database) {
  std::vector<UniqueTaskRow> tasks;
  for (const test::Row& row : database.run("select t.id, t.name, t.unique_key, "
                                           "k.task_id as in_row from dogged.tasks_live t "
                                           "left join dogged.unique_keys k using (name, unique_key) "
                                           "where t.unique_key is not null")) {
    tasks.push_back({.id = row.number("id"),
                     .name = row.text("name"),
                     .unique_key = row.text("unique_key"),
                     .in_row = row.maybe_number("in_row")});
  }
  return tasks;
}

std::vector<WaitRow> read_waits(Database& database) {
  std::vector<WaitRow> waits;
  for (const test::Row& row :
       database.run("select w.task_id, w.name, w.attempt, w.arrived_at is not null as has_arrived, "
                    "t.status::text as status, t.attempt as task_attempt, coalesce(l.deferred, false) as is_deferred, "
                    "(extract(epoch from t.next_retry_at - w.until) * 1000000)::bigint as due_in_us "
                    "from dogged.task_waits w left join dogged.tasks t on t.id = w.task_id "
                    "left join dogged.tasks_live l on l.id = w.task_id")) {
    waits.push_back({.task_id = row.number("task_id"),
                     .name = row.text("name"),
                     .attempt = static_cast<int>(row.number("attempt")),
                     .has_arrived = row.boolean("has_arrived"),
                     .status = row.maybe_text("status").value_or(""),
                     .task_attempt = static_cast<int>(row.maybe_number("task_attempt").value_or(0)),
                     .is_deferred = row.boolean("is_deferred"),
                     .due_in_us = row.maybe_number("due_in_us").value_or(0)});
  }
  return waits;
}

}  // namespace

void note_attempts_seen(Database& database, Evidence& evidence) {
  // A completion that waited for the server to come back is written with the time at which the handler ended.
  for (const test::Row& row : database.run("select task_id, attempt, a::text as whole from dogged.task_attempts a "
                                           "where finished_at > clock_timestamp() - interval '20 seconds'")) {
    evidence.attempts_seen.try_emplace({row.number("task_id"), static_cast<int>(row.number("attempt"))},
                                       row.text("whole"));
  }
}

Moment moment_after_retention(Database& database) {
  database.run("select dogged.forget_keys(), dogged.forget_steps()");
  return {read_keys(database), read_unique_tasks(database), read_waits(database)};
}

void read_evidence(Database& database, const std::filesystem::path& handler_log, Evidence& evidence) {
  evidence.tasks = read_tasks(database);
  evidence.attempts = read_attempts(database);
  evidence.workers = read_workers(database);
  evidence.executions = read_handler_log(handler_log);
  evidence.schedules = read_schedules(database);
  evidence.ticks = read_ticks(database);
  evidence.steps = read_steps(database);
  evidence.events = read_events(database);
  evidence.end = moment_after_retention(database);
}

}  // namespace dogged::faults
