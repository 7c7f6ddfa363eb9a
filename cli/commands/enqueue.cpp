// `dogged enqueue`: one task from the command line, or many from lines of JSON.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <dogged/client.hpp>

#include "cli/commands/commands.hpp"
#include "cli/hint.hpp"
#include "cli/input/choices.hpp"
#include "cli/input/new_tasks.hpp"
#include "cli/io/interrupt.hpp"
#include "cli/io/line_reader.hpp"
#include "cli/io/task_rows.hpp"
#include "cli/options/time_option.hpp"
#include "cli/options/unique_options.hpp"
#include "cli/render/json_object.hpp"
#include "db/connection.hpp"
#include "db/errors.hpp"
#include "sql/commands.hpp"
#include "text/counted.hpp"
#include "text/duration.hpp"
#include "text/message.hpp"

namespace dogged::cli {
namespace {

// A batch is one transaction. A file that fits into one is enqueued whole or not at all.
constexpr std::size_t enqueue_batch_lines = 10'000;
constexpr std::size_t enqueue_batch_bytes = std::size_t{64} << 20U;

constexpr std::size_t most_names_noted = 20;
// No program has more kinds of task than that.
constexpr std::size_t most_names_looked_up = 10'000;

struct EnqueueArguments {
  std::string name;
  std::string args = "{}";
  std::string queue, trace_context, expires_at, expires_in, wait_for_room;
  DueTime due;
  std::int64_t priority = 0;
  std::int64_t args_version = 1;
  std::int64_t parent = 0;
  std::vector<std::string> tags;
  UniqueOptions unique;
  std::string file;
  bool many = false;
};

// --- one
// --------------------------------------------------------------------------------------------------------------

milliseconds wait_of(const EnqueueArguments& arguments) {
  return arguments.wait_for_room.empty() ? milliseconds{0}
                                         : duration_from_text(arguments.wait_for_room, std::chrono::hours{24});
}

NewTask task_from(const EnqueueArguments& arguments, Zone zone) {
  NewTask task;
  task.name = arguments.name;
  task.args_json = arguments.args == "-" ? InputFile{arguments.args}.text() : arguments.args;
  require_json("ARGS", task.args_json);
  task.options.queue = arguments.queue;
  if (!arguments.due.at.empty()) task.options.run_at = time_point_from_text(arguments.due.at, zone);
  if (!arguments.due.in.empty()) task.options.delay = duration_from_text(arguments.due.in);
  task.options.priority = priority_from_number(arguments.priority);
  task.options.trace_context = arguments.trace_context;
  if (!arguments.expires_at.empty()) task.options.expires_at = time_point_from_text(arguments.expires_at, zone);
  if (!arguments.expires_in.empty()) task.options.expires_in = duration_from_text(arguments.expires_in);
  task.options.tags = arguments.tags;
  task.options.parent = arguments.parent;
  task.args_version = args_version_from_number(arguments.args_version);
  arguments.unique.apply_to(task);
  task.options.wait_for_room = wait_of(arguments);
  return task;
}

Client connect_client(const Invocation& invocation) {
  // Messages about the connection must not come between the lines of a result.
  auto log = std::make_shared<spdlog::logger>("dogged", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log->set_pattern("%v");
  return Client{invocation.database_url,
                {.schema = invocation.schema,
                 .application_name = "dogged cli",
                 .log = std::move(log),
                 .warns_of_undeclared = false}};  // note_undeclared offers the nearest name
}

/// Of a unique task that was not enqueued, because another task holds its key.
void print_holder(const Invocation& invocation, const std::string& name, const Enqueued& holder) {
  const std::string outcome{to_text(holder.outcome)};
  const std::string json = JsonObject{}
                               .add("id", holder.id)
                               .add("name", name)
                               .add_null("queue")
                               .add_null("run_at")
                               .add_null("expires_at")
                               .add("outcome", outcome)
                               .text();
  invocation.print("task " + std::to_string(holder.id) + " holds the key: it " +
                       (holder.outcome == EnqueueOutcome::existed ? "existed already" : "was updated") + "\n",
                   json);
}

void print_enqueued(const Invocation& invocation, const std::string& name, const sql::ShowEnqueued::Row& task) {
  const Time run_at = time_from_microseconds(task.run_at_us);
  const Time enqueued_at = time_from_microseconds(task.enqueued_at_us);
  const auto expires_at = time_from_microseconds(task.expires_at_us);
  const bool at_once = run_at <= enqueued_at;
  const std::string due =
      at_once ? "due now"
              : "due " + relative(run_at, enqueued_at) + ", at " + date_and_clock_text(run_at, invocation.style().zone);
  JsonObject json;
  json.add("id", task.id).add("name", name).add("queue", task.queue).add("run_at", run_at);
  json.add("expires_at", expires_at).add("outcome", to_text(EnqueueOutcome::enqueued));
  const std::string expiry = expires_at ? ", expires " + relative(*expires_at, enqueued_at) : "";
  invocation.print("task " + std::to_string(task.id) + " enqueued in queue " + task.queue + ", " + due + expiry + "\n",
                   json.text());
}

/// On stderr, in a terminal: no error ever tells of a misspelt name, because the task waits for a worker that knows it.
/// Nothing for a producer, which may not read what workers have declared.
void note_undeclared(const Invocation& invocation, const std::set<std::string>& names) {
  if (invocation.format != Format::table || names.empty()) return;
  std::vector<std::string> declared;
  try {
    db::Connection connection = invocation.connect();
    for (const auto& [name] : connection.run(sql::DeclaredTasks{})) declared.push_back(name);
  } catch (const Error&) {
    return;  // the tasks are enqueued, whatever becomes of the note
  }
  const Words words{declared.begin(), declared.end()};
  std::cout.flush();
  std::size_t undeclared = 0;
  for (const std::string& name : names) {
    if (std::find(declared.begin(), declared.end(), name) != declared.end()) continue;
    if (++undeclared > most_names_noted) continue;
    std::cerr << "note: no worker has declared a task " << in_quotes(name) << suggestion_of_typo(name, words)
              << "; it waits for one that does\n";
  }
  if (undeclared > most_names_noted) {
    std::cerr << "note: nor one of " << counted(static_cast<std::int64_t>(undeclared - most_names_noted), "other name")
              << "\n";
  }
}

/// Where the task went; nothing for a producer, which may not read tasks.
std::optional<sql::ShowEnqueued::Row> look_at_enqueued(db::Connection& connection, TaskId id) {
  try {
    return db::one(connection.run(sql::ShowEnqueued{.task_id = id}));
  } catch (const DatabaseError& error) {
    if (error.sqlstate() != db::insufficient_privilege) throw;
    return std::nullopt;
  }
}

void print_id(const Invocation& invocation, const std::string& name, TaskId id) {
  const std::string json = JsonObject{}
                               .add("id", id)
                               .add("name", name)
                               .add_null("queue")
                               .add_null("run_at")
                               .add_null("expires_at")
                               .add("outcome", to_text(EnqueueOutcome::enqueued))
                               .text();
  invocation.print("task " + std::to_string(id) + " enqueued\n", json);
}

/// A queue that is not there is no mistake in the task: it ends as with every command that names one.
Enqueued enqueue_in_existing_queue(Client& client, const NewTask& task) {
  try {
    return client.enqueue_many_unique({task}).front();
  } catch (const UniqueConflict& error) {
    throw Failure(ExitCode::not_done, error.message(), "--on-conflict keep gives the id of that task");
  } catch (const db::UnknownQueue& error) {
    throw Failure(ExitCode::not_done, error.message(), error.hint());
  }
}

ExitCode enqueue_one(const Invocation& invocation, const EnqueueArguments& arguments) {
  const NewTask task = task_from(arguments, invocation.style().zone);
  db::Connection connection = invocation.connect();  // first: its errors say where the URL came from
  Client client = connect_client(invocation);
  const Enqueued enqueued = enqueue_in_existing_queue(client, task);
  if (!enqueued.is_new()) {
    print_holder(invocation, task.name, enqueued);
  } else if (const auto row = look_at_enqueued(connection, enqueued.id)) {
    print_enqueued(invocation, task.name, *row);
  } else {
    print_id(invocation, task.name, enqueued.id);
  }
  note_undeclared(invocation, {task.name});
  return ExitCode::ok;
}

// --- many
// -------------------------------------------------------------------------------------------------------------

/// The work done so far. Error messages have to tell it as well.
struct Progress {
  std::int64_t lines_read = 0;
  std::int64_t lines_done = 0;  ///< up to here everything is enqueued
  std::int64_t enqueued = 0;
  std::int64_t held = 0;          ///< unique tasks that met a holder
  std::set<std::string> names{};  ///< of the tasks

  [[nodiscard]] std::string text() const {
    if (lines_done == 0) return "nothing was enqueued";
    return counted(enqueued, "task") + " of the lines 1 to " + std::to_string(lines_done) +
           (enqueued == 1 ? " was" : " were") + " enqueued, and nothing after them";
  }
  [[nodiscard]] std::string hint() const {
    return lines_done == 0 ? ""
                           : "go on with the lines from " + std::to_string(lines_done + 1) + ": tail -n +" +
                                 std::to_string(lines_done + 1);
  }
};

/// An error of a line or a batch, with its place and with the work done before it.
[[noreturn]] void fail(const Progress& progress, const std::string& where, const Error& error, std::string hint) {
  const ExitCode code = progress.lines_done > 0 ? ExitCode::not_done : exit_code_for(error);
  if (!progress.hint().empty()) hint = hint.empty() ? progress.hint() : hint + "; then " + progress.hint();
  throw Failure(code, where + ": " + error.message() + " (" + progress.text() + ")", hint);
}

/// The tasks of the next lines, at most a batch of them. Empty lines are passed over.
std::vector<NewTask> read_batch(LineReader& lines, Zone zone, PointerTexts& pointers, Progress& progress) {
  std::vector<NewTask> batch;
  std::size_t bytes = 0;
  std::string line;
  const auto read_line = [&] {
    try {
      return lines.next(line);
    } catch (const InvalidInput& error) {
      fail(progress, "line " + std::to_string(progress.lines_read + 1), error, error.hint());
    }
  };
  while (batch.size() < enqueue_batch_lines && bytes < enqueue_batch_bytes && !was_interrupted() && read_line()) {
    ++progress.lines_read;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      batch.push_back(task_from_json_line(line, pointers, zone));
    } catch (const Error& error) {
      fail(progress, "line " + std::to_string(progress.lines_read), error, error.hint());
    }
    bytes += line.size();
  }
  return batch;
}

void print_batch(const Invocation& invocation, const std::vector<NewTask>& batch, const std::vector<Enqueued>& enqueued,
                 bool is_first) {
  if (invocation.format == Format::table) return;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::string json = JsonObject{}
                                 .add("id", enqueued[i].id)
                                 .add("name", batch[i].name)
                                 .add("outcome", to_text(enqueued[i].outcome))
                                 .text();
    if (invocation.format == Format::ndjson) {
      std::cout << json << "\n";
    } else {
      std::cout << (is_first && i == 0 ? "[\n" : ",\n") << json;
    }
  }
}

/// On stderr, each second at most, and only in a terminal.
class Ticker {
 public:
  void show(const Progress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (!is_watched_ || now - shown_ < std::chrono::seconds{1}) return;
    shown_ = now;
    was_shown_ = true;
    std::cerr << "\r" << counted(progress.enqueued, "task") << " enqueued" << std::flush;
  }
  ~Ticker() {
    if (was_shown_) std::cerr << "\n";
  }
  Ticker() = default;
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  bool is_watched_ = isatty(STDERR_FILENO) == 1;
  bool was_shown_ = false;
  std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
};

void enqueue_lines(const Invocation& invocation, LineReader lines, milliseconds wait_for_room, Client& client,
                   Progress& progress) {
  Ticker ticker;
  while (!was_interrupted()) {
    const std::int64_t first_line = progress.lines_read + 1;
    PointerTexts pointers;
    std::vector<NewTask> batch = read_batch(lines, invocation.style().zone, pointers, progress);
    if (was_interrupted() || batch.empty()) break;
    for (const NewTask& task : batch) {
      if (progress.names.size() < most_names_looked_up) progress.names.insert(task.name);
    }
    batch.front().options.wait_for_room = wait_for_room;  // the longest counts for all
    std::vector<Enqueued> enqueued;
    try {
      enqueued = client.enqueue_many_unique(batch);
    } catch (const Error& error) {
      fail(progress, "lines " + std::to_string(first_line) + " to " + std::to_string(progress.lines_read), error,
           hint_for(invocation, error));
    }
    print_batch(invocation, batch, enqueued, progress.lines_done == 0);
    progress.lines_done = progress.lines_read;
    const auto fresh =
        std::count_if(enqueued.begin(), enqueued.end(), [](const Enqueued& one) { return one.is_new(); });
    progress.enqueued += fresh;
    progress.held += std::ssize(enqueued) - fresh;
    ticker.show(progress);
  }
  if (was_interrupted()) throw Failure(ExitCode::interrupted, "interrupted: " + progress.text(), progress.hint());
}

/// A JSON array is closed however reading ended, so that it can be read as far as it goes.
class ArrayEnd {
 public:
  ArrayEnd(const Invocation& invocation, const Progress& progress) : invocation_(invocation), progress_(progress) {}
  ~ArrayEnd() {
    if (invocation_.format == Format::json) std::cout << (progress_.lines_done == 0 ? "[]\n" : "\n]\n");
  }
  ArrayEnd(const ArrayEnd&) = delete;
  ArrayEnd& operator=(const ArrayEnd&) = delete;

