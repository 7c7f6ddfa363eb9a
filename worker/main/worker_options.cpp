// See worker_options.hpp.
#include "main/worker_options.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include "client/database_url.hpp"
#include "client/exit_codes.hpp"
#include "http/listen_address.hpp"
#include "main/queues_text.hpp"
#include "main/worker_settings.hpp"
#include "retry/messaging_names.hpp"
#include "text/duration.hpp"
#include "text/message.hpp"

namespace dogged::runtime {
namespace {

constexpr const char* footer =
    "Examples:\n"
    "  worker --queues webhooks:20,default:5\n"
    "  DATABASE_URL=postgresql://app@db/app worker --grace 2m\n"
    "  worker --retry-config retry.json --list-tasks    what this worker declares; a mistake in the file ends with "
    "exit code 2\n"
    "\n"
    "Retries without a build: --retry-config FILE is {\"defaults\": {…}, \"tasks\": {\"webhook.deliver\": "
    "{\"max_attempts\": 6, \"initial_delay\": \"2s\"}}}. RETRY_MAX_ATTEMPTS (or RETRY_MAX_RETRIES), "
    "RETRY_INITIAL_BACKOFF_MS, "
    "RETRY_MAX_BACKOFF_MS, RETRY_BACKOFF_MULTIPLIER and RETRY_JITTER_ENABLED in the environment count over it, with or "
    "without a file, and over them those of one task, such as WEBHOOK_DELIVER_RETRY_MAX_ATTEMPTS. `dogged policy show "
    "--task NAME` shows what applies and where it comes from.\n"
    "\n"
    "Traces: OTEL_EXPORTER_OTLP_ENDPOINT (http://localhost:4318) in the environment exports a span of each attempt to "
    "a "
    "collector, as OTLP over HTTP; OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_EXPORTER_OTLP_HEADERS and "
    "OTEL_TRACES_SAMPLER are OpenTelemetry's. A collector that is down holds up no task.\n"
    "\n"
    "SIGTERM or Ctrl-C: claims no more, gives back what has not started, lets what runs finish within --grace, then "
    "sets stop tokens, and records as interrupted (no retry spent) what still runs when --stop-grace is over too. A "
    "second signal, half a second later or more, ends it at once; other workers then rescue its tasks when its lease "
    "has lapsed.\n"
    "\n"
    "A worker that dies without a word loses its lease: within --lease + 1s its tasks run again elsewhere.\n"
    "\n"
    "Exit codes: 0 stopped on request, 2 a mistake on the command line, in a TASK_REGISTER or in the settings of "
    "retries, 3 the database cannot be "
    "reached, 4 the schema is missing, older or newer, 5 the database refused, 70 a mistake of dogged itself: please "
    "report it, 130 or 143 ended at once by a second signal.";

/// Removed from the environment, so that no process that a handler starts inherits it.
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

/// The text of CLI11's error, in dogged's words.
std::string in_own_words(const CLI::App& app, const CLI::ParseError& error) {
  const std::string text = error.what();
  const auto begin = text.find("--");
  const std::string option = begin == text.npos ? "" : text.substr(begin, text.find_first_of(" :=,", begin) - begin);
  const CLI::Option* const named = option.empty() ? nullptr : app.get_option_no_throw(option);
  if (named == nullptr) return text;
  if (named->get_expected_max() == 0) return option + " takes no value; give it alone, or leave it out";
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && named->count() == 0) {
    return option + " has no value; write " + option + " " + named->get_type_name();
  }
  return named->count() > 1 ? option + " is given more than once; give it once" : text;
}

/// The first word that no option took, options before others, or what CLI11 says.
std::string complaint_of(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> words = app.remaining();
  const auto option =
      std::find_if(words.begin(), words.end(), [](const std::string& word) { return word.starts_with("-"); });
  if (option == words.end())
    return words.empty() ? in_own_words(app, error) : "a worker takes no word " + in_quotes(words.front());
  std::vector<std::string> known;
  for (const CLI::Option* each : app.get_options()) {
    for (const std::string& name : each->get_lnames()) known.push_back("--" + name);
  }
  const std::string given = option->substr(0, option->find('='));
  return "a worker has no option " + printable(given) + suggestion(given, {known.begin(), known.end()});
}

/// The names of the values in messages: that of the option, or that of the variable in whose place it stands.
class ValueNames {
 public:
  ValueNames(const CLI::App& app, int argc, char** argv) : app_(app), words_(argv + 1, argv + argc) {}

  [[nodiscard]] std::string of(const std::string& option) const {
    const std::string variable = app_.get_option(option)->get_envname();
    const bool is_given = std::any_of(words_.begin(), words_.end(), [&](const std::string& word) {
      return word == option || word.starts_with(option + "=");
    });
    return is_given || variable.empty() || app_.count(option) == 0 ? option : variable;
  }

