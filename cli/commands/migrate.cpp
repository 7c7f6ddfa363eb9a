// `dogged migrate`: brings the schema to what this program needs.
#include "migrate/migrate.hpp"

#include <iostream>
#include <memory>
#include <optional>

#include "cli/commands/commands.hpp"
#include "cli/options/time_option.hpp"
#include "cli/render/json_object.hpp"
#include "db/connection.hpp"
#include "sql/commands.hpp"

namespace dogged::cli {
namespace {

struct MigrateOptions {
  bool dry_run = false;
  bool status = false;
  bool roles = false;
  std::string role_prefix;
};

const std::vector<Column> file_columns{{.title = "NAME", .least = 24},
                                       {.title = "KIND", .rank = 2},
                                       {.title = "STATE"},
                                       {.title = "APPLIED", .rank = 1},
                                       {.title = "SHA-256", .rank = 3}};

Record record_of_role(const std::string& name) {
  JsonObject json;
  json.add("name", name).add("kind", "role").add("applied", true).add_null("applied_at").add_null("checksum");
  return {{{name}, {"role"}, {"applied", Color::green}, {""}, {""}}, json.text()};
}

Record record_of(const migrate::Step& step, Time now, Zone zone) {
  JsonObject json;
  json.add("name", step.name).add("kind", step.is_schema_file ? "schema" : "migration").add("applied", step.applied);
  if (step.applied_at.empty()) {
    json.add_null("applied_at");
  } else {
    json.add("applied_at", step.applied_at);
  }
  json.add("checksum", step.checksum);
  return {{{step.name},
           {step.is_schema_file ? "schema" : "migration"},
           {step.applied ? "applied" : "pending", step.applied ? Color::green : Color::yellow},
           step.applied_at.empty() ? Cell{""} : time_cell(time_from_iso8601(step.applied_at), now, zone),
           {step.checksum.substr(0, 12), Color::plain, step.checksum}},
          json.text()};
}

ExitCode print_steps(const Invocation& invocation, db::Connection& connection, const std::vector<migrate::Step>& steps,
                     const std::string& if_none) {
  std::vector<Record> records;
  const Time now = now_of(connection);
  for (const migrate::Step& step : steps) records.push_back(record_of(step, now, invocation.style().zone));
  invocation.print(file_columns, records, if_none);
  return ExitCode::ok;
}

/// Prints the work that `migrate` would do.
ExitCode dry_run(const Invocation& invocation, db::Connection& connection) {
  std::vector<migrate::Step> pending;
  for (const migrate::Step& step : migrate::status(connection).steps) {
    if (!step.applied) pending.push_back(step);
  }
  return print_steps(invocation, connection, pending, "nothing is pending");
}

std::vector<std::string> make_roles(db::Connection& connection, const MigrateOptions& options) {
  if (!options.roles) return {};
  return migrate::make_roles(connection,
                             options.role_prefix.empty() ? std::nullopt : std::optional{options.role_prefix});
}

ExitCode apply_as_json(const Invocation& invocation, db::Connection& connection, const MigrateOptions& options) {
  std::vector<Record> records;
  const migrate::Report report = migrate::apply(connection);
  const Time now = now_of(connection);
  for (const migrate::Step& step : report.steps) records.push_back(record_of(step, now, invocation.style().zone));
  for (const std::string& role : make_roles(connection, options)) records.push_back(record_of_role(role));
  invocation.print(file_columns, records, "");
  return ExitCode::ok;
}

ExitCode apply(const Invocation& invocation, db::Connection& connection, const MigrateOptions& options) {
  if (invocation.format != Format::table) return apply_as_json(invocation, connection, options);
  const auto say = [](const migrate::Step& step) { std::cout << "applied " << step.name << std::endl; };
  const migrate::Report report = migrate::apply(connection, say);
  const std::string database = db::one(connection.run(sql::CurrentDatabase{})).name;
  std::cout << "schema \"" << invocation.schema << "\" of the database \"" << database << "\" is up to date"
            << (report.steps.empty() ? ": nothing was pending\n" : "\n");
  const std::vector<std::string> roles = make_roles(connection, options);
  for (const std::string& role : roles) std::cout << "role " << role << " has its rights\n";
  if (!roles.empty()) std::cout << "give one to a login: grant " << roles.front() << " to LOGIN;\n";
  return ExitCode::ok;
}

ExitCode run_migrate(const Invocation& invocation, const MigrateOptions& options) {
  db::Connection connection = invocation.connect_to_any_schema();
  if (options.dry_run) return dry_run(invocation, connection);
  if (!options.status) return apply(invocation, connection, options);
  const migrate::Report report = migrate::status(connection);
  print_steps(invocation, connection, report.steps, "");
  return report.up_to_date ? ExitCode::ok : ExitCode::not_done;
}

}  // namespace

void add_migrate(CLI::App& app, Invocation& invocation) {
  const auto options = std::make_shared<MigrateOptions>();
  CLI::App* command = add_command(app, invocation, "migrate", "Create or update the queue's schema",
                                  "  dogged migrate\n  dogged migrate --dry-run   list what it would apply\n"
                                  "  dogged migrate --status    list everything; exit code 1 if something is pending\n"
                                  "  dogged migrate --roles     also make the roles dogged_producer, dogged_worker, "
                                  "dogged_viewer and\n"
                                  "                             dogged_operator, and grant them what each needs; later "
                                  "migrations keep\n"
                                  "                             their rights up to date",
                                  [&invocation, options] {
                                    invocation.needed_right = "grant_rights";
                                    return run_migrate(invocation, *options);
                                  });
  CLI::Option* dry_run_flag = command->add_flag("--dry-run", options->dry_run, "List what is pending; change nothing");
  command->add_flag("--status", options->status, "List what is applied and what is pending; change nothing")
      ->excludes(dry_run_flag);
  CLI::Option* roles =
      command->add_flag("--roles", options->roles, "Make the roles of producers, workers, viewers and operators")
          ->excludes(dry_run_flag)
          ->excludes("--status");
  command
      ->add_option("--role-prefix", options->role_prefix,
                   "What their names begin with; unless said, as before, or the schema's name")
      ->type_name("NAME")
      ->needs(roles);
}

}  // namespace dogged::cli