 private:
  const Invocation& invocation_;
  const Progress& progress_;
};

ExitCode enqueue_many(const Invocation& invocation, const EnqueueArguments& arguments) {
  const InputFile input{arguments.file.empty() ? "-" : arguments.file};
  const milliseconds wait_for_room = wait_of(arguments);
  static_cast<void>(invocation.connect());  // its errors say where the URL came from
  Client client = connect_client(invocation);
  stop_on_interrupt();
  Progress progress;
  {
    const ArrayEnd array_end{invocation, progress};
    enqueue_lines(invocation, input.lines(), wait_for_room, client, progress);
  }
  if (invocation.format == Format::table) {
    std::cout << counted(progress.enqueued, "task") << " enqueued";
    if (progress.held > 0) std::cout << ", " << progress.held << " met a task that holds their unique key";
    std::cout << "\n";
  }
  note_undeclared(invocation, progress.names);
  return ExitCode::ok;
}

ExitCode enqueue(const Invocation& invocation, const EnqueueArguments& arguments) {
  if (arguments.many) return enqueue_many(invocation, arguments);
  if (arguments.name.empty()) {
    throw Failure(ExitCode::wrong_input, "enqueue needs the NAME of a task, or --ndjson", "dogged enqueue --help");
  }
  return enqueue_one(invocation, arguments);
}

}  // namespace

