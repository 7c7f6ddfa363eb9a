// `dogged migrate`: brings the schema to what this program needs.
#include "migrate/migrate.hpp"

#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/json_object.hpp"

namespace dogged::cli {
namespace {

struct MigrateOptions {
  bool dry_run = false;
  bool status = false;
};

const std::vector<Column> columns{{"NAME"}, {"KIND"}, {"STATE"}, {"APPLIED AT"}, {"SHA-256"}};

Record record_of(const migrate::Step& step) {
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
           {step.applied_at},
           {step.checksum.substr(0, 12)}},
          json.text()};
}

ExitCode print_steps(const Invocation& invocation, const std::vector<migrate::Step>& steps,
                     const std::string& if_none) {
  std::vector<Record> records;
  for (const migrate::Step& step : steps) records.push_back(record_of(step));
  invocation.print(columns, records, if_none);
  return ExitCode::ok;
}

/// What `migrate` would do.
ExitCode dry_run(const Invocation& invocation, db::Connection& connection) {
  std::vector<migrate::Step> pending;
  for (const migrate::Step& step : migrate::status(connection).steps) {
    if (!step.applied) pending.push_back(step);
  }
  return print_steps(invocation, pending, "nothing is pending");
}

ExitCode apply(const Invocation& invocation, db::Connection& connection) {
  if (invocation.format != Format::table) return print_steps(invocation, migrate::apply(connection).steps, "");
  const auto say = [](const migrate::Step& step) { std::cout << "applied " << step.name << std::endl; };
  const migrate::Report report = migrate::apply(connection, say);
  std::cout << "schema \"" << invocation.schema << "\" is up to date"
            << (report.steps.empty() ? ": nothing was pending\n" : "\n");
  return ExitCode::ok;
}

ExitCode run(const Invocation& invocation, const MigrateOptions& options) {
  db::Connection connection = invocation.connect_to_any_schema();
  if (options.dry_run) return dry_run(invocation, connection);
  if (!options.status) return apply(invocation, connection);
  const migrate::Report report = migrate::status(connection);
  print_steps(invocation, report.steps, "");
  return report.up_to_date ? ExitCode::ok : ExitCode::not_done;
}

}  // namespace

void add_migrate(CLI::App& app, Invocation& invocation) {
  const auto options = std::make_shared<MigrateOptions>();
  CLI::App* command = add_command(app, invocation, "migrate", "Create or update the queue's schema",
                                  "  dogged migrate\n  dogged migrate --dry-run   list what it would apply\n"
                                  "  dogged migrate --status    list everything; exit code 1 if something is pending",
                                  [&invocation, options] { return run(invocation, *options); });
  CLI::Option* dry_run_flag = command->add_flag("--dry-run", options->dry_run, "List what is pending; change nothing");
  command->add_flag("--status", options->status, "List what is applied and what is pending; change nothing")
      ->excludes(dry_run_flag);
}

}  // namespace dogged::cli
