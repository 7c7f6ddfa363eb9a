// See migrate.hpp.
#include "migrate/migrate.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include <dogged/error.hpp>

#include "db/connection.hpp"
#include "migrate/embedded.hpp"
#include "sql/migrate.hpp"
#include "sql/retention.hpp"

namespace dogged::migrate {
namespace {

struct Applied {
  std::string name;
  std::string checksum;
  std::string applied_at;
};

/// The database's records of what was applied: migrations by version, schema files by name.
struct Records {
  bool present = false;
  std::map<int, Applied> migrations;
  std::map<std::string, Applied, std::less<>> schema_files;
};

Records read_records(db::Connection& connection) {
  Records records;
  records.present = db::one(connection.run(sql::SchemaTables{})).present;
  if (!records.present) return records;
  for (const auto& [version, name, checksum, applied_at] : connection.run(sql::AppliedMigrations{})) {
    records.migrations.emplace(version, Applied{name, checksum, applied_at});
  }
  for (const auto& [name, checksum, applied_at] : connection.run(sql::AppliedSchemaFiles{})) {
    records.schema_files.emplace(name, Applied{name, checksum, applied_at});
  }
  return records;
}

/// 1 of 0001_tasks.
int version_of(const SqlFile& migration) {
  int version = 0;
  std::from_chars(migration.name.data(), migration.name.data() + migration.name.size(), version);
  return version;
}

int newest_version() { return version_of(embedded_migrations().back()); }

void refuse_what_does_not_fit(const Records& records) {
  if (!records.migrations.empty() && records.migrations.rbegin()->first > newest_version()) {
    throw SchemaMismatch("the database's schema is at version " + std::to_string(records.migrations.rbegin()->first) +
                             ", newer than the " + std::to_string(newest_version()) +
                             " that this program (dogged " DOGGED_VERSION ") knows",
                         "upgrade this program; a newer schema is never taken back");
  }
  for (const SqlFile& migration : embedded_migrations()) {
    const auto applied = records.migrations.find(version_of(migration));
    if (applied == records.migrations.end() || applied->second.checksum == migration.checksum) continue;
    throw SchemaMismatch("migration " + std::string{migration.name} + " was applied with checksum " +
                             applied->second.checksum.substr(0, 12) + "…, but the file that this program carries has " +
                             std::string{migration.checksum.substr(0, 12)} + "…",
                         "a migration never changes once it was applied: restore the file, and put the change into a "
                         "new one");
  }
}

Step step_for(const SqlFile& file, const Applied* applied, bool is_schema_file) {
  const bool is_current = applied != nullptr && applied->checksum == file.checksum;
  return {std::string{file.name}, std::string{file.checksum}, is_current, is_current ? applied->applied_at : "",
          is_schema_file};
}

template <class Map, class Key>
const Applied* find_applied(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

std::vector<Step> steps_for(const Records& records) {
  std::vector<Step> steps;
  for (const SqlFile& migration : embedded_migrations()) {
    steps.push_back(step_for(migration, find_applied(records.migrations, version_of(migration)), false));
  }
  for (const SqlFile& file : embedded_schema()) {
    steps.push_back(step_for(file, find_applied(records.schema_files, file.name), true));
  }
  return steps;
}

/// Applies one file, unless another migrator has applied it since `is_applied` was last asked. True if applied here.
bool apply_file(db::Connection& connection, const SqlFile& file, bool is_schema_file) {
  bool applied_here = false;
  connection.transaction([&] {
    connection.run(sql::LockMigrations{});
    const Records records = read_records(connection);
    refuse_what_does_not_fit(records);
    const Applied* applied = is_schema_file ? find_applied(records.schema_files, file.name)
                                            : find_applied(records.migrations, version_of(file));
    if (applied != nullptr && applied->checksum == file.checksum) return;
    connection.run_script(file.name, file.text);
    const std::string name{file.name}, checksum{file.checksum}, applied_by{"dogged " DOGGED_VERSION};
    if (is_schema_file) {
      connection.run(sql::RecordSchemaFile{.name = name, .checksum = checksum, .applied_by = applied_by});
    } else {
      connection.run(sql::RecordMigration{
          .version = version_of(file), .name = name, .checksum = checksum, .applied_by = applied_by});
    }
    applied_here = true;
  });
  return applied_here;
}

/// There is nothing to lock yet. Of two migrators at a time one waits for the other at each name.
void create_records(db::Connection& connection) {
  connection.transaction([&] {
    connection.run(sql::CreateSchema{});
    connection.run(sql::CreateSchemaTables{});
    connection.run(sql::CreateSchemaFiles{});
  });
}

}  // namespace

Report status(db::Connection& connection) {
  const Records records = read_records(connection);
  refuse_what_does_not_fit(records);
  Report report{steps_for(records), false};
  report.up_to_date = std::all_of(report.steps.begin(), report.steps.end(), [](const Step& s) { return s.applied; });
  return report;
}

Report apply(db::Connection& connection, const std::function<void(const Step&)>& on_step) {
  Report report{{}, true};
  if (!read_records(connection).present) create_records(connection);
  const auto apply_all = [&](const std::vector<SqlFile>& files, bool is_schema_file) {
    for (const SqlFile& file : files) {
      if (!apply_file(connection, file, is_schema_file)) continue;
      report.steps.push_back({std::string{file.name}, std::string{file.checksum}, true, "", is_schema_file});
      if (on_step) on_step(report.steps.back());
    }
  };
  refuse_what_does_not_fit(read_records(connection));
  apply_all(embedded_migrations(), false);
  apply_all(embedded_schema(), true);
  (void)connection.run(sql::MakePartitions{});
  connection.transaction([&] {
    connection.run(sql::LockMigrations{});
    connection.run(sql::GrantRights{});
  });
  return report;
}

std::vector<std::string> make_roles(db::Connection& connection, const std::optional<std::string>& prefix) {
  std::vector<std::string> names;
  connection.transaction([&] {
    connection.run(sql::LockMigrations{});
    for (const auto& [name] : connection.run(sql::MakeRoles{.prefix = prefix})) names.push_back(name);
  });
  return names;
}

void require_current(db::Connection& connection) {
  const std::string& schema = connection.settings().schema;
  const bool is_usual = schema == db::Settings{}.schema;
  const std::string remedy = "run `dogged migrate" + (is_usual ? "" : " --schema " + schema) + "`";
  const Records records = read_records(connection);
  if (!records.present) {
    throw SchemaMismatch("this database has no schema \"" + schema + "\" of dogged",
                         (is_usual ? "" : "check the name of the schema, or ") + remedy);
  }
  refuse_what_does_not_fit(records);
  for (const SqlFile& migration : embedded_migrations()) {
    if (records.migrations.contains(version_of(migration))) continue;
    throw SchemaMismatch("the database's schema lacks migration " + std::string{migration.name} +
                             ", which this program (dogged " DOGGED_VERSION ") needs",
                         remedy);
  }
  for (const SqlFile& file : embedded_schema()) {
    if (records.schema_files.contains(file.name)) continue;
    throw SchemaMismatch("the database's SQL interface lacks " + std::string{file.name}, remedy);
  }
}

}  // namespace dogged::migrate
