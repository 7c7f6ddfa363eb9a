// The `dogged` command: reads the command line, runs the subcommand, and turns what went wrong into a
// message, a hint and an exit code.
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>

#include "cli/bench/worker/worker_program.hpp"
#include "cli/commands/command_tree.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/completion.hpp"
#include "cli/commands/help_formatter.hpp"
#include "cli/hint.hpp"
#include "cli/input/choices.hpp"
#include "cli/render/json_object.hpp"
#include "client/standard_descriptors.hpp"
#include "db/conninfo.hpp"
#include "text/escaped.hpp"
#include "text/message.hpp"

namespace dogged::cli {
namespace {

constexpr const char* exit_codes =
    "Which database: --database-url, else DATABASE_URL, else libpq's PG* variables, else the server that "
    "`dogged dev\n"
    "up` started in this directory or one above it.\n"
    "\n"
    "Exit codes:\n"
    "  0    done\n"
    "  1    what was asked for is not there (a queue, a task, a worker, a circuit), or it was done in part\n"
    "  2    a mistake on the command line or in the input\n"
    "  3    the database cannot be reached\n"
    "  4    the schema is missing, older or newer: see dogged migrate\n"
    "  5    the database refused\n"
    "  70   a mistake of dogged itself: please report it\n"
    "  130  interrupted: Ctrl-C, SIGTERM or SIGHUP\n"
    "\n"
    "A first round:\n"
    "  dogged dev up\n"
    "  dogged migrate\n"
    "  dogged enqueue webhook.deliver '{\"url\": \"http://127.0.0.1:8080/\"}'\n"
    "  dogged tasks list";

std::string_view name_of(ExitCode code) {
  switch (code) {
    case ExitCode::ok:
      return "ok";
    case ExitCode::not_done:
      return "not_done";
    case ExitCode::wrong_input:
      return "wrong_input";
    case ExitCode::unreachable:
      return "unreachable";
    case ExitCode::schema_mismatch:
      return "schema_mismatch";
    case ExitCode::database_refused:
      return "database_refused";
    case ExitCode::defect:
      return "defect";
    case ExitCode::interrupted:
      return "interrupted";
  }
  return "not_done";
}

/// Of several lines, as some messages of libpq and CLI11 are.
std::string escaped_lines(std::string_view text) {
  std::string lines;
  for (auto end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    lines += escaped(text.substr(0, end)) + "\n";
    text.remove_prefix(end + 1);
  }
  return lines + escaped(text);
}

int report(bool as_json, ExitCode code, const std::string& given, const std::string& hint) {
  std::cout.flush();  // the results of finished work come before the error
  const std::string message = db::without_passwords(given);
  if (as_json) {
    JsonObject error;
    error.add("code", name_of(code)).add("message", message);
    if (hint.empty()) {
      error.add_null("hint");
    } else {
      error.add("hint", hint);
    }
    std::cerr << JsonObject{}.add_json("error", error.text()).text() << "\n";
  } else {
    std::cerr << "dogged: " << escaped_lines(message) << "\n";
    if (!hint.empty()) std::cerr << "hint: " << escaped_lines(hint) << "\n";
  }
  return static_cast<int>(code);
}

int report(const Invocation& invocation, const std::exception& error) {
  const auto* failure = dynamic_cast<const Failure*>(&error);
  const ExitCode code = failure != nullptr ? failure->exit_code() : exit_code_for(error);
  const bool as_json = invocation.format != Format::table;
  if (const auto* ours = dynamic_cast<const Error*>(&error))
    return report(as_json, code, ours->message(), hint_for(invocation, *ours));
  return report(as_json, code, error.what(), "");
}

/// The subcommand that was read as far as the mistake, for example `dogged tasks list`.
const CLI::App& innermost(const CLI::App& app, std::string& path) {
  for (const CLI::App* command : app.get_subcommands()) {
    path += " " + command->get_name();
    return innermost(*command, path);
  }
  return app;
}

/// The first word that nothing took, options before others; empty if there is none.
std::string unexpected_word(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(true);
  const auto option =
      std::find_if(words.begin(), words.end(), [](const std::string& word) { return word.starts_with("-"); });
  if (option != words.end()) return *option;
  return words.empty() ? "" : words.front();
}

std::string unexpected_option(const CLI::App& command, const std::string& path, const std::string& word) {
  Words names;
  std::vector<std::string> long_names;
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) long_names.push_back("--" + name);
    }
  }
  for (const std::string& name : long_names) names.push_back(name);
  return path + " has no option " + word + suggestion(word.substr(0, word.find('=')), names);
}

std::vector<std::string> subcommands_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* subcommand : command.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(subcommand->get_name());
  }
  return names;
}

std::string unexpected_argument(const CLI::App& command, const std::string& path, const std::string& word) {
  const std::vector<std::string> subcommands = subcommands_of(command);
  const Words names{subcommands.begin(), subcommands.end()};
  if (names.empty()) {
    const bool has_args = word.starts_with("{") || word.starts_with("[");
    const bool has_spec = path.ends_with(" schedules create");
    const bool has_interval = path.ends_with(" stats");
    return path + " takes no further argument: " + in_quotes(word) +
           (has_spec       ? (has_args ? "; give the args by --args" : "; quote the spec, as '0 3 * * *'")
            : has_interval ? "; write --watch=5s for an interval"
                           : "");
  }
  return in_quotes(word) + " is not a subcommand of " + path + suggestion(word, names);
}

