// See worker_options.hpp.
#include "worker_options.hpp"

#include <charconv>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <dogged/detail/names.hpp>

#include "client/database_url.hpp"
#include "client/exit_codes.hpp"
#include "queues_text.hpp"
#include "retry/duration.hpp"

namespace dogged::runtime {
namespace {

constexpr milliseconds max_grace = std::chrono::hours{24};
constexpr milliseconds min_poll_interval{10};
constexpr milliseconds max_poll_interval = std::chrono::minutes{10};
constexpr milliseconds min_heartbeat{10};
constexpr milliseconds max_lease = std::chrono::hours{1};
constexpr int most_abandoned_threads = 10'000;

constexpr const char* footer =
    "Examples:\n"
    "  worker --queues webhooks:20,default:5\n"
    "  DATABASE_URL=postgresql://app@db/app worker --grace 2m\n"
    "  worker --retry-config retry.json --list-tasks    what applies; a mistake in the file ends with exit code 2\n"
    "\n"
    "Retries without a build: --retry-config FILE is {\"defaults\": {…}, \"tasks\": {\"webhook.deliver\": "
    "{\"max_attempts\": 6, \"initial_delay\": \"2s\"}}}. RETRY_MAX_ATTEMPTS, RETRY_INITIAL_BACKOFF_MS, "
    "RETRY_MAX_BACKOFF_MS, RETRY_BACKOFF_MULTIPLIER and RETRY_JITTER_ENABLED in the environment count over it, with or "
    "without a file, and over them those of one task, such as WEBHOOK_DELIVER_RETRY_MAX_ATTEMPTS. `dogged policy show "
    "--task NAME` shows what applies and where it comes from.\n"
    "\n"
    "SIGTERM or Ctrl-C: claims no more, gives back what has not started, lets what runs finish within --grace, then "
    "sets stop tokens, and records as interrupted (no retry spent) what still runs when --stop-grace is over too. A "
    "second "
    "signal ends it at once; other workers then rescue its tasks when its lease has lapsed.\n"
    "\n"
    "A worker that dies without a word loses its lease: within --lease + 1s its tasks run again elsewhere.\n"
    "\n"
    "Exit codes: 0 stopped on request, 2 a mistake on the command line, in a TASK_REGISTER or in the settings of "
    "retries, 3 the database cannot be "
    "reached, 4 the schema is missing, older or newer, 5 the database refused.";

/// Whatever a handler starts is not to inherit it.
std::optional<std::int64_t> take_previous_lease() {
  const char* const value = std::getenv(previous_lease_variable);
  if (value == nullptr) return std::nullopt;
  const std::string_view text{value};
  std::int64_t id = 0;
  if (const auto [end, error] = std::from_chars(text.begin(), text.end(), id);
      error != std::errc{} || end != text.end()) {
    throw InvalidInput(std::string{previous_lease_variable} + " is \"" + value + "\", which is no worker's id",
                       "unset it: a worker that starts itself anew sets it for the next");
  }
  ::unsetenv(previous_lease_variable);
  return id;
}

/// `name` names the option in messages.
milliseconds duration_option(const std::string& name, const std::string& text, milliseconds least, milliseconds most) {
  const std::string range = "it must be " + duration_to_text(least) + " to " + duration_to_text(most);
  try {
    const milliseconds value = duration_from_text(text, most);
    if (value >= least && value <= most) return value;
  } catch (const InvalidInput& error) {
    throw InvalidInput(name + ": " + error.message(), range);
  }
  throw InvalidInput(name + " is " + text + "; " + range);
}

std::string default_worker_name() {
  std::string host(256, '\0');
  if (::gethostname(host.data(), host.size() - 1) != 0) host = "worker";
  return std::string{host.c_str()}.substr(0, 100) + ":" + std::to_string(::getpid());
}

}  // namespace

std::optional<int> parse_worker_options(int argc, char** argv, WorkerOptions& options) {
  CLI::App app{"A dogged worker: runs the tasks that this program registers."};
  app.footer(footer);
  app.set_version_flag("--version", std::string{"dogged "} + DOGGED_VERSION);
  std::string database_url, queues, retry_config;
  std::string heartbeat = "5s", lease = "30s", grace = "30s", stop_grace = "5s", poll_interval = "10s";
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
  app.add_option("--name", settings.name,
                 "What `dogged workers` shows; no two workers that live can have the same; default: host:pid")
      ->type_name("NAME");
  app.add_option("--heartbeat", heartbeat,
                 "How often the lease on its tasks is renewed, 10ms to 20m; half as often while it holds none")
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option("--lease", lease,
                 "How long its tasks stay its own without a heartbeat: at least three heartbeats, at most 1h")
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option("--grace", grace, "How long what runs may go on after SIGTERM, 0s to 24h")
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option(
         "--stop-grace", stop_grace,
         "How long a handler may go on after its stop token was set (timeout, cancellation, end of --grace; after a "
         "lost lease, from when PostgreSQL answers), 0s to 24h; then its attempt ends without it")
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option(
         "--max-abandoned-threads", settings.max_abandoned_threads,
         "Threads that may be lost to handlers that ignore their stop tokens; with more, the worker shuts down in "
         "order and starts itself anew, 0 to 10000")
      ->type_name("N")
      ->capture_default_str();
  app.add_flag("--poll-only", settings.poll_only,
               "For a transaction pooler such as PgBouncer in between: no LISTEN and nothing else that is bound to a "
               "session; new tasks are found by polling (--poll-interval, then 1s unless said)");
  app.add_option("--poll-interval", poll_interval,
                 "How long to wait at most without a notification before looking again, 10ms to 10m")
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option("--retry-config", retry_config,
                 "A JSON file of retry settings by task, read at the start: they count over what TASK_REGISTER says")
      ->envname("DOGGED_RETRY_CONFIG")
      ->type_name("FILE");
  app.add_option("--log-level", options.log_level, "trace, debug, info, warn, error or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  app.add_flag("--list-tasks", options.list_tasks,
               "Print the tasks that this program registers, with the retries that apply, and end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? static_cast<int>(ExitCode::ok) : static_cast<int>(ExitCode::wrong_input);
  }

  if (app.count("--retry-config") > 0) options.retry_config = retry_config;
  if (app.count("--queues") > 0) settings.queues = queues_from_text(queues);
  settings.heartbeat = duration_option("--heartbeat", heartbeat, min_heartbeat, max_lease / 3);
  settings.lease = duration_option("--lease", lease, 3 * min_heartbeat, max_lease);
  settings.grace = duration_option("--grace", grace, milliseconds{0}, max_grace);
  settings.stop_grace = duration_option("--stop-grace", stop_grace, milliseconds{0}, max_grace);
  if (settings.poll_only && app.count("--poll-interval") == 0) poll_interval = "1s";
  settings.poll_interval = duration_option("--poll-interval", poll_interval, min_poll_interval, max_poll_interval);
  if (settings.name.empty() || settings.name.size() > limits::name_bytes) {
    throw InvalidInput("--name has " + std::to_string(settings.name.size()) + " bytes; it must be 1 to 128");
  }
  if (settings.max_abandoned_threads < 0 || settings.max_abandoned_threads > most_abandoned_threads) {
    throw InvalidInput("--max-abandoned-threads is " + std::to_string(settings.max_abandoned_threads) +
                       "; it must be 0 to 10000");
  }
  settings.previous_lease = take_previous_lease();
  require_sound(settings);
  db::require_schema_name(settings.database.schema);
  settings.database.application_name = "dogged worker";
  if (!options.list_tasks) settings.database.url = find_database_url(database_url).url;
  return std::nullopt;
}

}  // namespace dogged::runtime