 private:
  const CLI::App& app_;
  const std::vector<std::string> words_;
};

/// An empty value comes from a script's variable that is not set, so the worker refuses the value.
void require_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty()) throw InvalidInput(option->get_name() + " is empty; give a value, or leave the option out");
    }
  }
}

void require_one_of(const std::string& name, const std::string& text, const Words& words, const std::string& noun) {
  if (std::find(words.begin(), words.end(), text) != words.end()) return;
  throw InvalidInput(name + ": " + in_quotes(text) + " is not " + noun + suggestion(text, words) + "; write " +
                     alternatives(words));
}

int thread_limit_option(const std::string& name, const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw InvalidInput(name + ": " + in_quotes(text) + " is not a number of threads; write 0 to 10000");
  }
  require_thread_limit(name, value);
  return value;
}

/// `name` is the option in messages.
milliseconds duration_option(const std::string& name, const std::string& text, const DurationRange& range) {
  milliseconds value{0};
  try {
    value = duration_from_text(text, range.most);
  } catch (const InvalidInput& error) {
    throw InvalidInput(name + ": " + error.message(), to_text(range));
  }
  if (value < range.least || value > range.most) throw InvalidInput(name + " is " + text + "; " + to_text(range));
  return value;
}

/// Options as their texts, whose ranges are checked after CLI11 has parsed.
struct OptionTexts {
  explicit OptionTexts(const WorkerOptions& defaults)
      : heartbeat(duration_to_text(defaults.heartbeat)),
        lease(duration_to_text(defaults.lease)),
        grace(duration_to_text(defaults.grace)),
        stop_grace(duration_to_text(defaults.stop_grace)),
        max_abandoned_threads(std::to_string(defaults.max_abandoned_threads)) {}

  std::string queues;
  std::string heartbeat;
  std::string lease;
  std::string grace;
  std::string stop_grace;
  std::string max_abandoned_threads;
  std::string poll_interval = "10s";
  std::string metrics_names = "dogged";
  std::string log_format = "text";
};

/// Options for the database, and for the queues that the worker serves.
void add_options_of_queue(CLI::App& app, WorkerOptions& options, OptionTexts& texts) {
  app.add_option("--database-url", options.database_url,
                 "Where the queue is; otherwise DATABASE_URL, libpq's PG* variables, or the private server of `dogged "
                 "dev up`")
      ->type_name("URL");
  app.add_option("--schema", options.schema, "The schema of the queue")
      ->envname("DOGGED_SCHEMA")
      ->capture_default_str();
  app.add_option("--queues", texts.queues,
                 "Which queues to serve, and how many tasks of each at once; otherwise every queue that a registered "
                 "task names, 10 each")
      ->type_name("NAME:CONCURRENCY,…");
  app.add_flag("--create-queues", options.create_queues,
               "Make the queues of --queues that do not exist; otherwise such a name, unless it is a task's queue, is "
               "refused as misspelt");
  app.add_option("--name", options.name,
                 "What `dogged workers` shows; no two workers that live can have the same; default: host:pid")
      ->type_name("NAME");
}

/// How long things take.
void add_options_of_time(CLI::App& app, OptionTexts& texts) {
  app.add_option("--heartbeat", texts.heartbeat,
                 "How often the lease on its tasks is renewed, 10ms to 20m; half as often while it holds none")
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option("--lease", texts.lease,
                 "How long its tasks stay its own without a heartbeat: at least three heartbeats, at most 1h")
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option("--grace", texts.grace, "How long what runs may go on after SIGTERM, 0s to 24h")
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option(
         "--stop-grace", texts.stop_grace,
         "How long a handler may go on after its stop token was set (timeout, cancellation, end of --grace; after a "
         "lost lease, from when PostgreSQL answers), 0s to 24h; then its attempt ends without it")
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option(
         "--max-abandoned-threads", texts.max_abandoned_threads,
         "Threads that may be lost to handlers that ignore their stop tokens; with more, the worker shuts down in "
         "order and starts itself anew, 0 to 10000")
      ->type_name("N")
      ->capture_default_str();
}

