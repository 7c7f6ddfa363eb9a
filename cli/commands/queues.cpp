// `dogged queues`: lists queues with their tasks and settings; makes, pauses, resumes, changes, renames and deletes
// them.
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "cli/changes/audited_change.hpp"
#include "cli/commands/commands.hpp"
#include "cli/input/choices.hpp"
#include "cli/io/task_rows.hpp"
#include "cli/options/existing.hpp"
#include "cli/options/time_option.hpp"
#include "cli/render/json_object.hpp"
#include "cli/render/text.hpp"
#include "db/connection.hpp"
#include "sql/commands.hpp"
#include "text/counted.hpp"
#include "text/duration.hpp"
#include "text/number_text.hpp"

namespace dogged::cli {
namespace {

const std::vector<Column> queue_columns{{.title = "QUEUE", .least = 24, .cut = Cut::middle},
                                        {.title = "STATE"},
                                        {.title = "READY", .align = Align::right},
                                        {.title = "WAITING", .align = Align::right},
                                        {.title = "RUNNING", .align = Align::right},
                                        {.title = "MAX DEPTH", .align = Align::right, .rank = 1},
                                        {.title = "CONCURRENCY", .align = Align::right, .rank = 2},
                                        {.title = "RETRY BUDGET", .rank = 3},
                                        {.title = "KEPT", .rank = 4},
                                        {.title = "CREATED", .rank = 5}};

using Queue = sql::ListQueues::Row;

std::string number_or_nothing(std::optional<std::int64_t> number) { return number ? std::to_string(*number) : ""; }

/// `20%, or 10 a second`
std::string budget_text(const Queue& queue) {
  if (!queue.retry_budget) return "";
  return percentage_to_text(*queue.retry_budget) + ", or " + number_to_text(queue.min_retries_per_second) + " a second";
}

/// `done 30 d, failed 365 d`: the queue's own settings.
std::string kept_text(const Queue& queue) {
  const auto done = queue.keep_done_days;
  const auto failed = queue.keep_failed_days;
  const std::string done_text = done ? "done " + std::to_string(*done) + " d" : "";
  const std::string failed_text = failed ? "failed " + std::to_string(*failed) + " d" : "";
  return done_text + (done && failed ? ", " : "") + failed_text;
}

/// Empty if the queue is not paused.
std::string pause_text(const Queue& queue, Zone zone) {
  if (!queue.is_paused) return "";
  const auto until = time_from_microseconds(queue.paused_until_us);
  return until ? "paused until " + date_and_clock_text(*until, zone) : "paused";
}

std::string queue_json(const Queue& queue) {
  const auto if_paused = [&](std::optional<std::int64_t> time) {
    return queue.is_paused ? time_from_microseconds(time) : std::nullopt;
  };
  JsonObject json;
  json.add("name", queue.name)
      .add("ready", queue.ready)
      .add("waiting", queue.waiting)
      .add("running", queue.running)
      .add("is_paused", queue.is_paused)
      .add("paused_at", if_paused(queue.paused_at_us))
      .add("paused_until", if_paused(queue.paused_until_us))
      .add("max_depth", queue.max_depth)
      .add("concurrency", queue.concurrency)
      .add_json("retry_budget", queue.retry_budget ? number_to_text(*queue.retry_budget) : "null")
      .add_json("min_retries_per_second", number_to_text(queue.min_retries_per_second))
      .add("keep_done_days", queue.keep_done_days)
      .add("keep_failed_days", queue.keep_failed_days)
      .add("created_at", time_from_microseconds(queue.created_at_us));
  return json.text();
}

/// `paused until 14:00:00`, with its day in a wide table.
Cell pause_cell(const Queue& queue, Time now, Zone zone) {
  const std::string in_full = pause_text(queue, zone);
  const auto until = time_from_microseconds(queue.paused_until_us);
  if (in_full.empty() || !until) return {in_full, Color::yellow};
  const std::string end = short_time(*until, now, zone);
  return {"paused " + (end.starts_with("in ") ? "for " + end.substr(3) : "until " + end), Color::yellow, in_full};
}

Record queue_record(const Queue& queue, Time now, Zone zone) {
  return {{{queue.name},
           pause_cell(queue, now, zone),
           {std::to_string(queue.ready)},
           {std::to_string(queue.waiting)},
           {std::to_string(queue.running)},
           {number_or_nothing(queue.max_depth)},
           {number_or_nothing(queue.concurrency)},
           {budget_text(queue)},
           {kept_text(queue)},
           time_cell(time_from_microseconds(queue.created_at_us), now, zone)},
          queue_json(queue)};
}

Queue read(db::Connection& connection, const std::string& name) {
  return db::one(connection.run(sql::ListQueues{.name = name}));
}

ExitCode list_queues(const Invocation& invocation) {
  db::Connection connection = invocation.connect();
  std::vector<Record> records;
  const Time now = now_of(connection);
  for (const Queue& queue : connection.run(sql::ListQueues{.name = std::nullopt})) {
    records.push_back(queue_record(queue, now, invocation.style().zone));
  }
  invocation.print(queue_columns, records, "no queues");
  return ExitCode::ok;
}

ExitCode create(const Invocation& invocation, const std::string& name) {
  db::Connection connection = invocation.connect();
  connection.run(sql::CreateQueue{.name = name});
  invocation.print("queue " + name + " is there\n", JsonObject{}.add("name", name).text());
  return ExitCode::ok;
}

struct PauseArguments {
  std::string name, until, duration;
};

ExitCode pause(const Invocation& invocation, const PauseArguments& arguments) {
  sql::PauseQueue pausing{.name = arguments.name, .until_us = {}, .for_ms = {}};
  if (!arguments.until.empty()) {
    pausing.until_us = time_from_iso8601(arguments.until, invocation.style().zone).time_since_epoch().count();
  }
  if (!arguments.duration.empty()) pausing.for_ms = duration_from_text(arguments.duration).count();
  db::Connection connection = invocation.connect();
  require_existing(connection, Noun::queue, {arguments.name});
  const auto [changed] = db::one(run_audited(connection, pausing));
  const Queue queue = read(connection, arguments.name);
  invocation.print("queue " + arguments.name + " is " + pause_text(queue, invocation.style().zone) +
                       (changed ? "" : ", as it was before") + ": " + counted(queue.ready, "task") + " ready, " +
                       std::to_string(queue.running) + " running to the end\n",
                   queue_json(queue));
  return ExitCode::ok;
}

ExitCode resume(const Invocation& invocation, const std::string& name) {
  db::Connection connection = invocation.connect();
  require_existing(connection, Noun::queue, {name});
  const auto [changed] = db::one(run_audited(connection, sql::ResumeQueue{.name = name}));
  const Queue queue = read(connection, name);
  invocation.print(
      "queue " + name + (changed ? " goes on: " : " was not paused: ") + counted(queue.ready, "task") + " ready\n",
      queue_json(queue));
  return ExitCode::ok;
}

struct SetArguments {
  std::string name, concurrency, max_depth, retry_budget, min_retries, keep_done_days, keep_failed_days;
};

/// A number of any kind, or `none`; which numbers a setting takes is said by dogged.set_queue.
nlohmann::json setting_of(const std::string& option, const std::string& text) {
  if (text == "none") return nullptr;
  if (const auto number = number_from_text(text); number && std::isfinite(*number))
    return nlohmann::json::parse(number_to_text(*number));
  throw InvalidInput(option + " is " + in_quotes(text) + ", which is neither a number nor none",
                     "write a number, or none to take the setting back: dogged queues set --help");
}

nlohmann::json share_of(const std::string& text) {
  if (text.ends_with("%")) {
    if (const auto share = percentage_from_text(text)) return nlohmann::json::parse(number_to_text(*share));
    throw InvalidInput("--retry-budget is " + in_quotes(text) + ", which is no percentage; write 20%, 0.2 or none");
  }
  const nlohmann::json share = setting_of("--retry-budget", text);
  if (share.is_number() && share.get<double>() > 1) {
    throw InvalidInput("--retry-budget is " + in_quotes(text) + ", which is no share; it must be from 0.001 to 1",
                       share.get<double>() <= 100 ? "for " + text + " of 100 write --retry-budget " + text + "%"
                                                  : "write 20%, 0.2 or none");
  }
  return share;
}

nlohmann::json settings_of(const SetArguments& arguments) {
  nlohmann::json settings = nlohmann::json::object();
  if (!arguments.concurrency.empty()) settings["concurrency"] = setting_of("--concurrency", arguments.concurrency);
  if (!arguments.max_depth.empty()) settings["max_depth"] = setting_of("--max-depth", arguments.max_depth);
  if (!arguments.retry_budget.empty()) settings["retry_budget"] = share_of(arguments.retry_budget);
  if (!arguments.min_retries.empty()) {
    settings["min_retries_per_second"] = setting_of("--min-retries", arguments.min_retries);
  }
  if (!arguments.keep_done_days.empty()) {
    settings["keep_done_days"] = setting_of("--keep-done-days", arguments.keep_done_days);
  }
  if (!arguments.keep_failed_days.empty()) {
    settings["keep_failed_days"] = setting_of("--keep-failed-days", arguments.keep_failed_days);
  }
  if (!settings.empty()) return settings;
  throw Failure(
      ExitCode::wrong_input, "there is nothing to set for queue " + harmless(arguments.name, true),
      "give --concurrency, --max-depth, --retry-budget, --min-retries, --keep-done-days or --keep-failed-days: "
      "dogged queues set --help");
}

std::string settings_text(const Queue& queue) {
  const auto said = [](std::optional<std::int64_t> number, const std::string& unless_set) {
    return number ? std::to_string(*number) : unless_set;
  };
  const std::string budget = budget_text(queue);
  const std::string kept = kept_text(queue);
  return "concurrency " + said(queue.concurrency, "as each worker was started with") + "; max depth " +
         said(queue.max_depth, "none") + "; retry budget " + (budget.empty() ? "none" : budget) + "; kept " +
         (kept.empty() ? "as all" : kept);
}

ExitCode set(const Invocation& invocation, const SetArguments& arguments) {
  const nlohmann::json settings = settings_of(arguments);
  db::Connection connection = invocation.connect();
  require_existing(connection, Noun::queue, {arguments.name});
  const auto [changed] =
      db::one(run_audited(connection, sql::SetQueue{.name = arguments.name, .settings = settings.dump()}));
  const Queue queue = read(connection, arguments.name);
  invocation.print("queue " + arguments.name + (changed ? ": " : " was so before: ") + settings_text(queue) + "\n",
                   queue_json(queue));
  return ExitCode::ok;
}

ExitCode delete_queue(const Invocation& invocation, const std::string& name) {
  db::Connection connection = invocation.connect();
  require_existing(connection, Noun::queue, {name});
  run_audited(connection, sql::DeleteQueue{.name = name});
  invocation.print("queue " + name + " is deleted\n", JsonObject{}.add("name", name).text());
  return ExitCode::ok;
}

struct RenameArguments {
  std::string name, new_name;
};

ExitCode rename(const Invocation& invocation, const RenameArguments& arguments) {
  db::Connection connection = invocation.connect();
  require_existing(connection, Noun::queue, {arguments.name});
  const auto [moved] =
      db::one(run_audited(connection, sql::RenameQueue{.name = arguments.name, .new_name = arguments.new_name}));
  invocation.print(
      "queue " + arguments.name + " is now " + arguments.new_name + ", with " + counted(moved, "task") + "\n",
      JsonObject{}.add("name", arguments.new_name).add("moved", moved).text());
  return ExitCode::ok;
}

void add_name(CLI::App& command, std::string& name) {
  command.add_option("name", name, "As `dogged queues list` gives it")->type_name("NAME")->required();
}

/// Unlike a task's time, it may lie more than ten years ahead.
CLI::Validator is_end_of_pause() {
  return CLI::Validator{[](std::string& text) {
                          try {
                            static_cast<void>(time_from_iso8601(text, Zone::utc));
                            return std::string{};
                          } catch (const Error& error) {
                            return error.message();
                          }
                        },
                        ""};
}

void add_pause_and_resume(CLI::App& queues, Invocation& invocation) {
  const auto arguments = std::make_shared<PauseArguments>();
  CLI::App* pauses =
      add_command(queues, invocation, "pause",
                  "Have workers claim nothing from a queue; what runs goes on, and tasks can be enqueued",
                  "  dogged queues pause emails                                 until `dogged queues resume emails`\n"
                  "  dogged queues pause emails --for 10m\n"
                  "  dogged queues pause emails --until 2026-11-22T06:00:00Z     it goes on by itself then",
                  [&invocation, arguments] { return pause(invocation, *arguments); });
  add_name(*pauses, arguments->name);
  CLI::Option* until =
      pauses
          ->add_option("--until", arguments->until,
                       "When it goes on by itself: 2026-11-24, 2026-11-24T14:00 or 2026-11-24T14:00:00Z")
          ->type_name("TIME")
          ->check(is_end_of_pause());
  pauses->add_option("--for", arguments->duration, "After how long it goes on by itself: 30s, 10m, 1h30m")
      ->type_name("DURATION")
      ->check(is_duration())
      ->excludes(until);

  const auto name = std::make_shared<std::string>();
  add_name(*add_command(queues, invocation, "resume", "Have workers claim from a paused queue again",
                        "  dogged queues resume emails", [&invocation, name] { return resume(invocation, *name); }),
           *name);
}

void add_set(CLI::App& queues, Invocation& invocation) {
  const auto arguments = std::make_shared<SetArguments>();
  CLI::App* command = add_command(
      queues, invocation, "set", "Change what is set for a queue; workers follow it while they run",
      "  dogged queues set emails --concurrency 5          on each worker, whatever it was started with\n"
      "  dogged queues set emails --max-depth 100000       enqueue is refused beyond it\n"
      "  dogged queues set emails --retry-budget 20%       further retries wait; see docs/queues.md\n"
      "  dogged queues set payments --keep-done-days 30    longer than settings.keep_done_days has all kept\n"
      "  dogged queues set emails --max-depth none         takes a setting back",
      [&invocation, arguments] { return set(invocation, *arguments); });
  add_name(*command, arguments->name);
  const auto add = [&](const char* option, std::string& value, const char* what, const char* type) {
    command->add_option(option, value, what)->type_name(type)->check(is_not_empty());
  };
  add("--concurrency", arguments->concurrency, "How many of its tasks each worker runs at once, 1 to 1000, or none",
      "N");
  add("--max-depth", arguments->max_depth, "How many tasks it may hold that have not ended, or none", "N");
  add("--retry-budget", arguments->retry_budget,
      "The share of retries among what each worker begins of it within 10 s: 20% or 0.2, or none", "SHARE");
  add("--min-retries", arguments->min_retries,
      "So many retries a second each worker may begin in any case; 10 unless said", "N");
  add("--keep-done-days", arguments->keep_done_days,
      "For how many days its ended tasks are kept, with their attempts: settings.keep_done_days or more, or none", "N");
  add("--keep-failed-days", arguments->keep_failed_days,
      "The same for its dead letters: settings.keep_failed_days or more, or none", "N");
}

void add_delete_and_rename(CLI::App& queues, Invocation& invocation) {
  const auto name = std::make_shared<std::string>();
  add_name(*add_command(queues, invocation, "delete", "Delete a queue that is empty and that no worker serves",
                        "  dogged tasks move --queue mial --to mail && dogged queues delete mial",
                        [&invocation, name] { return delete_queue(invocation, *name); }),
           *name);
  const auto arguments = std::make_shared<RenameArguments>();
  CLI::App* renames = add_command(
      queues, invocation, "rename", "Give a queue another name, with its settings, its tasks and its dead letters",
      "  dogged queues rename mial mail\n"
      "\nNo worker may serve it, and no task of it run. Change the programs that say the old name first: a worker "
      "that\n"
      "declares it makes it again. A queue of more than 100,000 tasks is moved by `dogged tasks move`.",
      [&invocation, arguments] { return rename(invocation, *arguments); });
  add_name(*renames, arguments->name);
  renames->add_option("new_name", arguments->new_name, "1 to 128 of A-Z a-z 0-9 . _ : / -")
      ->type_name("NEW_NAME")
      ->required();
}

}  // namespace

void add_queues(CLI::App& app, Invocation& invocation) {
  CLI::App* queues = app.add_subcommand("queues", "Look at queues, create, pause and change them");
  queues->require_subcommand(1);
  add_command(*queues, invocation, "list",
              "List queues with the tasks that are ready, waiting for their time, or running, and what is set for them",
              "  dogged queues list", [&invocation] { return list_queues(invocation); });
  const auto name = std::make_shared<std::string>();
  add_command(*queues, invocation, "create", "Create a queue; harmless if it is there",
              "  dogged queues create webhooks     before a worker that serves it has ever started",
              [&invocation, name] { return create(invocation, *name); })
      ->add_option("name", *name, "1 to 128 of A-Z a-z 0-9 . _ : / -")
      ->type_name("NAME")
      ->required();
  add_pause_and_resume(*queues, invocation);
  add_set(*queues, invocation);
  add_delete_and_rename(*queues, invocation);
}

}  // namespace dogged::cli
