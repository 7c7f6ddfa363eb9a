// See checks.hpp. Each check reads facts by one statement (cli/sql/doctor/doctor_NAME.sql) and has them judged
// (judges.hpp).
#include "cli/doctor/checks.hpp"

#include <algorithm>
#include <chrono>
#include <map>

#include <nlohmann/json.hpp>

#include <dogged/error.hpp>

#include "circuit/shared_circuit.hpp"
#include "cli/doctor/core/judges.hpp"
#include "db/clock_offset.hpp"
#include "db/connection.hpp"
#include "migrate/migrate.hpp"
#include "sql/circuit.hpp"
#include "sql/commands.hpp"
#include "sql/doctor.hpp"
#include "sql/exporter.hpp"
#include "text/message.hpp"

namespace dogged::cli::doctor {
namespace {

std::optional<microseconds> maybe_us(std::optional<std::int64_t> count) {
  return count ? std::optional{microseconds{*count}} : std::nullopt;
}

std::optional<microseconds> maybe_ms(std::optional<std::int64_t> count) {
  return count ? std::optional<microseconds>{std::chrono::milliseconds{*count}} : std::nullopt;
}

Findings check_schema(db::Connection& connection) {
  std::vector<std::string> pending_migrations;
  std::vector<std::string> pending_files;
  try {
    for (const migrate::Step& step : migrate::status(connection).steps) {
      if (!step.applied) (step.is_schema_file ? pending_files : pending_migrations).push_back(step.name);
    }
  } catch (const SchemaMismatch& error) {
    return judge_schema({}, {}, error.message());
  }
  return judge_schema(pending_migrations, pending_files, std::nullopt);
}

Findings check_partitions(db::Connection& connection) {
  std::vector<PartitionFacts> tables;
  for (const auto& row : connection.run(sql::DoctorPartitions{})) {
    tables.push_back({row.parent, row.missing, row.missing_now, row.overdue, row.default_rows});
  }
  return judge_partitions(tables);
}

Findings check_vacuum(db::Connection& connection) {
  std::vector<TableFacts> tables;
  for (const auto& row : connection.run(sql::DoctorTables{})) {
    tables.push_back({row.name, row.live_rows, row.dead_rows, row.bytes, row.is_server_autovacuum_on,
                      row.is_autovacuum_on, maybe_us(row.vacuumed_us_ago)});
  }
  return judge_tables(tables, connection.settings().schema);
}

Findings check_snapshots(db::Connection& connection) {
  std::vector<SnapshotFacts> holders;
  for (const auto& row : connection.run(sql::DoctorSnapshots{})) {
    holders.push_back({row.kind, row.name, row.user_name.value_or(""), row.application.value_or(""),
                       row.state.value_or(""), row.query.value_or(""), row.transactions, maybe_us(row.held_us),
                       row.wal_bytes});
  }
  return judge_snapshots(holders);
}

std::vector<WorkerFacts> read_workers(db::Connection& connection) {
  std::vector<WorkerFacts> workers;
  for (const auto& row : connection.run(sql::DoctorWorkers{})) {
    workers.push_back({row.id, row.name, row.version, row.host, row.is_live, row.holds_lease,
                       std::chrono::milliseconds{row.lease_ms}, row.abandoned_threads, row.held_tasks,
                       maybe_us(row.lapsed_us), maybe_us(row.unrescued_us), maybe_ms(row.clock_ahead_ms),
                       maybe_ms(row.clock_uncertainty_ms)});
  }
  return workers;
}

Findings check_workers(db::Connection& connection) { return judge_workers(read_workers(connection)); }
Findings check_versions(db::Connection& connection) { return judge_versions(read_workers(connection), DOGGED_VERSION); }

std::vector<std::string> declared_names(db::Connection& connection) {
  std::vector<std::string> names;
  for (const auto& [name] : connection.run(sql::DeclaredTasks{})) names.push_back(name);
  return names;
}

std::vector<WaitingFacts> read_waiting(db::Connection& connection) {
  std::vector<WaitingFacts> waiting;
  std::optional<std::vector<std::string>> declared;
  for (const auto& row : connection.run(sql::DoctorWaiting{})) {
    WaitingFacts& facts = waiting.emplace_back(WaitingFacts{.queue = row.queue,
                                                            .name = row.name,
                                                            .due = row.due,
                                                            .overdue = row.overdue,
                                                            .oldest = microseconds{row.oldest_us},
                                                            .is_queue_served = row.is_queue_served,
                                                            .is_name_known = row.is_name_known,
                                                            .is_declared = row.is_declared,
                                                            .is_paused = row.is_paused,
                                                            .resumes_in = maybe_us(row.resumes_in_us),
                                                            .args_version = row.args_version,
                                                            .known_args_version = row.known_args_version});
    if (row.is_declared) continue;
    if (!declared) declared = declared_names(connection);
    facts.near = suggestion_of_typo(row.name, {declared->begin(), declared->end()});
  }
  return waiting;
}

Findings check_queues(db::Connection& connection) { return judge_waiting(read_waiting(connection)); }
Findings check_overdue(db::Connection& connection) { return judge_overdue(read_waiting(connection)); }

Findings check_running(db::Connection& connection) {
  std::vector<RunningFacts> running;
  for (const auto& row : connection.run(sql::DoctorRunning{})) {
    running.push_back({row.name, row.kind == "orphaned", row.tasks, row.first_id, microseconds{row.longest_us}});
  }
  return judge_running(running);
}

Findings check_snoozes(db::Connection& connection) {
  std::vector<SnoozeFacts> snoozes;
  for (const auto& row : connection.run(sql::DoctorSnoozes{})) {
    snoozes.push_back({row.name, row.tasks, row.most, row.most_id, row.max_snoozes});
  }
  return judge_snoozes(snoozes);
}

Findings check_schedules(db::Connection& connection) {
  std::vector<ScheduleFacts> schedules;
  for (const auto& row : connection.run(sql::DoctorSchedules{})) {
    schedules.push_back({row.name, row.task, row.state, microseconds{row.overdue_us.value_or(0)},
                         microseconds{row.paused_us.value_or(0)}, microseconds{row.ahead_us.value_or(0)},
                         row.is_task_known, row.missed, row.refused, row.refusal.value_or(""),
                         std::chrono::milliseconds{row.latest_ms}});
  }
  return judge_schedules(schedules);
}

Findings check_circuits(db::Connection& connection) {
  std::vector<CircuitFacts> circuits;
  for (const auto& row : connection.run(sql::Circuits{})) {
    const circuit::SharedCircuit shared = circuit::shared_circuit_of(row);
    circuits.push_back({shared.name, shared.circuit.state, shared.circuit.is_forced,
                        std::max(microseconds{0}, microseconds{1000 * shared.now_ms - row.changed_at_us}),
                        nlohmann::json::parse(row.tasks).get<std::vector<std::string>>()});
  }
  return judge_circuits(circuits);
}

std::vector<LoadFacts> read_load(db::Connection& connection) {
  std::map<std::string, std::int64_t> retries_due;
  for (const auto& row : connection.run(sql::ExporterQueues{})) retries_due[row.name] = row.retries_5m;
  std::vector<LoadFacts> load;
  for (const auto& row : connection.run(sql::Stats{})) {
    load.push_back({row.queue, row.attempts, row.retry_share.value_or(0), retries_due[row.queue]});
  }
  return load;
}

Findings check_retries(db::Connection& connection) { return judge_retries(read_load(connection)); }
Findings check_storms(db::Connection& connection) { return judge_storms(read_load(connection)); }

Findings check_dead_letters(db::Connection& connection) {
  std::vector<DeadLetterFacts> letters;
  for (const auto& row : connection.run(sql::DoctorDeadLetters{})) {
    letters.push_back({row.name, row.last_hour, row.day_before});
  }
  return judge_dead_letters(letters);
}

ServerFacts read_server(db::Connection& connection) {
  const auto row = db::one(connection.run(sql::DoctorServer{}));
  return {row.has_fsync,       row.has_full_page_writes, row.synchronous_commit,
          row.max_connections, row.connections,          row.oldest_transaction};
}

Findings check_durability(db::Connection& connection) { return judge_durability(read_server(connection)); }
Findings check_connections(db::Connection& connection) { return judge_connections(read_server(connection)); }
Findings check_wraparound(db::Connection& connection) { return judge_wraparound(read_server(connection)); }

Findings check_clock(db::Connection& connection) {
  const db::ClockMeasurement clock;
  const auto [now_us] = db::one(connection.run(sql::Clock{}));
  const db::ClockOffset own = clock.offset_from(now_us);
  Findings findings = judge_worker_clocks(read_workers(connection));
  for (Finding& finding : judge_clock(own.ahead, own.uncertainty)) findings.push_back(std::move(finding));
  return findings;
}

Findings check_indexes(db::Connection& connection) {
  std::vector<InvalidIndex> invalid;
  for (const auto& [name, table] : connection.run(sql::DoctorIndexes{})) invalid.push_back({name, table});
  return judge_indexes(invalid);
}

Findings check_retention(db::Connection& connection) {
  std::vector<RetentionFacts> retention;
  for (const auto& row : connection.run(sql::DoctorRetention{})) {
    retention.push_back({row.queue, row.keep_done_days, row.keep_failed_days, row.own_done_days, row.own_failed_days});
  }
  return judge_retention(retention);
}

Findings check_locks(db::Connection& connection) {
  const auto [locks_of_lookup, lock_room, max_locks_per_transaction] = db::one(connection.run(sql::DoctorLocks{}));
  Findings findings = judge_locks({locks_of_lookup, lock_room, max_locks_per_transaction});
  std::vector<HolderFacts> holders;
  for (const auto& row : connection.run(sql::DoctorHolders{})) {
    holders.push_back(
        {row.name, row.pid, row.user_name, row.application, maybe_us(row.held_us), maybe_us(row.waited_us)});
  }
  for (Finding& finding : judge_holders(holders)) findings.push_back(std::move(finding));
  return findings;
}

struct Check {
  const char* name;
  Findings (*run)(db::Connection& connection);
};

constexpr Check checks[] = {{"schema", check_schema},           {"partitions", check_partitions},
                            {"retention", check_retention},     {"queues", check_queues},
                            {"overdue", check_overdue},         {"running", check_running},
                            {"retries", check_retries},         {"storm", check_storms},
                            {"snoozes", check_snoozes},         {"schedules", check_schedules},
                            {"dead", check_dead_letters},       {"circuits", check_circuits},
                            {"workers", check_workers},         {"versions", check_versions},
                            {"vacuum", check_vacuum},           {"snapshots", check_snapshots},
                            {"indexes", check_indexes},         {"durability", check_durability},
                            {"connections", check_connections}, {"locks", check_locks},
                            {"wraparound", check_wraparound},   {"clock", check_clock}};

Findings findings_of(const Check& check, db::Connection& connection) {
  try {
    return check.run(connection);
  } catch (const ConnectionError&) {
    throw;
  } catch (const Error& error) {  // a missing right, a statement timeout, a policy of a newer version
    return {not_checked(check.name, error.message())};
  }
}

}  // namespace

Findings run_checks(db::Connection& connection) {
  Findings findings;
  for (const Check& check : checks) {
    for (Finding& finding : findings_of(check, connection)) findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace dogged::cli::doctor