void add_other_options(CLI::App& app, CommandLine& line, OptionTexts& texts) {
  WorkerOptions& options = line.worker;
  app.add_flag("--poll-only", options.poll_only,
               "For a transaction pooler such as PgBouncer in between: no LISTEN and nothing else that is bound to a "
               "session; new tasks are found by polling (--poll-interval, then 1s unless said)");
  app.add_option("--poll-interval", texts.poll_interval,
                 "How long to wait at most without a notification before looking again, 10ms to 10m")
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option("--retry-config", options.retry_config,
                 "A JSON file of retry settings by task, read at the start: they count over what TASK_REGISTER says")
      ->envname("DOGGED_RETRY_CONFIG")
      ->type_name("FILE");
  app.add_option("--metrics-listen", options.metrics_listen,
                 "Serve /metrics for Prometheus, /livez, /readyz and /status there, for example 127.0.0.1:9464; "
                 "nowhere unless given")
      ->envname("DOGGED_METRICS_LISTEN")
      ->type_name("ADDRESS:PORT");
  app.add_option("--metrics-names", texts.metrics_names,
                 "What /metrics calls attempts and operations: dogged (dogged_worker_attempt_seconds), otel, as "
                 "OpenTelemetry's conventions for messaging (messaging_process_duration_seconds), or both")
      ->envname("DOGGED_METRICS_NAMES")
      ->type_name("NAMES")
      ->capture_default_str();
  app.add_option("--log-level", line.log_level, "trace, debug, info, warn, error or off")
      ->type_name("LEVEL")
      ->capture_default_str();
  app.add_option("--log-format", texts.log_format,
                 "text for people; json, an object a line, or logfmt for programs, with a stable name for each event")
      ->envname(log_format_variable)
      ->type_name("FORMAT")
      ->capture_default_str();
  app.add_flag("--log-retries", options.log_retries,
               "Log each retry, and each success after retries, at info; otherwise at debug");
  app.add_flag(
      "--list-tasks", line.list_tasks,
      "Print the tasks and schedules that this program declares, with the retries of each task, and end; needs no "
      "database");
}

/// A worker that serves no metrics has no use for their names. In the environment they may be meant for other workers.
void take_options_of_metrics(const CLI::App& app, const ValueNames& names, const OptionTexts& texts,
                             WorkerOptions& options) {
  if (app.count("--metrics-listen") > 0) {
    static_cast<void>(http::listen_address_from_text(names.of("--metrics-listen"), options.metrics_listen));
  }
  if (app.count("--metrics-names") == 0) return;
  const std::string name = names.of("--metrics-names");
  require_one_of(name, texts.metrics_names, {"dogged", "otel", "both"}, "a choice of names");
  if (options.metrics_listen.empty() && name.starts_with("--")) {
    throw InvalidInput("--metrics-names is " + texts.metrics_names + ", and this worker serves no metrics",
                       "serve them as well, for example with --metrics-listen 127.0.0.1:9464");
  }
  options.metrics_names = metric_names_from_text(texts.metrics_names);
}

void take_options_of_log(const ValueNames& names, const OptionTexts& texts, CommandLine& line) {
  require_one_of("--log-level", line.log_level, {"trace", "debug", "info", "warn", "error", "off"},
                 "a level of the log");
  line.log_format = log_format_from_text(names.of("--log-format"), texts.log_format);
}

void take_texts(const CLI::App& app, const OptionTexts& texts, WorkerOptions& options) {
  if (app.count("--queues") > 0) options.queues = queues_from_text(texts.queues);
  options.heartbeat = duration_option("--heartbeat", texts.heartbeat, ranges::heartbeat);
  options.lease = duration_option("--lease", texts.lease, ranges::lease);
  options.grace = duration_option("--grace", texts.grace, ranges::grace);
  options.stop_grace = duration_option("--stop-grace", texts.stop_grace, ranges::grace);
  if (app.count("--poll-interval") > 0) {
    options.poll_interval = duration_option("--poll-interval", texts.poll_interval, ranges::poll_interval);
  }
  options.max_abandoned_threads = thread_limit_option("--max-abandoned-threads", texts.max_abandoned_threads);
}

}  // namespace

std::optional<int> parse_command_line(int argc, char** argv, CommandLine& line) {
  CLI::App app{"A dogged worker: runs the tasks that this program registers."};
  app.footer(footer);
  app.set_version_flag("--version", std::string{"dogged "} + DOGGED_VERSION);
  WorkerOptions& options = line.worker;
  OptionTexts texts{options};
  add_options_of_queue(app, options, texts);
  add_options_of_time(app, texts);
  add_other_options(app, line, texts);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked_for) {  // --help, --version
    app.exit(asked_for);
    return static_cast<int>(ExitCode::ok);
  } catch (const CLI::ParseError& error) {
    throw InvalidInput(complaint_of(app, error), std::string{argv[0]} + " --help");
  }
  require_values(app);
  const ValueNames names{app, argc, argv};
  take_texts(app, texts, options);
  take_options_of_metrics(app, names, texts, options);
  take_options_of_log(names, texts, line);
  if (app.count("--name") > 0) require_worker_name("--name", options.name);
  if (const auto lease_id = take_previous_lease()) options.previous_lease = lease_id;
  return std::nullopt;
}

}  // namespace dogged::runtime
