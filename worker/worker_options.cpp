// See worker_options.hpp.
#include "worker_options.hpp"

#include <algorithm>
#include <charconv>
#include <iostream>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <dogged/detail/names.hpp>

#include "client/database_url.hpp"
#include "client/exit_codes.hpp"
#include "retry/duration.hpp"

namespace dogged::runtime {
namespace {

constexpr int max_concurrency = 1000;
constexpr milliseconds max_grace = std::chrono::hours{24};
constexpr milliseconds min_poll_interval{10};
constexpr milliseconds max_poll_interval = std::chrono::minutes{10};

constexpr const char* footer =
    "Examples:\n"
    "  worker --queues webhooks:20,default:5\n"
    "  DATABASE_URL=postgresql://app@db/app worker --grace 2m\n"
    "\n"
    "SIGTERM or Ctrl-C: claims no more, gives back what has not started, lets what runs finish within --grace, then "
    "sets "
    "stop tokens, and records as interrupted (no retry spent) what still runs 5 s later. A second signal ends it at "
    "once.\n"
    "\n"
    "Exit codes: 0 stopped on request, 2 a mistake on the command line or in a TASK_REGISTER, 3 the database cannot be "
    "reached, 4 the schema is missing, older or newer, 5 the database refused.";

/// `name` names the option in messages.
milliseconds duration_option(const std::string& name, const std::string& text, milliseconds least, milliseconds most) {
  try {
    const milliseconds value = duration_from_text(text);
    if (value >= least && value <= most) return value;
  } catch (const InvalidInput& error) {
    throw InvalidInput(name + ": " + error.message(), error.hint());
  }
  throw InvalidInput(name + " is " + text + "; it must be " + duration_to_text(least) + " to " +
                     duration_to_text(most));
}

std::string default_worker_name() {
  std::string host(256, '\0');
  if (::gethostname(host.data(), host.size() - 1) != 0) host = "worker";
  return std::string{host.c_str()}.substr(0, 100) + ":" + std::to_string(::getpid());
}

}  // namespace

std::map<std::string, int> queues_from_text(std::string_view text) {
  const std::string form = "write name:concurrency, separated by commas, for example webhooks:10,default:5";
  std::map<std::string, int> queues;
  while (true) {
    const std::string_view entry = text.substr(0, text.find(','));
    const auto colon = entry.rfind(':');
    const std::string name{entry.substr(0, colon)};
    if (colon == std::string_view::npos || !detail::is_valid_name(name)) {
      throw InvalidInput("--queues: \"" + std::string{entry} + "\" is not a queue's name and its concurrency", form);
    }
    const std::string_view number = entry.substr(colon + 1);
    int concurrency = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), concurrency);
    const bool is_number = error == std::errc{} && end == number.data() + number.size();
    if (!is_number || concurrency < 1 || concurrency > max_concurrency) {
      throw InvalidInput(
          "--queues: the concurrency of " + name + " is \"" + std::string{number} + "\"; it must be 1 to 1000", form);
    }
    if (!queues.emplace(name, concurrency).second) throw InvalidInput("--queues names " + name + " twice", form);
    if (entry.size() == text.size()) return queues;
    text.remove_prefix(entry.size() + 1);
  }
}

std::optional<int> parse_worker_options(int argc, char** argv, WorkerOptions& options) {
  CLI::App app{"A dogged worker: runs the tasks that this program registers."};
  app.footer(footer);
  app.set_version_flag("--version", std::string{"dogged "} + DOGGED_VERSION);
  std::string database_url, queues;
  std::string grace = "30s", poll_interval = "5s";
  WorkerSettings& settings = options.settings;
  settings.name = default_worker_name();
  app.add_option("--database-url", database_url,
                 "Where the queue is; otherwise DATABASE_URL, libpq's PG* variables, or the private server of `dogged "
                 "dev up`")
      ->type_name("URL");
  app.add_option("--schema", settings.database.schema, "The schema of the queue")
      ->envname("DOGGED_SCHEMA")
      ->capture_default_str();
  app.add_option("--queues", queues,
                 "Which queues to serve, and how many tasks of each at once; otherwise every queue that a registered "
                 "task names, 10 each")
      ->type_name("NAME:CONCURRENCY,…");
  app.add_option("--name", settings.name, "What `dogged workers` shows; default: host:pid")->type_name("NAME");
  app.add_option("--grace", grace, "How long what runs may go on after SIGTERM, 0s to 24h")
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option("--poll-interval", poll_interval,
                 "How long to wait at most without a notification before looking again, 10ms to 10m")
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option("--log-level", options.log_level, "trace, debug, info, warn, error or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  app.add_flag("--list-tasks", options.list_tasks, "Print the tasks that this program registers, and end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? static_cast<int>(ExitCode::ok) : static_cast<int>(ExitCode::wrong_input);
  }

  if (app.count("--queues") > 0) settings.queues = queues_from_text(queues);
  settings.grace = duration_option("--grace", grace, milliseconds{0}, max_grace);
  settings.poll_interval = duration_option("--poll-interval", poll_interval, min_poll_interval, max_poll_interval);
  if (settings.name.empty() || settings.name.size() > limits::name_bytes) {
    throw InvalidInput("--name has " + std::to_string(settings.name.size()) + " bytes; it must be 1 to 128");
  }
  db::require_schema_name(settings.database.schema);
  settings.database.application_name = "dogged worker";
  if (!options.list_tasks) settings.database.url = find_database_url(database_url).url;
  return std::nullopt;
}

}  // namespace dogged::runtime