void add_enqueue(CLI::App& app, Invocation& invocation) {
  const auto arguments = std::make_shared<EnqueueArguments>();
  CLI::App* command = add_command(
      app, invocation, "enqueue", "Enqueue a task, or many",
      "  dogged enqueue webhook.deliver '{\"url\": \"http://127.0.0.1:8080/\"}'\n"
      "  dogged enqueue report.build --in 10m --priority -5\n"
      "  dogged enqueue report.build --tag tenant:42,weekly\n"
      "  dogged enqueue login.send_code '{\"user\": 7}' --expires-in 5m\n"
      "  dogged enqueue search.reindex '{\"user\": 42}' --unique-by /user --unique-while pending\n"
      "  dogged enqueue search.reindex '{\"user\": 42}' --unique-key user:42 --on-conflict debounce --in 5s --latest "
      "1m\n"
      "  jq -c . big.json | dogged enqueue report.build -\n"
      "  dogged enqueue --ndjson tasks.ndjson\n"
      "\nLines for --ndjson; only name is needed:\n"
      "  {\"name\": \"webhook.deliver\", \"args\": {\"url\": \"…\"}, \"queue\": \"webhooks\",\n"
      "   \"in\": \"30s\", \"priority\": 0, \"trace_context\": \"…\", \"expires_in\": \"1h\", \"tags\": [\"eu\"],\n"
      "   \"parent\": 42, \"args_version\": 2}\n"
      "or \"at\": \"2026-11-24T14:00:00Z\" for in, and so \"expires_at\" for expires_in. For a unique task also "
      "\"unique_key\"\n"
      "or \"unique_by\": [\"/user\"], \"unique_while\", \"on_conflict\", \"unique_period\" and \"latest\".\n"
      "They are enqueued in batches of 10,000 lines (or 64 MiB), each whole or not at all; the first mistake "
      "ends it, and\n"
      "says what was enqueued before.",
      [&invocation, arguments] {
        invocation.needed_right = "enqueue";  // before it, the number of the call is noted
        return enqueue(invocation, *arguments);
      });
  CLI::Option* name = command->add_option("name", arguments->name, "The task's name")->type_name("NAME");
  command->add_option("args", arguments->args, "Its args as JSON; - reads them from stdin; {} unless said")
      ->type_name("ARGS");
  CLI::Option* queue =
      command
          ->add_option("--queue", arguments->queue, "The queue; unless said, the one that the task's worker declared")
          ->type_name("NAME");
  const auto [at, in] = add_due_options(*command, arguments->due, "Not before");
  CLI::Option* priority =
      command->add_option("--priority", arguments->priority, "Lower runs first, -32768 to 32767; 0 unless said")
          ->type_name("N");
  CLI::Option* expires_at =
      command
          ->add_option("--expires-at", arguments->expires_at,
                       "Good until: not begun after this time; a task that is pending then ends as expired")
          ->type_name("TIME")
          ->check(is_time());
  CLI::Option* expires_in =
      command->add_option("--expires-in", arguments->expires_in, "The same as a time from now: 30s, 1h30m, 7d")
          ->type_name("DURATION")
          ->check(is_duration())
          ->excludes(expires_at);
  CLI::Option* trace_context =
      command->add_option("--trace-context", arguments->trace_context, "Carried to the handler and to every attempt")
          ->type_name("TEXT");
  CLI::Option* tag =
      command->add_option("--tag", arguments->tags, "A word to find it by, as tenant:42; several with commas")
          ->type_name("TAG")
          ->delimiter(',')
          ->allow_extra_args(false);
  CLI::Option* parent = command->add_option("--parent", arguments->parent, "The task that this one belongs to")
                            ->type_name("ID")
                            ->check(is_task_id());
  CLI::Option* args_version =
      command->add_option("--args-version", arguments->args_version, "The version of the args; 1 unless said")
          ->type_name("N");
  command
      ->add_option("--wait-for-room", arguments->wait_for_room,
                   "If the queue is at its limit: wait up to this long until it has room")
      ->type_name("DURATION")
      ->check(is_duration());
  CLI::Option* ndjson =
      command
          ->add_option("--ndjson", arguments->file, "Enqueue a task for each line of a file; - or nothing reads stdin")
          ->type_name("FILE")
          ->expected(0, 1);
  for (CLI::Option* of_unique : add_unique_options(*command, arguments->unique)) ndjson->excludes(of_unique);
  // Each line says these of its own task.
  for (CLI::Option* of_one :
       {name, queue, at, in, priority, expires_at, expires_in, trace_context, tag, parent, args_version}) {
    ndjson->excludes(of_one);
  }
  command->parse_complete_callback([command, arguments] { arguments->many = command->count("--ndjson") > 0; });
}

}  // namespace dogged::cli
