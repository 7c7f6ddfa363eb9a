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
  for (const db::Row& row :
       database.run("select id, name, status::text, args::text as args, attempt, retry_count, losses "
                    "from dogged.tasks order by id")) {
    tasks.push_back({.id = row.number("id"),
                     .name = std::string{row.text("name")},
                     .status = std::string{row.text("status")},
                     .plan = nlohmann::json::parse(row.text("args")).get<Plan>(),
                     .attempt = static_cast<int>(row.number("attempt")),
                     .retry_count = static_cast<int>(row.number("retry_count")),
                     .losses = static_cast<int>(row.number("losses"))});
  }
  return tasks;
}

std::vector<AttemptRow> read_attempts(Database& database) {
  std::vector<AttemptRow> attempts;
  for (const db::Row& row :
       database.run("select task_id, attempt, outcome::text, worker_id, error_code, will_retry, a::text as whole, " +
                    us("claimed_at") + ", " + us("started_at") + ", " + us("finished_at") + ", " + us("next_retry_at") +
                    " from dogged.task_attempts a order by task_id, attempt")) {
    attempts.push_back({.task_id = row.number("task_id"),
                        .attempt = static_cast<int>(row.number("attempt")),
                        .outcome = std::string{row.text("outcome")},
                        .worker_id = row.number("worker_id"),
                        .claimed_at = row.number("claimed_at"),
                        .started_at = row.number("started_at"),
                        .finished_at = row.number("finished_at"),
                        .error_code = row.maybe_text("error_code").value_or(""),
                        .will_retry = row.boolean("will_retry"),
                        .next_retry_at = row.maybe_number("next_retry_at"),
                        .whole = std::string{row.text("whole")}});
  }
  return attempts;
}

std::map<std::int64_t, WorkerRow> read_workers(Database& database) {
  std::map<std::int64_t, WorkerRow> workers;
  for (const db::Row& row : database.run("select id, pid, " + us("started_at") + ", " + us("lease_until") + ", " +
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

}  // namespace

void note_attempts_seen(Database& database, Evidence& evidence) {
  // A completion that waited for the server to come back is written with the time at which the handler ended.
  for (const db::Row& row : database.run("select task_id, attempt, a::text as whole from dogged.task_attempts a "
                                         "where finished_at > clock_timestamp() - interval '20 seconds'")) {
    evidence.attempts_seen.try_emplace({row.number("task_id"), static_cast<int>(row.number("attempt"))},
                                       row.text("whole"));
  }
}

void read_evidence(Database& database, const std::filesystem::path& handler_log, Evidence& evidence) {
  evidence.tasks = read_tasks(database);
  evidence.attempts = read_attempts(database);
  evidence.workers = read_workers(database);
  evidence.executions = read_handler_log(handler_log);
}

}  // namespace dogged::faults