std::string message_of(const CLI::App& app, const CLI::App& command, const std::string& path,
                       const CLI::ParseError& error) {
  const std::string word = unexpected_word(app);
  if (!word.empty() && word.starts_with("-")) return unexpected_option(command, path, word);
  if (!word.empty()) return unexpected_argument(command, path, word);
  const std::vector<std::string> subcommands = subcommands_of(command);
  const bool lacks_something = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (lacks_something && !subcommands.empty() && command.get_subcommands().empty()) {
    return path + " needs a subcommand: " + alternatives({subcommands.begin(), subcommands.end()});
  }
  return error.what();
}

/// Whether -o or --output asks for JSON. CLI11 may not have read so far.
bool asks_for_json(const std::vector<std::string_view>& words) {
  bool as_json = false;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    std::string_view format;
    if (words[i] == "-o" || words[i] == "--output") {
      if (++i == words.size()) break;
      format = words[i];
    } else if (words[i].starts_with("--output=")) {
      format = words[i].substr(words[i].find('=') + 1);
    } else if (words[i].starts_with("-o")) {
      format = words[i].substr(2);
    } else {
      continue;
    }
    as_json = format == "json" || format == "ndjson";
  }
  return as_json;
}

/// A mistake on the command line.
int report(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string_view>& words) {
  std::string path = app.get_name();
  const CLI::App& command = innermost(app, path);
  return report(asks_for_json(words), ExitCode::wrong_input, message_of(app, command, path, error), path + " --help");
}

void add_global_options(CLI::App& app, Invocation& invocation) {
  app.add_option("--database-url", invocation.database_url, "postgresql://user:password@host/name")
      ->type_name("URL")
      ->check(is_not_empty());
  app.add_option("--schema", invocation.schema, "The PostgreSQL schema that holds the queue")
      ->type_name("NAME")
      ->envname("DOGGED_SCHEMA")
      ->capture_default_str();
  app.add_option_function<std::string>(
         "-o,--output",
         [&invocation](const std::string& format) {
           invocation.wide = format == "wide";
           invocation.format = format == "json" ? Format::json : format == "ndjson" ? Format::ndjson : Format::table;
         },
         "table, wide: all columns and times in full, json, or ndjson: one JSON object a line")
      ->type_name("FORMAT")
      ->check(is_one_of({"table", "wide", "json", "ndjson"}, "a format"));
  app.add_option("--color", invocation.color, "auto (on a terminal, unless NO_COLOR is set), always or never")
      ->type_name("WHEN")
      ->check(is_one_of({"auto", "always", "never"}, "a choice of colour"));
  app.add_flag("--ascii", invocation.ascii, "Draw with ASCII characters alone");
  app.add_flag("--utc", invocation.utc, "Tables with times in UTC, not in the local zone (JSON is always in UTC)");
}

int run_main(int argc, char** argv) {
  CLI::App app{"A durable task queue on PostgreSQL.", "dogged"};
  Invocation invocation;
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(exit_codes);
  app.set_version_flag("--version", "dogged " DOGGED_VERSION);
  app.formatter(std::make_shared<HelpFormatter>(invocation.style().width));  // before the subcommands, which inherit it
  add_global_options(app, invocation);

  add_dev(app, invocation);
  add_migrate(app, invocation);
  add_enqueue(app, invocation);
  add_emit(app, invocation);
  CLI::App* tasks = app.add_subcommand("tasks", "Look at tasks, wait for them, and change them");
  tasks->require_subcommand(1);
  add_tasks_list(*tasks, invocation);
  add_tasks_show(*tasks, invocation);
  add_tasks_cancel(*tasks, invocation);
  add_tasks_retry(*tasks, invocation);
  add_tasks_reschedule(*tasks, invocation);
  add_tasks_move(*tasks, invocation);
  add_tasks_wait(*tasks, invocation);
  add_tasks_waiting(*tasks, invocation);
  add_tasks_watch(*tasks, invocation);
  add_attempts(app, invocation);
  add_dead(app, invocation);
  add_queues(app, invocation);
  add_schedules(app, invocation);
  add_workers(app, invocation);
  add_circuits(app, invocation);
  add_policy(app, invocation);
  add_doctor(app, invocation);
  add_maintain(app, invocation);
  add_stats(app, invocation);
  add_exporter(app, invocation);
  add_bench(app, invocation);
  add_help(app, invocation);
  add_completion(app, invocation);
  add_man_pages(app, invocation);
  let_nouns_list(app);

  if (argc > 1 && std::string_view{argv[1]} == completion_question) {
    std::cout << completions(app, invocation, {argv + 2, argv + argc});
    return 0;
  }
  try {
    std::vector<std::string> words = with_implied_list(app, {argv + 1, argv + argc});
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))
      return app.exit(error);  // --help, --version
    return report(app, error, {argv + 1, argv + argc});
  }
  try {
    const ExitCode code = invocation.run();
    std::cout.flush();
    if (!std::cout) throw Failure(ExitCode::not_done, "the output could not be written", "is the disk full?");
    return static_cast<int>(code);
  } catch (const std::exception& error) {
    return report(invocation, error);
  }
}

}  // namespace
}  // namespace dogged::cli

int main(int argc, char** argv) {
  using namespace dogged::cli;
  dogged::open_standard_descriptors(O_RDONLY);  // output that nobody gets is an error
  if (argc > 1 && std::string_view{argv[1]} == bench::worker_program)
    return bench::run_worker_program(argc - 1, argv + 1);
  return run_main(argc, argv);
}
