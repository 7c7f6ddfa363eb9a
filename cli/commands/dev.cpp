// `dogged dev`: the private PostgreSQL of this directory.
#include <cstdlib>
#include <filesystem>
#include <memory>

#include <unistd.h>

#include "cli/commands/commands.hpp"
#include "cli/input/psql_arguments.hpp"
#include "cli/io/dev_server.hpp"
#include "cli/render/json_object.hpp"
#include "client/database_url.hpp"
#include "private_server/pg_binaries.hpp"

namespace dogged::cli {
namespace {

namespace fs = std::filesystem;

DevServer server_here() { return DevServer{fs::current_path()}; }

/// The dev server that commands in this directory use.
DevServerState nearest() {
  const auto directory = dev::find_directory(fs::current_path());
  return DevServer{directory ? directory->parent_path() : fs::current_path()}.state();
}

DevServerState nearest_running() {
  DevServerState state = nearest();
  if (!state.exists) {
    throw Failure(ExitCode::not_done, "there is no dev server in this directory or above it",
                  "make one: dogged dev up");
  }
  if (!state.running || state.url.empty()) {
    throw Failure(ExitCode::not_done, "the dev server in " + state.data_directory.string() + " does not run",
                  "start it: dogged dev up");
  }
  return state;
}

std::string to_json(const DevServerState& state) {
  JsonObject json;
  json.add("exists", state.exists).add("running", state.running);
  if (state.running) {
    json.add("url", state.url).add("port", state.port).add("pid", static_cast<std::int64_t>(state.pid));
  } else {
    json.add_null("url").add_null("port").add_null("pid");
  }
  if (state.exists) {
    json.add("postgresql", state.major_version)
        .add("data_directory", state.data_directory.string())
        .add("log", state.log.string());
  } else {
    json.add_null("postgresql").add_null("data_directory").add_null("log");
  }
  return json.text();
}

std::string to_text(const DevServerState& state) {
  if (!state.exists) return "no dev server in this directory or above it; `dogged dev up` makes one\n";
  const std::string what = "PostgreSQL " + std::to_string(state.major_version);
  std::string text =
      what + (state.running ? " is running, process " + std::to_string(state.pid) : " is stopped") + "\n";
  if (state.running) text += "  url   " + state.url + "\n";
  text += "  data  " + state.data_directory.string() + "\n  log   " + state.log.string() + "\n";
  return text;
}

/// Whether commands use it: the environment may name another database.
std::string who_uses(const DevServerState& state) {
  const DatabaseUrl used = find_database_url("");
  if (used.is_dev_server || used.url == state.url) return "Commands in this directory use it. Next: dogged migrate\n";
  return "Commands use the database that " + used.source + (used.url.empty() ? " name" : " names") +
         ". To use this one: export DATABASE_URL=$(dogged dev url)\n";
}

ExitCode up(const Invocation& invocation) {
  const DevServerState state = server_here().up();
  invocation.print(to_text(state) + who_uses(state), to_json(state));
  return ExitCode::ok;
}

std::string where_another_runs() {
  const DevServerState state = nearest();
  if (!state.running) return "";
  return "; `dogged dev down` stops one above it, whose files are in " + state.data_directory.string();
}

ExitCode down(const Invocation& invocation, bool remove) {
  DevServer server = server_here();
  const bool stopped = server.down();
  const bool removed = remove && server.remove();
  std::string text = stopped ? "stopped" : "no dev server was running in this directory";
  if (removed) text += stopped ? ", and its data is deleted" : "; its data is deleted";
  if (!stopped && !removed) text += where_another_runs();
  invocation.print(text + "\n", JsonObject{}.add("stopped", stopped).add("removed", removed).text());
  return ExitCode::ok;
}

ExitCode url(const Invocation& invocation) {
  const std::string url = nearest_running().url;
  invocation.print(url + "\n", JsonObject{}.add("url", url).text());
  return ExitCode::ok;
}

ExitCode status(const Invocation& invocation) {
  const DevServerState state = nearest();
  invocation.print(to_text(state), to_json(state));
  return state.running ? ExitCode::ok : ExitCode::not_done;
}

/// psql of the server's version, or the one on PATH: clients are packaged apart.
fs::path find_psql(int major_version) {
  const fs::path beside = private_server::find_pg_binaries(major_version).directory / "psql";
  return fs::exists(beside) ? beside : fs::path{"psql"};
}

/// Becomes psql. The URL goes through the environment: arguments stand in the list of processes.
ExitCode psql(const Invocation& invocation, const std::vector<std::string>& arguments) {
  require_plain_names(arguments);
  const DevServerState state = nearest_running();
  db::require_schema_name(invocation.schema);
  const std::string url = state.url;
  const auto colon = url.find(':', url.find("//"));
  // libpq prefers a service's and PGHOSTADDR's server to PGHOST's, and this server has no TLS.
  for (const char* variable : {"PGSERVICE", "PGHOSTADDR", "PGSSLMODE"}) unsetenv(variable);
  setenv("PGHOST", "127.0.0.1", 1);
  setenv("PGPORT", std::to_string(state.port).c_str(), 1);
  setenv("PGUSER", "dogged", 1);
  setenv("PGPASSWORD", url.substr(colon + 1, url.find('@') - colon - 1).c_str(), 1);
  setenv("PGDATABASE", "dogged", 1);
  setenv("PGOPTIONS", ("-c search_path=" + invocation.schema + ",public").c_str(), 1);
  const std::string program = find_psql(state.major_version).string();
  std::vector<const char*> argv{program.c_str()};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  argv.push_back(nullptr);
  execvp(program.c_str(), const_cast<char* const*>(argv.data()));
  throw Failure(ExitCode::not_done, "psql is not found",
                "install postgresql-client, or use any client with: dogged dev url");
}

}  // namespace

void add_dev(CLI::App& app, Invocation& invocation) {
  CLI::App* dev = app.add_subcommand("dev", "Run a private PostgreSQL for this directory");
  dev->require_subcommand(1);
  dev->footer(
      "The server and its data are in .dogged/ under the current directory. It listens on 127.0.0.1 alone "
      "and wants a\n"
      "password; no other server is touched. DOGGED_PG_BIN names the directory of initdb and postgres, if "
      "need be.\n"
      "\nExamples:\n  dogged dev up\n  dogged dev psql\n  export DATABASE_URL=$(dogged dev url)\n  dogged "
      "dev down --remove");
  add_command(*dev, invocation, "up", "Start it; make it first if it is not there", "  dogged dev up && dogged migrate",
              [&invocation] { return up(invocation); });

  const auto remove = std::make_shared<bool>(false);
  add_command(*dev, invocation, "down", "Stop it",
              "  dogged dev down            keep the data\n  dogged dev down --remove   delete it",
              [&invocation, remove] { return down(invocation, *remove); })
      ->add_flag("--remove", *remove, "Delete the server and all of its data");
  add_command(*dev, invocation, "url", "Print its URL", "  psql \"$(dogged dev url)\"",
              [&invocation] { return url(invocation); });
  add_command(*dev, invocation, "status", "Tell whether it runs, and where its files are", "  dogged dev status",
              [&invocation] { return status(invocation); });

  // prefix_command leaves everything from psql's first argument on to psql.
  CLI::App* client = dev->add_subcommand("psql", "Open psql on it; arguments are psql's");
  client->prefix_command()->fallthrough(false);
  client->footer("Examples:\n  dogged dev psql\n  dogged dev psql -c 'select * from dead_letters'");
  client->callback([&invocation, client] {
    invocation.run = [&invocation, client] { return psql(invocation, client->remaining()); };
  });
}

}  // namespace dogged::cli
