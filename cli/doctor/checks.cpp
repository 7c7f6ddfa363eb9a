// See checks.hpp. Each check reads facts by one statement (cli/sql/doctor/doctor_NAME.sql) and has them judged
// (judges.hpp).
#include "cli/doctor/checks.hpp"

#include <chrono>

#include "cli/doctor/judges.hpp"
#include "db/clock_offset.hpp"
#include "migrate/migrate.hpp"
#include "sql/commands.hpp"
#include "sql/doctor.hpp"

namespace dogged::cli::doctor {
namespace {

std::optional<microseconds> maybe_time(const db::Row& row, const char* column) {
  const auto number = row.maybe_number(column);
  return number ? std::optional{microseconds{*number}} : std::nullopt;
}

std::optional<microseconds> maybe_ms(const db::Row& row, const char* column) {
  const auto number = row.maybe_number(column);
  return number ? std::optional<microseconds>{std::chrono::milliseconds{*number}} : std::nullopt;
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
  for (const db::Row& row : connection.run(sql::doctor_partitions)) {
    tables.push_back({std::string{row.text("parent")}, row.number("missing"), row.number("missing_now"),
                      row.number("overdue"), row.number("default_rows")});
  }
  return judge_partitions(tables);
}

Findings check_vacuum(db::Connection& connection) {
  std::vector<TableFacts> tables;
  for (const db::Row& row : connection.run(sql::doctor_tables)) {
    tables.push_back({std::string{row.text("name")}, row.number("live_rows"), row.number("dead_rows"),
                      row.number("bytes"), row.boolean("is_server_autovacuum_on"), row.boolean("is_autovacuum_on"),
                      maybe_time(row, "vacuumed_us_ago")});
  }
  return judge_tables(tables, connection.settings().schema);
}

Findings check_snapshots(db::Connection& connection) {
  std::vector<SnapshotFacts> holders;
  for (const db::Row& row : connection.run(sql::doctor_snapshots)) {
    holders.push_back({std::string{row.text("kind")}, std::string{row.text("name")},
                       row.maybe_text("user_name").value_or(""), row.maybe_text("application").value_or(""),
                       row.maybe_text("state").value_or(""), row.maybe_text("query").value_or(""),
                       row.maybe_number("transactions"), maybe_time(row, "held_us"), row.maybe_number("wal_bytes")});
  }
  return judge_snapshots(holders);
}

std::vector<WorkerFacts> read_workers(db::Connection& connection) {
  std::vector<WorkerFacts> workers;
  for (const db::Row& row : connection.run(sql::doctor_workers)) {
    workers.push_back({row.number("id"), std::string{row.text("name")}, std::string{row.text("version")},
                       std::string{row.text("host")}, row.boolean("is_live"),
                       std::chrono::milliseconds{row.number("lease_ms")}, row.number("abandoned_threads"),
                       row.number("held_tasks"), maybe_time(row, "lapsed_us"), maybe_time(row, "unrescued_us"),
                       maybe_ms(row, "clock_ahead_ms"), maybe_ms(row, "clock_uncertainty_ms")});
  }
  return workers;
}

Findings check_workers(db::Connection& connection) { return judge_workers(read_workers(connection)); }
Findings check_versions(db::Connection& connection) { return judge_versions(read_workers(connection), DOGGED_VERSION); }

std::vector<WaitingFacts> read_waiting(db::Connection& connection) {
  std::vector<WaitingFacts> waiting;
  for (const db::Row& row : connection.run(sql::doctor_waiting)) {
    const auto known = row.maybe_number("known_args_version");
    waiting.push_back({std::string{row.text("queue")}, std::string{row.text("name")}, row.number("due"),
                       row.number("overdue"), microseconds{row.number("oldest_us")}, row.boolean("is_queue_served"),
                       row.boolean("is_name_known"), row.boolean("is_paused"), maybe_time(row, "resumes_in_us"),
                       static_cast<int>(row.number("args_version")),
                       known ? std::optional{static_cast<int>(*known)} : std::nullopt});
  }
  return waiting;
}

Findings check_queues(db::Connection& connection) { return judge_waiting(read_waiting(connection)); }
Findings check_overdue(db::Connection& connection) { return judge_overdue(read_waiting(connection)); }

Findings check_running(db::Connection& connection) {
  std::vector<RunningFacts> running;
  for (const db::Row& row : connection.run(sql::doctor_running)) {
    running.push_back({std::string{row.text("name")}, row.text("kind") == "orphaned", row.number("tasks"),
                       row.number("first_id"), microseconds{row.number("longest_us")}});
  }
  return judge_running(running);
}

ServerFacts server_of(const db::Row& row) {
  return {
      row.boolean("has_fsync"),      row.boolean("has_full_page_writes"), std::string{row.text("synchronous_commit")},
      row.number("max_connections"), row.number("connections"),           row.number("oldest_transaction")};
}

Findings check_durability(db::Connection& connection) {
  return judge_durability(server_of(connection.run(sql::doctor_server).one()));
}
Findings check_connections(db::Connection& connection) {
  return judge_connections(server_of(connection.run(sql::doctor_server).one()));
}
Findings check_wraparound(db::Connection& connection) {
  return judge_wraparound(server_of(connection.run(sql::doctor_server).one()));
}

Findings check_clock(db::Connection& connection) {
  const db::ClockMeasurement clock;
  const db::Rows rows = connection.run(sql::clock);
  const db::ClockOffset own = clock.offset_from(rows.one().number("now_us"));
  Findings findings = judge_worker_clocks(read_workers(connection));
  for (Finding& finding : judge_clock(own.ahead, own.uncertainty)) findings.push_back(std::move(finding));
  return findings;
}

Findings check_indexes(db::Connection& connection) {
  std::vector<InvalidIndex> invalid;
  for (const db::Row& row : connection.run(sql::doctor_indexes)) {
    invalid.push_back({std::string{row.text("name")}, std::string{row.text("table_name")}});
  }
  return judge_indexes(invalid);
}

Findings check_retention(db::Connection& connection) {
  std::vector<RetentionFacts> retention;
  for (const db::Row& row : connection.run(sql::doctor_retention)) {
    retention.push_back({row.maybe_text("queue"), row.number("keep_done_days"), row.number("keep_failed_days"),
                         row.maybe_number("own_done_days"), row.maybe_number("own_failed_days")});
  }
  return judge_retention(retention);
}

Findings check_locks(db::Connection& connection) {
  const db::Rows rows = connection.run(sql::doctor_locks);
  const db::Row row = rows.one();
  Findings findings =
      judge_locks({row.number("locks_of_lookup"), row.number("lock_room"), row.number("max_locks_per_transaction")});
  std::vector<HolderFacts> holders;
  for (const db::Row& holder : connection.run(sql::doctor_holders)) {
    holders.push_back({std::string{holder.text("name")}, holder.number("pid"), std::string{holder.text("user_name")},
                       std::string{holder.text("application")}, maybe_time(holder, "held_us"),
                       maybe_time(holder, "waited_us")});
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
