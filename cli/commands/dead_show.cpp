// `dogged dead show`: all that is known of a dead letter.
#include <algorithm>
#include <iostream>
#include <limits>
#include <memory>
#include <string_view>

#include "cli/commands/commands.hpp"
#include "cli/io/task_history.hpp"
#include "cli/io/task_rows.hpp"
#include "cli/options/task_ids.hpp"
#include "cli/render/story.hpp"
#include "cli/render/text.hpp"
#include "cli/render/timeline.hpp"
#include "db/connection.hpp"
#include "db/errors.hpp"
#include "sql/commands.hpp"
#include "sql/dead.hpp"

namespace dogged::cli {
namespace {

/// Of dogged.audit.
struct Change {
  Time at;
  std::string actor, application, action, details;
};

struct DeadTask {
  TaskHistory history;
  std::string pretty_args;
  std::optional<std::string> error_details, pretty_details;
  std::vector<Change> changes;
};

/// Nothing where there is no such dead letter.
std::optional<DeadTask> read(db::Connection& connection, std::int64_t id) {
  auto rows = connection.run(sql::ShowDead{.task_id = id});
  if (rows.empty()) return std::nullopt;
  sql::ShowDead::Row letter = db::one(std::move(rows));
  auto history = read_history(connection, id);
  if (!history || history->task.status != lifecycle::Status::failed) return std::nullopt;  // replayed at this moment
  DeadTask task;
  task.history = *std::move(history);
  task.history.task.args = std::move(letter.args);
  task.pretty_args = std::move(letter.pretty_args);
  task.error_details = std::move(letter.error_details);
  task.pretty_details = std::move(letter.pretty_details);
  try {
    for (auto& [actor, application, action, details, at_us] : connection.run(sql::TaskChanges{.task_id = id})) {
      task.changes.push_back({time_from_microseconds(at_us), std::move(actor), std::move(application),
                              std::move(action), std::move(details)});
    }
  } catch (const DatabaseError& error) {  // viewers have no right to read replaced args
    if (error.sqlstate() != db::insufficient_privilege) throw;
  }
  return task;
}

std::string to_json(const DeadTask& dead) {
  const TaskView& task = dead.history.task;
  std::vector<std::string> attempts;
  for (const AttemptView& attempt : dead.history.attempts) attempts.push_back(to_json(attempt));
  std::vector<std::string> changes;
  for (const Change& change : dead.changes) {
    changes.push_back(JsonObject{}
                          .add("at", change.at)
                          .add("actor", change.actor)
                          .add("application", change.application)
                          .add("action", change.action)
                          .add_json("details", change.details)
                          .text());
  }
  JsonObject json;
  json.add("id", task.id)
      .add("name", task.name)
      .add("queue", task.queue)
      .add("priority", task.priority)
      .add("error_code", task.error_code)
      .add("error_message", task.error_message)
      .add_json("error_details", dead.error_details.value_or("null"))
      .add("attempts", task.attempt)
      .add("retry_count", task.retry_count)
      .add("losses", task.losses)
      .add("enqueued_at", task.enqueued_at)
      .add("run_at", task.run_at)
      .add("failed_at", task.finished_at)
      .add_json("args", task.args)
      .add("trace_context", task.trace_context)
      .add_json("tags", json_strings(task.tags))
      .add("worker", task.worker)
      .add("failed_because", why_it_failed(dead.history))
      .add_json("history", json_array(attempts))
      .add_json("changes", json_array(changes));
  return json.text();
}

constexpr std::size_t as_long_as_it_is = std::numeric_limits<std::size_t>::max();

/// A text of several lines under its title, harmless for a terminal. Words go on in the next line; a document does not,
/// so that it can be copied.
void print_part(const Style& style, const std::string& title, std::string_view text,
                std::size_t width = as_long_as_it_is) {
  std::cout << "\n" << style.paint(Color::bold, title) << "\n";
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    for (const std::string& line : wrapped(harmless(text.substr(0, end), style.unicode), width, style.unicode)) {
      std::cout << "  " << line << "\n";
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// `width`: of lines of words.
void print_text(const DeadTask& dead, const Style& style, std::size_t width) {
  const TaskView& task = dead.history.task;
  std::cout << render_timeline(dead.history, style, TimelineParts::without_args_and_error);
  print_part(style, "args", dead.pretty_args);
  if (task.error_message) print_part(style, "message", *task.error_message, width - 2);
  if (dead.pretty_details) print_part(style, "details", *dead.pretty_details);
  std::string changes;
  for (const Change& change : dead.changes) {
    changes += date_and_clock_text(change.at, style.zone) + "  " + change.action + " by " + change.actor + "\n";
  }
  if (!changes.empty()) print_part(style, "changed by hand", changes);
  std::cout << "\nto run it again: dogged dead replay " << task.id << "\n";
}

ExitCode show(const Invocation& invocation, const std::vector<std::string>& words) {
  const TaskIds ids = task_ids_of(words, "dead show", "nothing was looked up");
  db::Connection connection = invocation.connect();
  std::vector<DeadTask> found;
  TaskIds missing;
  for (std::int64_t id : ids) {
    if (auto task = read(connection, id)) {
      found.push_back(*std::move(task));
    } else {
      missing.push_back(id);
    }
  }
  std::vector<Record> records;
  for (const DeadTask& task : found) {
    if (invocation.format != Format::table) {
      records.push_back({{}, to_json(task)});
    } else {
      if (&task != &found.front()) std::cout << "\n";
      print_text(task, invocation.style(), invocation.table_style().width);
    }
  }
  if (ids.size() != 1 && invocation.format != Format::table) invocation.print({}, records, "");
  if (ids.size() == 1 && !records.empty()) invocation.print("", records.front().json);
  if (missing.empty()) return ExitCode::ok;
  throw Failure(ExitCode::not_done, "not among the dead letters: " + listed(missing),
                "`dogged tasks show ID` tells how a task stands; `dogged dead list` shows the dead letters");
}

}  // namespace

void add_dead_show(CLI::App& dead, Invocation& invocation) {
  const auto words = std::make_shared<std::vector<std::string>>();
  add_command(dead, invocation, "show", "Show dead letters whole: timeline, args, message, details, earlier replays",
              "  dogged dead show 42\n  dogged dead show 42 -o json | jq .error_details\n"
              "  dogged dead list --error-code HTTP_503 -o ndjson | jq .id | dogged dead show -",
              [&invocation, words] { return show(invocation, *words); })
      ->add_option("id", *words, "Ids of dead letters; - reads them from stdin, one a line")
      ->type_name("ID")
      ->required()
      ->check(is_task_id_or_stdin());
}

}  // namespace dogged::cli
